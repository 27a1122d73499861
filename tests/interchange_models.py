"""Models and rows for the tests of interchange formats: fitted ones, and random graphs of nodes.

A row is a list of Python values, one per input, as tests/naive/portable.py reads it.
"""

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
from sklearn.linear_model import LinearRegression, LogisticRegression

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
    list_nodes,
)
from sumwise.tree import LeafModels, Tree
from tests.naive.portable import predict_row

UNKNOWN_TEXT, UNKNOWN_NUMBER = "purple", 777
SPECIAL = [math.nan, math.inf, -math.inf, 0.0, -0.0, 5e-324, -5e-324, 1e-310, 1e300, -1e300, 1e-40]
THRESHOLDS = [*SPECIAL[1:], 0.1, 0.5, 1.0, 1e-45, 16777217.0]

NUMBERS = (Input("x0"), Input("x1"), Input("x2"))
SHOPS = Input("shop", CATEGORY, (-3, 0, 4, 5, 70, 71, 1000))
SIZES = Input("size", CATEGORY, (-0.5, 0.25, 2.5))
COLORS = Input("color", CATEGORY, ('a <b> & "c"', "black", "blue", "red"))


# --- random trees ---


def make_tree_sum(
    rng, inputs, n_trees=4, n_outputs=1, n_columns=1, lookups=(), depth=3, divisor=1.0, linear=False
):
    """Return random trees on the inputs themselves and on lookups."""
    columns = (*(Column((k,)) for k in range(len(inputs))), *lookups)
    parts, start = [], [0]
    for _ in range(n_trees):
        nodes = []
        _grow(rng, nodes, inputs, columns, rng.integers(0, depth + 1))
        parts += [(own, start[-1]) for own in nodes]
        start.append(len(parts))
    n_nodes = len(parts)
    sets = [(k, own["set"]) for k, (own, _) in enumerate(parts) if own["set"] is not None]
    tree = Tree(
        feature=np.array([own["feature"] for own, _ in parts], dtype=np.int32),
        split_bin=np.zeros(n_nodes, dtype=np.uint8),
        missing_left=np.array([own["missing_left"] for own, _ in parts], dtype=np.uint8),
        left=np.array(
            [own["left"] + (first if own["left"] >= 0 else 0) for own, first in parts],
            dtype=np.int32,
        ),
        value=rng.normal(size=(n_nodes, n_columns)),
        gain=np.zeros(n_nodes),
        n_rows=np.ones(n_nodes, dtype=np.int64),
        weight=np.ones(n_nodes),
        threshold=np.array([own["threshold"] for own, _ in parts]),
        set_node=np.array([k for k, _ in sets], dtype=np.int32),
        set_size=np.array([len(own) for _, own in sets], dtype=np.int32),
        set_categories=np.array([c for _, own in sets for c in own], dtype=np.int32),
        models=_make_leaf_models(rng, n_nodes, columns, inputs) if linear else None,
    )
    return TreeSum(columns, tree, np.array(start), rng.normal(size=n_outputs), divisor)


def _grow(rng, nodes, inputs, columns, depth):
    """Append a node, then its descendants; siblings lie side by side."""
    waiting = [(0, depth)]
    nodes.append(_make_leaf())
    while waiting:
        place, left_depth = waiting.pop(0)
        if left_depth == 0:
            continue
        feature = int(rng.integers(len(columns)))
        column = columns[feature]
        nodes[place] |= {"feature": feature, "left": len(nodes), "missing_left": rng.integers(2)}
        if column.node is not None:
            nodes[place]["threshold"] = float(rng.choice([-0.5, 0.2, 0.4, 0.6, np.inf]))
        elif column.lookup is not None:
            nodes[place]["threshold"] = float(rng.choice([*column.lookup.values, 0.3]))
        elif inputs[column.inputs[0]].kind == CATEGORY:
            n_codes = len(inputs[column.inputs[0]].categories)
            nodes[place]["set"] = np.flatnonzero(rng.random(n_codes) < 0.5)
        else:
            nodes[place]["threshold"] = float(rng.choice(THRESHOLDS))
        for _ in range(2):
            waiting.append((len(nodes), left_depth - 1 if rng.random() < 0.8 else 0))
            nodes.append(_make_leaf())


