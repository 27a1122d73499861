"""Random models in plain terms, one per kind of node, and rows that are hard for them.

A row is a list of Python values, one per input, as tests/naive/portable.py reads it.
"""

import math
from dataclasses import replace
from functools import cache, partial

import numpy as np

from sumwise.export.portable import (
    CATEGORY,
    Affine,
    Column,
    Curve,
    Input,
    Link,
    Lookup,
    Median,
    PortableModel,
    Share,
    TreeSum,
    Vote,
    list_nodes,
)
from sumwise.tree import LeafModels, Tree
from tests.naive.portable import predict_row
from tests.tables import UNKNOWN_COLOR, UNKNOWN_SHOP

NUMBERS = (Input("x0"), Input("x1"), Input("x2"))
COLORS = Input("color", CATEGORY, ('a <b> & "c"', "black", "blue", "red"))
SHOPS = Input("shop", CATEGORY, (-3, 0, 4, 5, 70, 71, 1000))
SIZES = Input("size", CATEGORY, (-0.5, 0.25, 2.5))
MIXED = (*NUMBERS, COLORS, SHOPS)

# Numbers at which formats differ: zeros, denormals, the ends of the ranges of float32 and float64.
SMALL = [0.0, -0.0, 5e-324, -5e-324, 1e-310, 1e-45, 1e-40, 1e-36, 1e-35, -1e-35]
LARGE = [16777217.0, 3.5e38, -3.5e38, 1e300, -1e300, math.inf, -math.inf]


# --- trees ---


def make_lookup(rng, inputs, places):
    """Return a column of random numbers by category, some keys being unknown."""
    bases = tuple(len(inputs[k].categories) + 1 for k in places)
    keys = np.flatnonzero(rng.random(math.prod(bases)) < 0.6)
    values = rng.normal(size=keys.size).round(1)
    return Column(tuple(places), Lookup(bases, keys, values, float(rng.normal())))


def make_lookups(rng, inputs):
    """Return a lookup of the first category, and one of all categories in combination."""
    places = [k for k, known in enumerate(inputs) if known.kind == CATEGORY]
    return tuple(make_lookup(rng, inputs, own) for own in (places[:1], places))


def make_trees(
    rng,
    inputs,
    n_trees=4,
    n_outputs=1,
    n_values=1,
    more=(),
    depth=4,
    divisor=1.0,
    with_linear=False,
):
    """Return random trees on the inputs and on ``more`` columns, with ``n_values`` per leaf."""
    columns = (*(Column((k,)) for k in range(len(inputs))), *more)
    nodes = {name: [] for name in ("feature", "threshold", "missing_left", "left", "weight")}
    sets, start = {}, [0]
    for _ in range(n_trees):
        _grow(rng, inputs, columns, nodes, sets, int(rng.integers(0, depth + 1)))
        start.append(len(nodes["left"]))
    n_nodes, left = start[-1], np.array(nodes["left"], dtype=np.int32)
    order = sorted(sets)
    tree = Tree(
        feature=np.array(nodes["feature"], dtype=np.int32),
        split_bin=np.zeros(n_nodes, dtype=np.uint8),
        missing_left=np.array(nodes["missing_left"], dtype=np.uint8),
        left=left,
        value=rng.normal(size=(n_nodes, n_values)),
        gain=np.where(left >= 0, rng.random(n_nodes), 0.0),
        n_rows=np.array(nodes["weight"], dtype=np.int64),
        weight=np.array(nodes["weight"], dtype=np.float64),
        threshold=np.array(nodes["threshold"], dtype=np.float64),
        set_node=np.array(order, dtype=np.int32),
        set_size=np.array([len(sets[k]) for k in order], dtype=np.int32),
        set_categories=np.array([c for k in order for c in sets[k]], dtype=np.int32),
        models=_make_leaf_models(rng, left < 0, inputs, columns) if with_linear else None,
    )
    start = np.array(start, dtype=np.int64)
    return TreeSum(columns, tree, start, rng.normal(size=n_outputs), divisor)


