"""Models and rows for the tests of source code: fitted models, graphs made by hand, random graphs.

The naive twin (tests/naive/portable.py) or the model itself says what the outputs are.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

import sumwise
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
    describe,
)
from sumwise.tree.tree import LeafModels, Tree
from tests.estimators.test_describing import list_rows, make_rows, make_table, make_target
from tests.naive.portable import predict_row

TINY = 5e-324
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, None, TINY, -TINY, 2.2e-308, 1e308, -1e308]


@dataclass
class Case:
    """A model, rows, and the outputs of these rows."""

    name: str
    model: PortableModel
    rows: list[list[Any]]
    outputs: np.ndarray
    is_exact: bool = True
    labels: list[Any] = field(default_factory=list)


# --- fitted models ---

CHOSEN = {"categorical_features": ["color", "shop"]}
NATIVE = {"categorical_encoding": "native", **CHOSEN}
BY_TARGET = {
    "categorical_encoding": sumwise.TargetStatistics(combinations=3, native_limit=0),
    **CHOSEN,
}
_BOOST, _CLASSIFY = sumwise.GradientBoostingRegressor, sumwise.GradientBoostingClassifier

FITTED = {
    "leafwise": (_BOOST(n_estimators=12, **NATIVE), 0),
    "depthwise": (_BOOST(n_estimators=6, growth="depth", **NATIVE), 0),
    "symmetric": (_BOOST(n_estimators=6, growth="symmetric", **CHOSEN), 0),
    "log": (_BOOST(n_estimators=6, loss="poisson", **CHOSEN), 0),
    "linear_leaves": (_BOOST(n_estimators=6, leaves=sumwise.LinearLeaves(), **NATIVE), 0),
    "logistic": (_CLASSIFY(n_estimators=6, **NATIVE), 2),
    "half_logistic": (_CLASSIFY(n_estimators=6, loss="exponential", **CHOSEN), 2),
    "softmax": (_CLASSIFY(n_estimators=4, **NATIVE), 3),
    "statistics": (_CLASSIFY(n_estimators=4, **BY_TARGET), 3),
    "forest2": (sumwise.RandomForestClassifier(n_estimators=9, random_state=0, **CHOSEN), 2),
    "forest3": (sumwise.RandomForestClassifier(n_estimators=6, random_state=0, **CHOSEN), 3),
    "extra_trees": (sumwise.ExtraTreesRegressor(n_estimators=6, random_state=0, **CHOSEN), 0),
    "tree": (sumwise.DecisionTreeClassifier(random_state=0, **CHOSEN), 3),
}


@cache
def fit_cases():
    """Fit models on a table with categories; their own predictions are the outputs."""
    table, rows = make_table(), make_rows()
    own = [_fit_case(name, *FITTED[name], table, rows) for name in FITTED]
    return (*own, *_fit_numeric())


def _fit_case(name, model, n_classes, table, rows):
    y = make_target(table, n_classes)
    y = y - y.min() if name == "log" else y
    model.fit(table, y)
    outputs = model.predict_proba(rows) if n_classes else model.predict(rows)
    labels = model.predict(rows).tolist() if n_classes else []
    portable = describe(model)
    return Case(name, portable, list_rows(rows), outputs.reshape(len(rows), -1), labels=labels)


def _fit_numeric():
    """Fit models on numbers: other links, several targets, the linear booster."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 3)).round(2)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X) @ [1.0, 2.0, -1.0] + rng.normal(size=150)
    two = np.column_stack([y, -y])
    models = {
        "log1p": (_BOOST(n_estimators=5, loss="squared_log_error"), y - y.min()),
        "sigmoid": (_BOOST(n_estimators=5, loss="cross_entropy"), (y > 0).astype(float)),
        "quantiles": (_BOOST(n_estimators=5, loss=sumwise.Quantile([0.1, 0.5, 0.9])), y),
        "targets": (_BOOST(n_estimators=5), two),
        "vector_leaves": (_BOOST(n_estimators=5, multi_strategy="multi_output_tree"), two),
        "linear": (_BOOST(n_estimators=20, booster="linear"), y),
    }
    cases = []
    for name, (model, target) in models.items():
        model.fit(X, target)
        rows = np.vstack([X[:25], [[math.inf, -math.inf, -0.0], [TINY, -TINY, math.nan]]])
        outputs = model.predict(rows).reshape(len(rows), -1)
        cases.append(Case(name, describe(model), rows.tolist(), outputs))
    return cases