def _make_leaf():
    return {"feature": -1, "left": -1, "missing_left": 0, "threshold": 0.0, "set": None}


def _make_leaf_models(rng, n_nodes, columns, inputs):
    numbers = [k for k, column in enumerate(columns) if inputs[column.inputs[0]].kind != CATEGORY]
    size = rng.integers(0, 3, n_nodes).astype(np.int32)
    feature = np.concatenate([rng.choice(numbers, own, replace=False) for own in size])
    low = np.where(rng.random(n_nodes) < 0.5, -1.0, -np.inf)
    high = np.where(rng.random(n_nodes) < 0.5, 1.0, np.inf)
    constant, slope = rng.normal(size=n_nodes), rng.normal(size=feature.size)
    return LeafModels(size, constant, low, high, feature.astype(np.int32), slope)


def make_lookup(rng, inputs, places):
    """Return a column of random numbers by category, some keys being unknown."""
    bases = tuple(len(inputs[k].categories) + 1 for k in places)
    keys = np.flatnonzero(rng.random(math.prod(bases)) < 0.7)
    return Column(tuple(places), Lookup(bases, keys, rng.normal(size=keys.size), 0.25))


def make_stump(threshold):
    """Return a tree with the values 1, to the left, and 2."""
    tree = Tree(
        feature=np.array([0, -1, -1]),
        split_bin=np.zeros(3, dtype=np.uint8),
        missing_left=np.zeros(3, dtype=np.uint8),
        left=np.array([1, -1, -1]),
        value=np.array([[0.0], [1.0], [2.0]]),
        gain=np.zeros(3),
        n_rows=np.ones(3, dtype=np.int64),
        weight=np.ones(3),
        threshold=np.array([threshold, 0.0, 0.0]),
    )
    return TreeSum((Column((0,)),), tree, np.array([0, 3]), np.zeros(1))


# --- graphs: one for each kind of node and input ---


def _classify(rng, node, labels=("no", "yes", "maybe")):
    classes = np.array(labels[: node.n_outputs])
    return PortableModel("Graph", NUMBERS, node, (classes,))


def _regress(node, inputs=NUMBERS):
    return PortableModel("Graph", inputs, node)


def _make_stack(rng):
    first = Link(make_tree_sum(rng, NUMBERS), "logistic")
    second = make_tree_sum(rng, NUMBERS, n_outputs=3, n_columns=3, divisor=4.0)
    columns = tuple(Column((k,)) for k in range(3))
    top = Affine(
        (first, second),
        rng.normal(size=(3, 5)),
        rng.normal(size=3),
        columns[:2],
        np.array([[0.5, 1.0], [2.0, 0.25], [1.0, 1.0]]),
    )
    return _classify(rng, Link(top, "softmax"))


def _make_nested(rng):
    """Return trees that split on a feature, on a sum of trees, and on probabilities."""
    first = make_tree_sum(rng, NUMBERS, n_outputs=2, n_columns=2)
    second = Link(make_tree_sum(rng, NUMBERS), "logistic")
    columns = [Column((), None, first, 1), Column((), None, second, 0), Column((), None, second, 1)]
    return _regress(make_tree_sum(rng, NUMBERS[:1], 6, lookups=columns, depth=4), NUMBERS)


def _make_votes(rng):
    members = tuple(
        make_tree_sum(rng, NUMBERS, n_outputs=3, n_columns=3, divisor=4.0) for _ in range(4)
    )
    votes = Vote(members, np.array([1.0, 2.0, 1.0, 0.5]))
    return _classify(rng, Share(votes))


def _make_curves(rng):
    x, y = np.array([-1.0, -0.2, 0.1, 2.0]), np.array([0.0, 0.1, 0.6, 1.0])
    curve = Curve(make_tree_sum(rng, NUMBERS, n_outputs=2), (x, x[1:2]), (y, y[1:2]))
    return _classify(rng, Share(curve))