def _grow(rng, inputs, columns, nodes, sets, depth):
    """Append a tree of some levels, level by level, so that children follow their parents."""
    first = len(nodes["left"])
    _append(nodes, 64)
    waiting = [(first, depth)]
    while waiting:
        node, levels = waiting.pop(0)
        if levels == 0 or (levels < depth and rng.random() < 0.25):
            continue
        place = int(rng.integers(len(columns)))
        nodes["feature"][node] = place
        nodes["missing_left"][node] = int(rng.integers(2))
        if _is_category(inputs, columns[place]):
            n_codes = len(inputs[columns[place].inputs[0]].categories)
            sets[node] = np.flatnonzero(rng.random(n_codes) < 0.5).tolist()
        else:
            nodes["threshold"][node] = _draw_threshold(rng, columns[place])
        left = nodes["left"][node] = len(nodes["left"])
        share = int(rng.integers(1, max(2, nodes["weight"][node])))
        _append(nodes, share)
        _append(nodes, max(1, nodes["weight"][node] - share))
        waiting += [(left, levels - 1), (left + 1, levels - 1)]


def _append(nodes, weight):
    new = {"feature": -1, "threshold": 0.0, "missing_left": 0, "left": -1, "weight": weight}
    for name, value in new.items():
        nodes[name].append(value)


def _is_category(inputs, column):
    """Whether a column holds codes, which sets split."""
    is_plain = column.lookup is None and column.node is None
    return is_plain and inputs[column.inputs[0]].kind == CATEGORY


def _draw_threshold(rng, column):
    if column.node is not None:
        return float(rng.choice([-0.5, 0.2, 0.4, 0.6, math.inf]))
    if column.lookup is not None:
        return float(rng.choice([*column.lookup.values, column.lookup.default, 0.3]))
    if rng.random() < 0.5:
        return float(rng.choice([*SMALL, *LARGE]))
    return round(rng.normal(), int(rng.integers(1, 17)))


def _make_leaf_models(rng, is_leaf, inputs, columns):
    """Return models of one or two numbers for some leaves."""
    numeric = [k for k, column in enumerate(columns) if not _is_category(inputs, column)]
    size = np.where(is_leaf, rng.integers(0, 3, is_leaf.size), 0).astype(np.int32)
    chosen = [np.sort(rng.choice(numeric, n, replace=False)) for n in size]
    constant = rng.normal(size=size.size)
    low = np.where(rng.random(size.size) < 0.5, -math.inf, -0.5)
    high = np.where(rng.random(size.size) < 0.5, math.inf, 0.5)
    constant, low, high = (np.where(size > 0, own, 0.0) for own in (constant, low, high))
    feature = np.concatenate([*chosen, np.empty(0)]).astype(np.int32)
    return LeafModels(size, constant, low, high, feature, rng.normal(size=feature.size))


def make_stump(column, threshold=0.5):
    """Return one tree that splits a column once, with the values 1, to the left, and 2."""
    tree = Tree(
        feature=np.array([0, -1, -1], dtype=np.int32),
        split_bin=np.zeros(3, dtype=np.uint8),
        missing_left=np.zeros(3, dtype=np.uint8),
        left=np.array([1, -1, -1], dtype=np.int32),
        value=np.array([[0.0], [1.0], [2.0]]),
        gain=np.zeros(3),
        n_rows=np.zeros(3, dtype=np.int64),
        weight=np.zeros(3),
        threshold=np.array([threshold, 0.0, 0.0]),
    )
    return TreeSum((column,), tree, np.array([0, 3]), np.zeros(1))


def make_model(rng, link="identity", inputs=MIXED, with_lookups=False, **options):
    """Return a random model of trees with a link; the options are those of ``make_trees``."""
    more = make_lookups(rng, inputs) if with_lookups else ()
    trees = make_trees(rng, inputs, more=more, **options)
    output = trees if link == "identity" else Link(trees, link)
    is_class = link in ("logistic", "half_logistic", "softmax")
    classes = (np.arange(output.n_outputs),) if is_class else ()
    return PortableModel("RandomTrees", inputs, output, classes)


# --- graphs: one for each kind of node ---


def make_line(rng, n_outputs, n_terms=2):
    """Return linear functions of two numbers; infinite numbers may make them NaN."""
    columns = tuple(Column((k % 2,)) for k in range(n_terms))
    slopes = rng.normal(size=(n_outputs, n_terms))
    return Affine((), np.zeros((n_outputs, 0)), rng.normal(size=n_outputs), columns, slopes)


def _make_shares(rng, draw, sizes):
    """Return a forest whose leaves have shares of the classes of some targets."""
    n = sum(sizes)
    node = draw(4, n, n, divisor=4.0)
    value = np.exp(node.trees.value) * (rng.random(node.trees.value.shape) < 0.8) + 1e-300
    for last, size in zip(np.cumsum(sizes), sizes, strict=True):
        value[:, last - size : last] /= value[:, last - size : last].sum(axis=1, keepdims=True)
    return replace(node, trees=replace(node.trees, value=value), base_score=np.zeros(n))