# --- graphs made by hand ---

INPUTS = (
    Input("size"),
    Input("a b"),
    Input("color", CATEGORY, ("", "b'lue", "green", 'r\\e"d?', "zürich")),
    Input("shop", CATEGORY, (-3, 0, 7, 12)),
    Input("rate", CATEGORY, (0.25, 1.5)),
)


def make_columns(rng):
    """Return all inputs, a lookup of one category, and one of a combination with few keys."""
    keys = np.sort(rng.choice(30, size=11, replace=False)).astype(np.int64)
    return (
        *(Column((k,)) for k in range(len(INPUTS))),
        Column((2,), Lookup((6,), np.arange(6), rng.normal(size=6), 0.125)),
        Column((2, 3), Lookup((6, 5), keys, rng.normal(size=11), -0.5)),
        Column((2, 3), Lookup((6, 5), keys, rng.normal(size=11).round(1), 0.3)),
    )


def grow_tree(rng, n_splits, columns, inputs):
    """Return the arrays of a random tree: splits on random columns, at random thresholds."""
    feature, left, threshold, sets = [-1], [-1], [0.0], {}
    for _ in range(n_splits):
        node = int(rng.choice(np.flatnonzero(np.array(feature) < 0)))
        feature[node], left[node] = int(rng.integers(len(columns))), len(feature)
        own = columns[feature[node]]
        n_codes = len(inputs[own.inputs[0]].categories) if own.lookup is None else 0
        if n_codes and rng.random() < 0.8:
            sets[node] = np.flatnonzero(rng.random(n_codes) < 0.5).astype(np.int32)
        else:
            threshold[node] = float(rng.choice(THRESHOLDS))
        feature, left, threshold = feature + [-1] * 2, left + [-1] * 2, threshold + [0.0] * 2
    return feature, left, threshold, sets


THRESHOLDS = [-1.0, -0.5, 0.1, 0.3, 1 / 3, 2.5, 0.0, -0.0, TINY, 1e-300, math.inf, -math.inf]


def make_trees(
    rng,
    n_trees,
    n_columns=1,
    n_groups=1,
    divisor=1.0,
    with_models=False,
    columns=None,
    inputs=INPUTS,
):
    """Return a TreeSum of random trees."""
    columns = make_columns(rng) if columns is None else columns
    grown = [grow_tree(rng, int(rng.integers(0, 9)), columns, inputs) for _ in range(n_trees)]
    start = np.cumsum([0, *(len(tree[0]) for tree in grown)])
    feature = np.concatenate([tree[0] for tree in grown]).astype(np.int32)
    n_nodes = feature.size
    pairs = list(zip(grown, start[:-1].tolist(), strict=True))
    left = np.concatenate([np.where(np.array(t[1]) < 0, -1, np.array(t[1]) + b) for t, b in pairs])
    sets = {b + node: own for t, b in pairs for node, own in sorted(t[3].items())}
    trees = Tree(
        feature=feature,
        split_bin=np.zeros(n_nodes, dtype=np.uint8),
        missing_left=np.where(feature < 0, 0, rng.integers(0, 2, n_nodes)).astype(np.uint8),
        left=left.astype(np.int32),
        value=rng.normal(size=(n_nodes, n_columns)),
        gain=np.zeros(n_nodes),
        n_rows=np.ones(n_nodes, dtype=np.int64),
        weight=np.ones(n_nodes),
        threshold=np.concatenate([tree[2] for tree in grown]),
        set_node=np.array(list(sets), dtype=np.int32),
        set_size=np.array([s.size for s in sets.values()], dtype=np.int32),
        set_categories=np.concatenate([np.empty(0, dtype=np.int32), *sets.values()]),
        models=_make_models(rng, feature) if with_models else None,
    )
    base = rng.normal(size=n_columns * n_groups) if divisor == 1.0 else np.zeros(n_columns)
    return TreeSum(columns, trees, start, base, divisor)