def _make_encoded(rng):
    inputs = (*NUMBERS[:1], COLORS, SHOPS)
    lookups = [make_lookup(rng, inputs, places) for places in ([1], [2], [1, 2])]
    return _regress(make_tree_sum(rng, inputs, 8, lookups=lookups), inputs)


def _make_shares(rng, sizes):
    """Return a forest whose leaves have shares of the classes of some targets."""
    n = sum(sizes)
    node = make_tree_sum(rng, NUMBERS, n_outputs=n, n_columns=n, divisor=4.0)
    value = np.exp(node.trees.value) * (rng.random(node.trees.value.shape) < 0.8) + 1e-300
    for last, size in zip(np.cumsum(sizes), sizes, strict=True):
        value[:, last - size : last] /= value[:, last - size : last].sum(axis=1, keepdims=True)
    return replace(node, trees=replace(node.trees, value=value), base_score=np.zeros(n))


def _make_two_targets(rng):
    classes = np.array(["a", "b"]), np.array([10, 20, 30])
    return PortableModel("Graph", NUMBERS, _make_shares(rng, [2, 3]), classes)


GRAPHS = {
    "numbers": lambda rng: _regress(make_tree_sum(rng, NUMBERS, 6, depth=5)),
    "no_trees": lambda rng: _regress(make_tree_sum(rng, NUMBERS, 0)),
    "one_leaf": lambda rng: _regress(make_tree_sum(rng, NUMBERS, 1, depth=0)),
    "constant": lambda rng: _regress(Affine((), np.zeros((2, 0)), rng.normal(size=2))),
    "colors": lambda rng: _regress(make_tree_sum(rng, (*NUMBERS, COLORS), 6), (*NUMBERS, COLORS)),
    "shops": lambda rng: _regress(
        make_tree_sum(rng, (SHOPS, NUMBERS[0], SIZES), 6), (SHOPS, NUMBERS[0], SIZES)
    ),
    "three_kinds": lambda rng: _regress(
        make_tree_sum(rng, (COLORS, SHOPS, SIZES), 6), (COLORS, SHOPS, SIZES)
    ),
    "lookups": _make_encoded,
    "targets": lambda rng: _regress(make_tree_sum(rng, NUMBERS, 6, n_outputs=3)),
    "vectors": lambda rng: _regress(make_tree_sum(rng, NUMBERS, 4, n_outputs=2, n_columns=2)),
    "groups": lambda rng: _regress(make_tree_sum(rng, NUMBERS, 6, n_outputs=4, n_columns=2)),
    "linear": lambda rng: _regress(make_tree_sum(rng, NUMBERS, 5, linear=True)),
    "forest": lambda rng: _classify(rng, _make_shares(rng, [3])),
    "two_targets": _make_two_targets,
    "median": lambda rng: _regress(
        Median(make_tree_sum(rng, NUMBERS, 7), rng.integers(1, 4, 7) / 4)
    ),
    "log": lambda rng: _regress(Link(make_tree_sum(rng, NUMBERS, n_outputs=2), "log")),
    "log1p": lambda rng: _regress(Link(make_tree_sum(rng, NUMBERS), "log1p")),
    "sigmoid": lambda rng: _regress(Link(make_tree_sum(rng, NUMBERS), "sigmoid")),
    "sorted": lambda rng: _regress(Link(make_tree_sum(rng, NUMBERS, n_outputs=4), "sorted")),
    "logistic": lambda rng: _classify(rng, Link(make_tree_sum(rng, NUMBERS), "logistic")),
    "half_logistic": lambda rng: _classify(rng, Link(make_tree_sum(rng, NUMBERS), "half_logistic")),
    "softmax": lambda rng: _classify(rng, Link(make_tree_sum(rng, NUMBERS, 6, 3), "softmax")),
    "stack": _make_stack,
    "votes": _make_votes,
    "nested": _make_nested,
    "curves": _make_curves,
}


