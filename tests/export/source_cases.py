"""Models, rows and their outputs for the tests of source code: Python, C, C++ and SQL.

The model itself or the naive twin (tests/naive/portable.py) says what the outputs are.
"""

import math
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

import sumwise
from sumwise.export.portable import CATEGORY, Input, PortableModel, TreeSum, describe
from tests.export import random_models
from tests.export.fitted_models import (
    FITTED,
    MIXED_ENSEMBLES,
    fit_ensemble,
    fit_model,
    predict_outputs,
)
from tests.export.random_models import GRAPHS, make_graph, make_rows, make_trees, predict_rows
from tests.tables import list_rows, make_new_rows

# Names and strings that must be changed or escaped in source code.
ODD_INPUTS = (
    Input("size"),
    Input("a b"),
    Input("color", CATEGORY, ("", "b'lue", "green", 'r\\e"d?', "zürich")),
    Input("shop", CATEGORY, (-3, 0, 7, 12)),
    Input("rate", CATEGORY, (0.25, 1.5)),
)


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
        return cls(name, model, rows, predict_rows(model, rows), is_exact)


def find_labels(case):
    """Return the labels of each row, one per target, by the outputs of the case."""
    found = random_models.find_labels(case.model, case.outputs)
    return [list(each) for each in zip(*(own.tolist() for own in found), strict=True)]


# --- fitted models ---

NUMERIC = "hard_votes", "average", "stack"
# Other models have the same parts.
SAME = {"dart", "forest_numbers", "tree_numbers", "ada_2", "weighted"}


@cache
def fit_cases():
    """Return cases of fitted models of all kinds."""
    own, members = [_fit_case(name) for name in FITTED if name not in SAME], []
    for name in sorted(set(MIXED_ENSEMBLES) - SAME):
        rows = list_rows(make_new_rows())
        members.append(Case.by_twin(name, describe(fit_model(name)), rows, is_exact=False))
    for name in NUMERIC:
        model = describe(fit_ensemble(name))
        rows = make_rows(model, 40, largest=100.0)
        members.append(Case.by_twin(f"numbers_{name}", model, rows, is_exact=False))
    return (*own, *members, *_fit_targets())


def _fit_case(name):
    model, rows = fit_model(name), make_new_rows()
    labels = model.predict(rows).tolist() if hasattr(model, "classes_") else []
    outputs = predict_outputs(model, rows)
    return Case(name, describe(model), list_rows(rows), outputs, labels=labels)


def _fit_targets():
    """Return cases of several targets and of the linear booster, on numbers."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 3)).round(2)
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X) @ [1.0, 2.0, -1.0] + rng.normal(size=150)
    two = np.column_stack([y, -y])
    models = {
        "targets": ({}, two),
        "vector_leaves": ({"multi_strategy": "multi_output_tree"}, two),
        "linear": ({"booster": "linear"}, y),
    }
    rows = np.vstack([X[:25], [[math.inf, -math.inf, -0.0], [5e-324, -5e-324, math.nan]]])
    for name, (options, target) in models.items():
        model = sumwise.GradientBoostingRegressor(n_estimators=5, **options).fit(X, target)
        outputs = model.predict(rows).reshape(len(rows), -1)
        yield Case(name, describe(model), rows.tolist(), outputs)


# --- graphs ---

# The twin's link functions are those of the C library.
INEXACT = {"stack", "votes", "log", "log1p", "sigmoid", "logistic", "half_logistic", "softmax"}
INEXACT |= {"line_logistic", "line_softmax", "one_vs_all"}
# Labels of all types.
CLASSES = {
    "votes": (np.array([3, -1, 2**40]),),
    "two_targets": (np.array([False, True]), np.array([0.5, 1.5, 2.5])),
}


@cache
def make_graph_cases(seed=0, n_rows=40):
    """Return a case for each graph, on odd inputs."""
    cases = []
    for name in [name for name in GRAPHS if name not in random_models.INPUTS]:
        model = make_graph(name, seed, ODD_INPUTS)
        model = replace(model, classes=CLASSES.get(name, model.classes))
        title, rows = f"graph_{name}_{seed}", make_rows(model, n_rows, seed)
        cases.append(Case.by_twin(title, model, rows, is_exact=name not in INEXACT))
    trees = split_codes(make_odd_trees(np.random.default_rng(seed), 9))
    model = PortableModel("Graph", ODD_INPUTS, trees)
    cases.append(Case.by_twin(f"graph_codes_{seed}", model, make_rows(model, n_rows)))
    return tuple(cases)


def make_odd_trees(rng, n_trees, **options):
    """Return random trees on odd inputs and on lookups."""
    more = random_models.make_lookups(rng, ODD_INPUTS)
    return make_trees(rng, ODD_INPUTS, n_trees, more=more, **options)


def split_codes(trees):
    """Return trees that split categories by thresholds of their codes, not by sets."""
    nodes = trees.trees
    threshold = nodes.threshold.copy()
    threshold[nodes.set_node] = 1.5
    nothing = np.empty(0, dtype=np.int32)
    sets = dict.fromkeys(("set_node", "set_size", "set_categories"), nothing)
    return replace(trees, trees=replace(nodes, threshold=threshold, **sets))


def make_model(names, categories=(), classes=()):
    """Return a model of random trees; the first feature may be categorical."""
    inputs = [Input(name) for name in names]
    if categories:
        inputs[0] = Input(names[0], CATEGORY, tuple(categories))
    n_outputs = max(1, len(classes))
    trees = make_trees(np.random.default_rng(1), inputs, 3, n_outputs, n_outputs)
    labels = (np.array(classes),) if classes else ()
    return PortableModel("Trees", tuple(inputs), trees, labels)


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