def _make_affine(rng, draw):
    """Return linear functions of two sums of trees and of all columns, some without a slope."""
    one, three = draw(6), draw(5, 3, 3, divisor=5.0)
    slopes = rng.normal(size=(2, len(one.columns)))
    slopes[0, 1] = slopes[:, 2] = 0.0
    weights = rng.normal(size=(2, 4))
    return Affine((one, three), weights, rng.normal(size=2), one.columns, slopes)


def _make_curve(rng, draw):
    """Return curves of one, two and several points."""
    points = [np.sort(rng.normal(size=n)) for n in (1, 2, 5)]
    return Curve(draw(3, 3), tuple(points), tuple(np.sort(rng.random(p.size)) for p in points))


def _make_stack(rng, draw):
    """Return the softmax of a linear function of other outputs and of two numbers."""
    members = Link(draw(), "logistic"), draw(4, 3, 3, divisor=4.0), _make_curve(rng, draw)
    slopes = np.array([[0.5, 1.0], [2.0, 0.25], [1.0, 1.0]])
    columns = Column((0,)), Column((1,))
    line = Affine(members, rng.normal(size=(3, 8)), rng.normal(size=3), columns, slopes)
    return Link(line, "softmax")


def _make_votes(rng, draw):
    """Return shares of votes by classifiers of several kinds; one of them votes twice."""
    members = [draw(4, 3, 3, divisor=4.0) for _ in range(3)]
    members += [members[0], Share(members[1]), Link(members[2], "softmax")]
    return Share(Vote(tuple(members), np.array([1.0, 2.0, 1.0, 0.5, 0.25, 0.75])))


def _make_nested(rng, draw):
    """Return trees that split on a feature, on a sum of trees, and on probabilities."""
    first, second = draw(4, 2, 2), Link(draw(), "logistic")
    columns = [Column((), None, first, 1), Column((), None, second, 0), Column((), None, second, 1)]
    return make_trees(rng, NUMBERS[:1], 6, more=columns)


def _make_meta(rng, draw):
    """Return trees that split on other outputs, and the median of trees that split on these."""
    nested = _make_nested(rng, draw)
    above = make_trees(rng, NUMBERS[:1], 5, more=[Column((), None, nested, 0)])
    return Affine((Median(above, np.ones(5)), nested), np.eye(2), np.zeros(2))


# What a name in GRAPHS stands for, given a function that draws trees.
GRAPHS = {
    "numbers": lambda rng, draw: draw(6, depth=5),
    "colors": lambda rng, draw: draw(6),
    "shops": lambda rng, draw: draw(6),
    "three_kinds": lambda rng, draw: draw(6),
    "lookups": lambda rng, draw: draw(8),
    "no_trees": lambda rng, draw: draw(0),
    "one_leaf": lambda rng, draw: draw(1, depth=0),
    "constant": lambda rng, draw: Affine((), np.zeros((2, 0)), rng.normal(size=2)),
    "targets": lambda rng, draw: draw(6, 3),
    "vectors": lambda rng, draw: draw(4, 2, 2),
    "groups": lambda rng, draw: draw(6, 4, 2),
    "mean": lambda rng, draw: draw(9, divisor=9.0),
    "linear": lambda rng, draw: draw(5, with_linear=True),
    "forest": lambda rng, draw: _make_shares(rng, draw, [3]),
    "two_targets": lambda rng, draw: _make_shares(rng, draw, [2, 3]),
    "median": lambda rng, draw: Median(draw(7), rng.integers(1, 4, 7) / 4),
    "equal_median": lambda rng, draw: Median(draw(6), np.full(6, 0.1)),
    "one_median": lambda rng, draw: Median(draw(1), np.ones(1)),
    "log": lambda rng, draw: Link(draw(4, 2), "log"),
    "log1p": lambda rng, draw: Link(draw(), "log1p"),
    "sigmoid": lambda rng, draw: Link(draw(), "sigmoid"),
    "sorted": lambda rng, draw: Link(draw(4, 4), "sorted"),
    "logistic": lambda rng, draw: Link(draw(), "logistic"),
    "half_logistic": lambda rng, draw: Link(draw(), "half_logistic"),
    "identity": lambda rng, draw: Link(draw(6, 3), "identity"),
    "softmax": lambda rng, draw: Link(draw(6, 3), "softmax"),
    "one_vs_all": lambda rng, draw: Link(draw(6, 3), "sigmoid"),
    "line_logistic": lambda rng, draw: Link(make_line(rng, 1), "logistic"),
    "line_softmax": lambda rng, draw: Link(make_line(rng, 3), "softmax"),
    "affine": _make_affine,
    "vote": lambda rng, draw: Vote((draw(4, 3), draw(3, 3)), np.array([0.25, 0.75])),
    "votes": _make_votes,
    "share": lambda rng, draw: Share(draw(6, 3)),
    "curves": lambda rng, draw: Share(_make_curve(rng, draw)),
    "stack": _make_stack,
    "nested": _make_nested,
    "meta": _make_meta,
}
# Inputs other than numbers.
INPUTS = {
    "colors": (*NUMBERS, COLORS),
    "shops": (SHOPS, NUMBERS[0], SIZES),
    "three_kinds": (COLORS, SHOPS, SIZES),
    "lookups": (NUMBERS[0], COLORS, SHOPS),
}
_TWO, _THREE = (np.array(["no", "yes"]),), (np.array(["no", "yes", "it's"]),)
CLASSES = {
    **dict.fromkeys(("logistic", "half_logistic", "line_logistic"), _TWO),
    **dict.fromkeys(("forest", "softmax", "line_softmax", "vote", "share"), _THREE),
    **dict.fromkeys(("curves", "stack", "one_vs_all"), _THREE),
    "votes": (np.array([3, -1, 20]),),
    "two_targets": (np.array(["a", "b"]), np.array([10, 20, 30])),
}
# These multiply inputs, so that rounding grows with them.
MULTIPLY = ("linear", "line_logistic", "line_softmax", "affine", "stack")