@cache
def make_graph(name, seed=0):
    """Return a random model of a kind; the base score of some would hide the trees."""
    return GRAPHS[name](np.random.default_rng([len(name), seed]))


# --- rows ---


def make_rows(model, n_rows=60, seed=0, dtype=np.float64, largest=math.inf):
    """Return rows of values at and beside thresholds, special values and all kinds of categories.

    Numbers above the largest one are left out.
    """
    rng = np.random.default_rng(seed)
    numbers = find_numbers(model, dtype)
    numbers = numbers[~(np.abs(numbers) > largest)]
    return [[_draw(rng, known, numbers) for known in model.inputs] for _ in range(n_rows)]


def find_numbers(model, dtype=np.float64):
    """Return thresholds, their neighbors, and special values, as numbers of a type."""
    sums = [node for node in list_nodes(model.output) if isinstance(node, TreeSum)]
    cuts = np.concatenate([[1.0], *(node.trees.threshold for node in sums)])
    with np.errstate(over="ignore", under="ignore"):
        near = np.unique(cuts).astype(dtype)
        special = np.array(SPECIAL, dtype=dtype)
        sides = [np.nextafter(near, dtype(side)) for side in (-np.inf, np.inf)]
    return np.concatenate([near, *sides, special]).astype(np.float64)


def _draw(rng, known, numbers):
    if known.kind != CATEGORY:
        return float(rng.choice(numbers))
    is_text = isinstance(known.categories[0], str)
    odd = [UNKNOWN_TEXT, None] if is_text else [UNKNOWN_NUMBER, math.nan]
    return [*odd, *known.categories][rng.integers(len(known.categories) + 2)]


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


# --- fitted models ---


