"""Random models in plain terms, and rows that are hard for them, for tests of export formats."""

import math

import numpy as np

from sumwise.export.portable import (
    Column,
    Input,
    Link,
    Lookup,
    PortableModel,
    TreeSum,
)
from sumwise.tree import Tree
from sumwise.tree.tree import LeafModels

COLORS = ("black", "blue", "green", "red")
SHOPS = (3, 7, 12, 40, 41, 77)
# Numbers at which formats differ: zeros, denormals, the ends of the ranges of float32 and float64.
SPECIAL = [0.0, -0.0, 5e-324, -5e-324, 1e-45, 1e-35, -1e-35, 1e-36, 3.5e38, -3.5e38, 1e300, 1.0]


def make_inputs(n_numbers=3, with_categories=True):
    """Return inputs: numbers, then strings and integers as categories."""
    inputs = tuple(Input(f"x{k}") for k in range(n_numbers))
    if not with_categories:
        return inputs
    return (*inputs, Input("color", "category", COLORS), Input("shop", "category", SHOPS))


def make_columns(rng, inputs, with_lookups=False):
    """Return a column per input, and lookups of one and of two inputs."""
    columns = [Column((k,)) for k in range(len(inputs))]
    places = [k for k, known in enumerate(inputs) if known.kind == "category"]
    if with_lookups:
        for own in [(places[0],), tuple(places)]:
            bases = tuple(len(inputs[k].categories) + 1 for k in own)
            n_keys = math.prod(bases)
            keys = np.sort(rng.choice(n_keys, max(1, n_keys // 2), replace=False)).astype(np.int64)
            lookup = Lookup(bases, keys, rng.normal(size=keys.size).round(1), float(rng.normal()))
            columns.append(Column(own, lookup))
    return tuple(columns)


def make_trees(
    rng, inputs, n_trees=4, n_outputs=1, n_values=1, with_lookups=False, with_linear=False
):
    """Return a sum of random trees; ``n_values`` per leaf."""
    columns = make_columns(rng, inputs, with_lookups)
    kinds = [inputs[c.inputs[0]] if c.lookup is None else Input("") for c in columns]
    nodes = {name: [] for name in ("feature", "threshold", "missing_left", "left", "weight")}
    sets, start = {}, [0]
    for _ in range(n_trees):
        _grow(rng, kinds, nodes, sets, int(rng.integers(0, 5)))
        start.append(len(nodes["left"]))
    n_nodes = start[-1]
    order = sorted(sets)
    trees = Tree(
        feature=np.array(nodes["feature"], dtype=np.int32),
        split_bin=np.zeros(n_nodes, dtype=np.uint8),
        missing_left=np.array(nodes["missing_left"], dtype=np.uint8),
        left=np.array(nodes["left"], dtype=np.int32),
        value=rng.normal(size=(n_nodes, n_values)),
        gain=np.where(np.array(nodes["left"]) >= 0, rng.random(n_nodes), 0.0),
        n_rows=np.array(nodes["weight"], dtype=np.int64),
        weight=np.array(nodes["weight"], dtype=np.float64),
        threshold=np.array(nodes["threshold"], dtype=np.float64),
        set_node=np.array(order, dtype=np.int32),
        set_size=np.array([len(sets[k]) for k in order], dtype=np.int32),
        set_categories=np.array([c for k in order for c in sets[k]], dtype=np.int32),
        models=_make_models(rng, nodes, kinds) if with_linear else None,
    )
    return TreeSum(columns, trees, np.array(start, dtype=np.int64), rng.normal(size=n_outputs))


def _grow(rng, kinds, nodes, sets, depth):
    """Append a tree of some levels, level by level, so that children follow their parents."""
    first = len(nodes["left"])
    _append(nodes, 64)
    waiting = [(first, depth)]
    while waiting:
        node, levels = waiting.pop(0)
        if levels == 0 or (levels < depth and rng.random() < 0.25):
            continue
        column = int(rng.integers(len(kinds)))
        nodes["feature"][node] = column
        nodes["missing_left"][node] = int(rng.integers(2))
        if kinds[column].kind == "category":
            n_codes = len(kinds[column].categories)
            sets[node] = np.flatnonzero(rng.random(n_codes) < 0.5).tolist()
        else:
            nodes["threshold"][node] = _draw_threshold(rng)
        left = nodes["left"][node] = len(nodes["left"])
        share = int(rng.integers(1, max(2, nodes["weight"][node])))
        _append(nodes, share)
        _append(nodes, max(1, nodes["weight"][node] - share))
        waiting += [(left, levels - 1), (left + 1, levels - 1)]


def _append(nodes, weight):
    new = {"feature": -1, "threshold": 0.0, "missing_left": 0, "left": -1, "weight": weight}
    for name, value in new.items():
        nodes[name].append(value)


def _draw_threshold(rng):
    if rng.random() < 0.3:
        return float(rng.choice([*SPECIAL, np.inf, -np.inf]))
    return round(rng.normal(), int(rng.integers(1, 17)))


def _make_models(rng, nodes, kinds):
    """Return models of one or two numbers for some leaves."""
    numeric = [k for k, known in enumerate(kinds) if known.kind == "number"]
    is_leaf = np.array(nodes["left"]) < 0
    size = np.where(is_leaf, rng.integers(0, 3, is_leaf.size), 0).astype(np.int32)
    chosen = [np.sort(rng.choice(numeric, n, replace=False)) for n in size]
    has_model = size > 0
    low = np.where(has_model, np.where(rng.random(size.size) < 0.5, -np.inf, -0.5), 0.0)
    return LeafModels(
        size,
        np.where(has_model, rng.normal(size=size.size), 0.0),
        low,
        np.where(has_model, np.where(rng.random(size.size) < 0.5, np.inf, 0.5), 0.0),
        np.concatenate([*chosen, np.empty(0)]).astype(np.int32),
        rng.normal(size=int(size.sum())),
    )


def make_rows(rng, node, inputs, n_rows=60):
    """Return rows of Python values: boundaries, special numbers, unknown and missing categories."""
    numbers = [*SPECIAL, math.nan, math.inf, -math.inf]
    for threshold in node.trees.threshold.tolist():
        numbers += [
            threshold,
            float(np.nextafter(threshold, -np.inf)),
            float(np.nextafter(threshold, np.inf)),
        ]
    return [[_draw_value(rng, known, numbers) for known in inputs] for _ in range(n_rows)]


def _draw_value(rng, known, numbers):
    if known.kind != "category":
        return float(rng.choice(numbers)) if rng.random() < 0.7 else float(rng.normal())
    draw = rng.random()
    if draw < 0.15:
        return None
    if draw < 0.3:
        return "purple" if isinstance(known.categories[0], str) else 1000
    return known.categories[int(rng.integers(len(known.categories)))]


def make_model(rng, link="identity", **options):
    """Return a random model of trees with a link."""
    inputs = make_inputs(with_categories=options.pop("with_categories", True))
    trees = make_trees(rng, inputs, **options)
    output = trees if link == "identity" else Link(trees, link)
    is_class = link in ("logistic", "half_logistic", "softmax")
    classes = (np.arange(output.n_outputs),) if is_class else ()
    return PortableModel("RandomTrees", inputs, output, classes)


def encode_rows(model, rows, unknown=math.nan):
    """Return rows as other libraries take them: codes of categories, one for unknown ones."""
    return np.array(
        [
            [_encode(known, x, unknown) for known, x in zip(model.inputs, row, strict=True)]
            for row in rows
        ]
    )


def _encode(known, value, unknown):
    if known.kind != "category":
        return value
    if value is None:
        return math.nan
    return known.categories.index(value) if value in known.categories else unknown
