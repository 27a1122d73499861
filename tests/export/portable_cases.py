"""Models and rows for the tests of source code: fitted models, graphs made by hand, random trees.

The naive twin (tests/naive/portable.py) or the model itself says what the outputs are.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge

import sumwise
from sumwise.export.portable import (
    CATEGORY,
    Affine,
    Column,
    Curve,
    Input,
    Link,
    Median,
    PortableModel,
    Share,
    TreeSum,
    Vote,
    describe,
)
from tests.estimators.describing.test_models import list_rows, make_rows, make_table, make_target
from tests.export import random_models
from tests.naive.portable import predict_row

TINY = 5e-324


@dataclass
class Case:
    """A model, rows, and the outputs of these rows.

    ``is_exact`` is False where the outputs were computed with other functions than ours.
    """

    name: str
    model: PortableModel
    rows: list[list[Any]]
    outputs: np.ndarray
    is_exact: bool = True
    labels: list[Any] = field(default_factory=list)

    @classmethod
    def by_twin(cls, name, model, rows, is_exact=True):
        outputs = np.array([predict_row(model, row) for row in rows])
        return cls(name, model, rows, outputs, is_exact)


def find_labels(case):
    """Return the labels of each row, one per target, by the outputs of the case."""
    first, found = 0, []
    for labels in case.model.classes:
        own = case.outputs[:, first : first + labels.size]
        found.append(labels[own.argmax(axis=1)].tolist())
        first += labels.size
    return [list(each) for each in zip(*found, strict=True)]


# --- fitted models ---

CHOSEN = {"categorical_features": ["color", "shop"]}
NATIVE = {"categorical_encoding": "native", **CHOSEN}
BY_TARGET = {
    "categorical_encoding": sumwise.TargetStatistics(combinations=3, native_limit=0),
    **CHOSEN,
}
FOREST = {"n_estimators": 9, "random_state": 0, **CHOSEN}
_REGRESSOR, _CLASSIFIER = sumwise.GradientBoostingRegressor, sumwise.GradientBoostingClassifier

FITTED = {
    "leafwise": (_REGRESSOR(n_estimators=12, **NATIVE), 0),
    "depthwise": (_REGRESSOR(n_estimators=6, growth="depth", **NATIVE), 0),
    "symmetric": (_REGRESSOR(n_estimators=6, growth="symmetric", **CHOSEN), 0),
    "log": (_REGRESSOR(n_estimators=6, loss="poisson", **CHOSEN), 0),
    "linear_leaves": (_REGRESSOR(n_estimators=6, leaves=sumwise.LinearLeaves(), **NATIVE), 0),
    "logistic": (_CLASSIFIER(n_estimators=6, **NATIVE), 2),
    "half_logistic": (_CLASSIFIER(n_estimators=6, loss="exponential", **CHOSEN), 2),
    "softmax": (_CLASSIFIER(n_estimators=4, **NATIVE), 3),
    "statistics": (_CLASSIFIER(n_estimators=12, **BY_TARGET), 3),
    "forest2": (sumwise.RandomForestClassifier(**FOREST), 2),
    "forest3": (sumwise.RandomForestClassifier(**FOREST), 3),
    "extra_trees": (sumwise.ExtraTreesRegressor(**FOREST), 0),
    "tree": (sumwise.DecisionTreeClassifier(random_state=0, **CHOSEN), 3),
}


@cache
def fit_cases():
    """Fit models of all kinds."""
    table, rows = make_table(), make_rows()
    own = [_fit_case(name, *FITTED[name], table, rows) for name in FITTED]
    return (*own, *_fit_numeric(), *_fit_ensembles(table, rows))


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
    vectors = {"multi_strategy": "multi_output_tree"}
    models = {
        "log1p": (_REGRESSOR(n_estimators=5, loss="squared_log_error"), y - y.min()),
        "sigmoid": (_REGRESSOR(n_estimators=5, loss="cross_entropy"), (y > 0).astype(float)),
        "quantiles": (_REGRESSOR(n_estimators=5, loss=sumwise.Quantile([0.1, 0.5, 0.9])), y),
        "targets": (_REGRESSOR(n_estimators=5), two),
        "vector_leaves": (_REGRESSOR(n_estimators=5, **vectors), two),
        "linear": (_REGRESSOR(n_estimators=20, booster="linear"), y),
    }
    rows = np.vstack([X[:25], [[math.inf, -math.inf, -0.0], [TINY, -TINY, math.nan]]])
    cases = []
    for name, (model, target) in models.items():
        outputs = model.fit(X, target).predict(rows).reshape(len(rows), -1)
        cases.append(Case(name, describe(model), rows.tolist(), outputs))
    return cases


def _fit_ensembles(table, rows):
    """Fit ensembles of members; the twin computes their outputs."""
    few = {"n_estimators": 3, "random_state": 0}
    members = [
        ("boosting", _CLASSIFIER(n_estimators=3, **NATIVE)),
        ("tree", sumwise.DecisionTreeClassifier(max_depth=3, random_state=0, **CHOSEN)),
    ]
    numbers = table[["a", "b"]].fillna(0.5).replace(math.inf, 3.0)
    lines = [("tree", sumwise.DecisionTreeClassifier(max_depth=3)), ("line", LogisticRegression())]
    trees = [("tree", sumwise.DecisionTreeRegressor(max_depth=3)), ("line", Ridge())]
    models = {
        "adaboost": (sumwise.AdaBoostClassifier(n_estimators=5), table, 3),
        "adaboost_regressor": (sumwise.AdaBoostRegressor(**few), table, 0),
        "bagging": (sumwise.BaggingClassifier(votes="hard", **few), table, 3),
        "voting": (sumwise.VotingClassifier(members, votes="soft"), table, 3),
        "stacking": (sumwise.StackingClassifier(lines, LogisticRegression(), cv=2), numbers, 3),
        "averaging": (sumwise.AveragingRegressor(trees), numbers, 0),
        "isotonic": (_CLASSIFIER(calibrate="isotonic", **few, **NATIVE), table, 3),
        "platt": (sumwise.RandomForestClassifier(calibrate="logistic", **few, **CHOSEN), table, 2),
        "one_class": (_CLASSIFIER(n_estimators=2), table, 1),
    }
    cases = []
    for name, (model, X, n_classes) in models.items():
        portable = describe(model.fit(X, make_target(table, n_classes)))
        own = list_rows(rows[list(X.columns)])
        cases.append(Case.by_twin(name, portable, own, is_exact=False))
    return cases


# --- graphs made by hand ---

INPUTS = (
    Input("size"),
    Input("a b"),
    Input("color", CATEGORY, ("", "b'lue", "green", 'r\\e"d?', "zürich")),
    Input("shop", CATEGORY, (-3, 0, 7, 12)),
    Input("rate", CATEGORY, (0.25, 1.5)),
)


def make_trees(rng, n_trees, n_columns=1, n_groups=1, divisor=1.0, inputs=INPUTS, **options):
    """Return random trees; ``n_columns`` values per leaf, for ``n_groups`` groups of outputs."""
    n_outputs = n_columns * n_groups
    lookups = inputs is INPUTS
    trees = random_models.make_trees(
        rng, inputs, n_trees, n_outputs, n_columns, with_lookups=lookups, **options
    )
    base = trees.base_score if divisor == 1.0 else np.zeros(n_outputs)
    return replace(trees, base_score=base, divisor=divisor)


def make_model(names, categories=(), classes=()):
    """Return a model of random trees; the first feature may be categorical."""
    inputs = [Input(name) for name in names]
    if categories:
        inputs[0] = Input(names[0], CATEGORY, tuple(categories))
    rng = np.random.default_rng(1)
    trees = make_trees(rng, 3, n_columns=max(1, len(classes)), inputs=inputs)
    labels = (np.array(classes),) if classes else ()
    return PortableModel("Trees", tuple(inputs), trees, labels)


def split_codes(trees):
    """Return trees that split categories by thresholds of their codes, not by sets."""
    nodes = trees.trees
    threshold = nodes.threshold.copy()
    threshold[nodes.set_node] = 1.5
    nothing = np.empty(0, dtype=np.int32)
    sets = dict.fromkeys(("set_node", "set_size", "set_categories"), nothing)
    return replace(trees, trees=replace(nodes, threshold=threshold, **sets))


def make_line(rng, n_outputs, n_terms=2):
    """Return linear functions of the numbers; infinite numbers may make them NaN."""
    columns = tuple(Column((k % 2,)) for k in range(n_terms))
    slopes = rng.normal(size=(n_outputs, n_terms))
    return Affine((), np.zeros((n_outputs, 0)), rng.normal(size=n_outputs), columns, slopes)


def make_graphs(seed):
    """Return one graph per kind of node, and some of several kinds."""
    rng = np.random.default_rng(seed)
    trees, linear = make_trees(rng, 11), make_trees(rng, 9, with_linear=True)
    three = [make_trees(rng, 5, n_columns=3, divisor=5.0) for _ in range(3)]
    points = [np.sort(rng.normal(size=n)) for n in (1, 2, 5)]
    curve = Curve(three[0], tuple(points), tuple(np.sort(rng.random(p.size)) for p in points))
    slopes = rng.normal(size=(2, len(trees.columns)))
    slopes[0, 1] = slopes[:, 3] = 0.0
    affine = Affine(
        (trees, three[1]), rng.normal(size=(2, 4)), rng.normal(size=2), trees.columns, slopes
    )
    both = Affine((Link(trees, "logistic"), curve), rng.normal(size=(3, 5)), rng.normal(size=3))
    shares = Vote((Share(three[1]), Link(three[2], "softmax")), rng.random(2))
    words, numbers = [np.array(["no", "yes", "it's"])], [np.array([3, -1, 2**40])]
    return {
        "sum": (trees, []),
        "groups": (make_trees(rng, 12, n_groups=3), []),
        "vectors": (make_trees(rng, 6, n_columns=2, n_groups=2), []),
        "mean": (make_trees(rng, 9, divisor=9.0), []),
        "models": (linear, []),
        "codes": (split_codes(make_trees(rng, 9)), []),
        "median": (Median(make_trees(rng, 21), rng.random(21).round(1)), []),
        "equal_median": (Median(make_trees(rng, 6), np.full(6, 0.1)), []),
        "one_median": (Median(make_trees(rng, 1), np.ones(1)), []),
        "vote": (Vote((*three, three[0]), np.array([0.5, 1.0, 1.0, 0.25])), words),
        "share": (Share(three[0]), words),
        "curve": (curve, words),
        "affine": (affine, []),
        "sorted": (Link(three[0], "sorted"), []),
        "two_targets": (
            make_trees(rng, 4, n_columns=5, divisor=4.0),
            [np.array([False, True]), np.array([0.5, 1.5, 2.5])],
        ),
        "linear_logistic": (Link(make_line(rng, 1), "logistic"), [np.array(["no", "yes"])]),
        "linear_softmax": (Link(make_line(rng, 3), "softmax"), words),
        "stack": (Link(both, "softmax"), words),
        "votes": (Share(shares), numbers),
        **{
            f"link_{name}": (Link(make_trees(rng, 5, n_groups=2), name), [])
            for name in ("identity", "log", "log1p", "sigmoid")
        },
    }


# The twin's link functions are those of the C library.
INEXACT = {"stack", "votes", "link_log", "link_log1p", "link_sigmoid"}
INEXACT |= {"linear_logistic", "linear_softmax"}


@cache
def make_graph_cases(n_rows=60, seed=0):
    """Evaluate the graphs by the naive twin."""
    rng = np.random.default_rng(seed)
    at = make_trees(rng, 40)
    cases = []
    for name, (node, classes) in make_graphs(seed).items():
        own = node if isinstance(node, TreeSum) else getattr(node, "of", at)
        rows = random_models.make_rows(rng, own if isinstance(own, TreeSum) else at, INPUTS, n_rows)
        model = PortableModel("Graph", INPUTS, node, tuple(classes))
        title = f"{name}_{seed}" if seed else name
        cases.append(Case.by_twin(title, model, rows, is_exact=name not in INEXACT))
    return tuple(cases)


def make_case_of_numbers():
    """Return a case in which sets of categories split plain numbers."""
    trees = make_model(["id"], categories=["a", "b", "c"]).output
    model = PortableModel("Trees", (Input("id"),), trees)
    assert trees.trees.set_node.size > 0
    rows = [[value] for value in (0.0, 1.0, 2.0, 2.5, -0.5, -1.0, 3.0, 100.0, 1e300, None)]
    return Case.by_twin("numbers", model, rows)


def make_chain_case(grows_left, n_splits=1200):
    """Return a case of one tree that is a chain of splits."""
    n_nodes = 2 * n_splits + 1
    feature, left = np.full(n_nodes, -1, dtype=np.int32), np.full(n_nodes, -1, dtype=np.int32)
    node = 0
    for k in range(n_splits):
        feature[node], left[node] = 0, 2 * k + 1
        node = 2 * k + (1 if grows_left else 2)
    steps, none = np.arange(n_nodes, dtype=np.float64), np.zeros(n_nodes, dtype=np.uint8)
    model = make_model(["x"])
    trees = replace(
        model.output.trees,
        feature=feature,
        left=left,
        missing_left=none,
        split_bin=none,
        threshold=-steps if grows_left else steps,
        value=np.sqrt(steps)[:, np.newaxis],
        **dict.fromkeys(("gain", "n_rows", "weight"), steps),
    )
    total = TreeSum(model.output.columns, trees, np.array([0, n_nodes]), np.zeros(1))
    rows = [[value] for value in (0.0, 10.0, -10.0, 1199.5, -1199.5, 1e9, -1e9, math.nan)]
    return Case.by_twin(f"chain{n_splits}", PortableModel("Tree", model.inputs, total), rows)