def make_table(n_rows=150, seed=0):
    """Return numbers with missing values, infinities and ties, and categories of two kinds."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=n_rows).round(1), rng.normal(size=n_rows)
    a[rng.random(n_rows) < 0.1] = np.nan
    b[rng.random(n_rows) < 0.05] = np.inf
    color = pd.Series(rng.choice(["red", "green", "blue", "black"], n_rows), dtype=object)
    color[rng.random(n_rows) < 0.1] = None
    return pd.DataFrame({"a": a, "b": b, "color": color, "shop": rng.integers(0, 30, n_rows)})


def make_target(table, n_classes):
    score = table["a"].fillna(1.0) + (table["color"] == "red") + 0.1 * (table["shop"] % 5)
    if n_classes == 0:
        return score.to_numpy() - score.min()
    return np.array(["x", "y", "z"])[pd.qcut(score, n_classes, labels=False)]


CHOSEN = {"categorical_features": ["color", "shop"]}
NATIVE = {"categorical_encoding": "native", **CHOSEN}
ENCODED = {"categorical_encoding": sumwise.TargetStatistics(combinations=2), **CHOSEN}
_Boosting, _Classifier = sumwise.GradientBoostingRegressor, sumwise.GradientBoostingClassifier
FITTED = {
    "leaf_wise": (_Boosting(n_estimators=8, **NATIVE), 0),
    "level_wise": (_Boosting(n_estimators=8, growth="depth", **NATIVE), 0),
    "symmetric": (_Boosting(n_estimators=8, growth="symmetric", **CHOSEN), 0),
    "poisson": (_Boosting(n_estimators=8, loss="poisson", **NATIVE), 0),
    "encoded": (_Boosting(n_estimators=8, **ENCODED), 0),
    "binary": (_Classifier(n_estimators=8, **NATIVE), 2),
    "exponential": (_Classifier(n_estimators=8, loss="exponential", **CHOSEN), 2),
    "multiclass": (_Classifier(n_estimators=5, **NATIVE), 3),
    "forest_2": (sumwise.RandomForestClassifier(n_estimators=6, random_state=0, **CHOSEN), 2),
    "forest_3": (sumwise.RandomForestClassifier(n_estimators=6, random_state=0, **CHOSEN), 3),
    "extra_trees": (sumwise.ExtraTreesRegressor(n_estimators=6, random_state=0, **CHOSEN), 0),
    "tree_classes": (sumwise.DecisionTreeClassifier(random_state=0, **CHOSEN), 3),
    "tree_numbers": (sumwise.DecisionTreeRegressor(random_state=0, **CHOSEN), 0),
}


_TREE = {"random_state": 0, "max_depth": 3}
_FEW = {"n_estimators": 3, "random_state": 0}
_CLASSIFIERS = [
    ("boosting", _Classifier(n_estimators=3)),
    ("tree", sumwise.DecisionTreeClassifier(**_TREE)),
    ("line", LogisticRegression()),
]
_REGRESSORS = [
    ("boosting", _Boosting(n_estimators=3)),
    ("tree", sumwise.DecisionTreeRegressor(**_TREE)),
    ("line", LinearRegression()),
]
# Ensembles of members and calibrated models, on numbers alone.
ENSEMBLES = {
    "ada_stumps": (sumwise.AdaBoostClassifier(n_estimators=5), 3),
    "ada_trees": (
        sumwise.AdaBoostClassifier(sumwise.DecisionTreeClassifier(**_TREE), n_estimators=4),
        2,
    ),
    "ada_numbers": (sumwise.AdaBoostRegressor(n_estimators=5, random_state=0), 0),
    "bagging": (sumwise.BaggingClassifier(**_FEW), 3),
    "bagging_votes": (sumwise.BaggingClassifier(votes="hard", max_features=2, **_FEW), 3),
    "bagging_numbers": (sumwise.BaggingRegressor(**_FEW), 0),
    "votes": (sumwise.VotingClassifier(_CLASSIFIERS, votes="soft"), 3),
    "hard_votes": (sumwise.VotingClassifier(_CLASSIFIERS, rule="weighted", weights=[3, 1, 2]), 3),
    "average": (sumwise.AveragingRegressor(_REGRESSORS), 0),
    "isotonic": (_Classifier(n_estimators=3, calibrate="isotonic", random_state=0), 3),
    "logistic": (sumwise.RandomForestClassifier(calibrate="logistic", **_FEW), 3),
    "stack": (sumwise.StackingClassifier(_CLASSIFIERS, LogisticRegression(), cv=2), 3),
    "stack_2": (
        sumwise.StackingClassifier(_CLASSIFIERS, LogisticRegression(), cv=2, passthrough=True),
        2,
    ),
    "stack_trees": (
        sumwise.StackingClassifier(_CLASSIFIERS, sumwise.DecisionTreeClassifier(**_TREE), cv=2),
        3,
    ),
    "stack_numbers": (sumwise.StackingRegressor(_REGRESSORS, cv=2), 0),
}


@cache
def fit_ensemble(name):
    """Return a fitted ensemble, by its name in ENSEMBLES."""
    model, n_classes = ENSEMBLES[name]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4)).round(1)
    score = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.2 * rng.normal(size=90)
    if n_classes == 0:
        return model.fit(X, score)
    return model.fit(X, np.array(["x", "y", "z"])[pd.qcut(score, n_classes, labels=False)])


def predict_ensemble(model, X):
    """Return probabilities, shares of votes, or numbers, with one column per output."""
    if not hasattr(model, "classes_"):
        return model.predict(X).reshape(len(X), -1)
    if getattr(model, "votes_", None) == "hard" and hasattr(model, "predict_shares"):
        return model.predict_shares(X)
    return model.predict_proba(X)


@cache
def fit_model(name):
    """Return a fitted model, by its name in FITTED."""
    model, n_classes = FITTED[name]
    table = make_table()
    return model.fit(table, make_target(table, n_classes))


def make_frame(rows, model):
    """Return rows as a frame, as the model was trained on."""
    names = [known.name for known in describe(model).inputs]
    frame = pd.DataFrame(rows, columns=names).astype({"a": float, "b": float, "shop": float})
    return frame.astype({"color": object})