def _make_models(rng, feature):
    """Return linear models of numbers for most leaves."""
    size = np.where(feature < 0, rng.integers(0, 3, feature.size), 0).astype(np.int32)
    has = size > 0
    low = np.where(has, rng.choice([-np.inf, -1.0], feature.size), 0.0)
    high = np.where(has, rng.choice([np.inf, 1.0], feature.size), 0.0)
    terms = np.concatenate([np.arange(n) for n in size]).astype(np.int32)
    constant = np.where(has, rng.normal(size=feature.size), 0.0)
    return LeafModels(size, constant, low, high, terms, rng.normal(size=terms.size))


def make_model(names, categories=(), classes=()):
    """Return a model of random trees; the first feature may be categorical."""
    inputs = [Input(name) for name in names]
    if categories:
        inputs[0] = Input(names[0], CATEGORY, tuple(categories))
    trees = make_trees(
        np.random.default_rng(0),
        3,
        n_columns=max(1, len(classes)),
        columns=tuple(Column((k,)) for k in range(len(names))),
        inputs=inputs,
    )
    labels = (np.array(classes),) if classes else ()
    return PortableModel("Trees", tuple(inputs), trees, labels)


def make_row(rng):
    """Return a row with special values, values at thresholds, unknown and missing categories."""

    def draw():
        kind = rng.integers(4)
        if kind == 0:
            return SPECIAL[rng.integers(len(SPECIAL))]
        at = float(rng.choice(THRESHOLDS))
        if kind == 1:
            return float(np.nextafter(at, rng.choice([-np.inf, np.inf])))
        return at if kind == 2 else float(rng.normal())

    unknown = ["no such color", 99, 0.3]
    categories = [
        None if rng.random() < 0.15 else own.categories[rng.integers(len(own.categories))]
        for own in INPUTS[2:]
    ]
    known = [u if rng.random() < 0.15 else c for u, c in zip(unknown, categories, strict=True)]
    return [draw(), draw(), *known]


def make_graphs(seed=0):
    """Return one model per kind of node, and random graphs of several kinds."""
    rng = np.random.default_rng(seed)
    trees = make_trees(rng, 11)
    classes = [np.array(["no", "yes", "it's"])]
    three = [make_trees(rng, 5, n_columns=3, divisor=5.0) for _ in range(3)]
    points = [np.sort(rng.normal(size=n)) for n in (1, 2, 5)]
    curve = Curve(three[0], tuple(points), tuple(np.sort(rng.random(p.size)) for p in points))
    direct = make_columns(rng)[:2] + make_columns(rng)[5:7]
    linear = Affine(
        (trees, three[1]),
        rng.normal(size=(2, 4)),
        rng.normal(size=2),
        direct,
        np.array([[0.5, 0.0, 1.0, -2.0], [0.0, 0.0, 0.25, 1.0]]),
    )
    return [
        ("sum", trees, []),
        ("groups", make_trees(rng, 12, n_groups=3), []),
        ("vectors", make_trees(rng, 6, n_columns=2, n_groups=2), []),
        ("mean", make_trees(rng, 9, divisor=9.0), []),
        ("models", make_trees(rng, 9, with_models=True), []),
        ("constant", make_trees(np.random.default_rng(5), 1, columns=(Column((0,)),)), []),
        ("median", Median(make_trees(rng, 21), rng.random(21).round(1)), []),
        ("one_median", Median(make_trees(rng, 1), np.ones(1)), []),
        ("vote", Vote((*three, three[0]), np.array([0.5, 1.0, 1.0, 0.25])), classes),
        ("share", Share(three[0]), classes),
        ("curve", curve, classes),
        ("affine", linear, []),
        ("stack", Link(Affine((Link(trees, "logistic"), curve), rng.normal(size=(3, 5)),
                              rng.normal(size=3)), "softmax"), classes),
        ("votes", Share(Vote((Share(three[1]), Link(three[2], "softmax")), rng.random(2))),
         [np.array([3, -1, 2**40])]),
        ("sorted", Link(three[0], "sorted"), []),
        ("two_targets", make_trees(rng, 4, n_columns=5, divisor=4.0),
         [np.array([False, True]), np.array([0.5, 1.5, 2.5])]),
        *((f"link_{name}", Link(make_trees(rng, 5, n_groups=2), name), [])
          for name in ("identity", "log", "log1p", "sigmoid")),
    ]  # fmt: skip