@cache
def make_graph(name, seed=0, inputs=None):
    """Return a random model, by its name in GRAPHS; given inputs are used with lookups."""
    rng = np.random.default_rng([*name.encode(), seed])
    known = INPUTS.get(name, NUMBERS) if inputs is None else inputs
    more = make_lookups(rng, known) if name == "lookups" or inputs is not None else ()
    draw = partial(make_trees, rng, known, more=more)
    return PortableModel("Graph", known, GRAPHS[name](rng, draw), CLASSES.get(name, ()))


# --- rows ---


def make_rows(model, n_rows=60, seed=0, dtype=np.float64, largest=math.inf):
    """Return rows of values at and beside thresholds, special numbers and all kinds of categories.

    Numbers above the largest one are left out.
    """
    rng = np.random.default_rng(seed)
    numbers = _list_numbers(rng, model, dtype)
    numbers = numbers[~(np.abs(numbers) > largest)]
    return [[_draw_value(rng, known, numbers) for known in model.inputs] for _ in range(n_rows)]


def _list_numbers(rng, model, dtype):
    """Return thresholds, their neighbors, and special numbers, as numbers of a type."""
    sums = [node for node in list_nodes(model.output) if isinstance(node, TreeSum)]
    cuts = np.concatenate([[1.0], *(node.trees.threshold for node in sums)])
    with np.errstate(over="ignore", under="ignore"):
        near = np.unique(cuts).astype(dtype)
        others = np.array([math.nan, *SMALL, *LARGE, *rng.normal(size=10)], dtype=dtype)
        sides = [np.nextafter(near, dtype(side)) for side in (-np.inf, np.inf)]
    return np.concatenate([near, *sides, others]).astype(np.float64)


def _draw_value(rng, known, numbers):
    if known.kind != CATEGORY:
        return float(rng.choice(numbers))
    is_text, draw = isinstance(known.categories[0], str), rng.random()
    if draw < 0.15:
        return None if is_text or rng.random() < 0.5 else math.nan
    if draw < 0.3:
        return UNKNOWN_COLOR if is_text else UNKNOWN_SHOP
    return known.categories[int(rng.integers(len(known.categories)))]


def predict_rows(model, rows):
    """Return the outputs of rows, by the naive twin."""
    with np.errstate(all="ignore"):
        return np.array([predict_row(model, row) for row in rows])


def find_labels(model, outputs):
    """Return the labels of each target."""
    labels, first = [], 0
    for classes in model.classes:
        own = outputs[:, first : first + classes.size]
        labels.append(classes[own.argmax(axis=1)])
        first += classes.size
    return labels