@cache
def make_graph_cases(n_rows=60, seed=0):
    """Evaluate the graphs by the naive twin."""
    rng = np.random.default_rng(seed + 1)
    cases = []
    for name, node, classes in make_graphs(seed):
        model = PortableModel("Graph", INPUTS, node, tuple(classes))
        rows = [make_row(rng) for _ in range(n_rows)]
        outputs = np.array([predict_row(model, row) for row in rows])
        cases.append(Case(name, model, rows, outputs, is_exact=name not in INEXACT))
    return tuple(cases)


# The twin's link functions are those of the C library.
INEXACT = {"stack", "votes", "link_log", "link_log1p", "link_sigmoid"}


def find_labels(case):
    """Return the label of each row and target by the outputs of the case."""
    first, found = 0, []
    for labels in case.model.classes:
        own = case.outputs[:, first : first + labels.size]
        found.append(labels[own.argmax(axis=1)].tolist())
        first += labels.size
    return [list(each) for each in zip(*found, strict=True)]


def make_case_of_numbers():
    """Return a case in which sets of categories split plain numbers."""
    trees = make_model(["id"], categories=["a", "b", "c"]).output
    model = PortableModel("Trees", (Input("id"),), trees)
    rows = [[value] for value in (0.0, 1.0, 2.0, 2.5, -0.5, -1.0, 3.0, 100.0, 1e300, None)]
    return Case("numbers", model, rows, np.array([predict_row(model, row) for row in rows]))


def make_chain_case(grows_left, n_splits=3000):
    """Return a case of one tree that is a chain of splits."""
    n_nodes = 2 * n_splits + 1
    feature, left = np.full(n_nodes, -1), np.full(n_nodes, -1)
    node = 0
    for k in range(n_splits):
        feature[node], left[node] = 0, 2 * k + 1
        node = 2 * k + (1 if grows_left else 2)
    steps = np.arange(n_nodes, dtype=np.float64)
    model = make_model(["x"])
    trees = replace(
        model.output.trees,
        feature=feature.astype(np.int32),
        left=left.astype(np.int32),
        missing_left=np.zeros(n_nodes, dtype=np.uint8),
        threshold=-steps if grows_left else steps,
        value=np.sqrt(steps)[:, np.newaxis],
        split_bin=np.zeros(n_nodes, dtype=np.uint8),
        **dict.fromkeys(("gain", "n_rows", "weight"), steps),
    )
    total = TreeSum(model.output.columns, trees, np.array([0, n_nodes]), np.zeros(1))
    model = PortableModel("Tree", model.inputs, total)
    rows = [[value] for value in (0.0, 10.0, -10.0, 2999.5, -2999.5, 1e9, -1e9, math.nan)]
    return Case("chain", model, rows, np.array([predict_row(model, row) for row in rows]))
