"""Programs compute what PortableModel describes, node by node; the naive twin is the judge."""

import numpy as np
import pytest

from sumwise.estimators.serving.program import compile_labels, compile_outputs
from sumwise.estimators.serving.row_predictor import RowPredictor
from sumwise.estimators.serving.row_reading import RowReader
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
)
from sumwise.tree import Tree
from tests.naive.portable import predict_label, predict_row

INPUTS = (
    Input("a"),
    Input("b"),
    Input("c", CATEGORY, tuple("pqrst")),
    Input("d", CATEGORY, (1, 2, 7)),
)
# Two statistics of a category, and one of two categories in combination.
LOOKUPS = (
    Column((2,), Lookup((6,), np.arange(6), np.linspace(-1, 1, 6), 0.1)),
    Column((2,), Lookup((6,), np.arange(6), np.linspace(2, -2, 6), 0.2)),
    Column((2, 3), Lookup((6, 4), np.arange(0, 24, 2), np.linspace(-1, 1, 12), 0.3)),
)


def make_trees(rng, n_trees, n_columns=1, n_outputs=1, columns=None, divisor=1.0):
    """Random trees with sets of categories, and missing values in both directions."""
    columns = columns or tuple(Column((k,)) for k in range(4))
    feature, left, threshold, sets, start = [], [], [], {}, [0]
    for _ in range(n_trees):
        leaves = [len(feature)]
        feature.append(-1), left.append(-1), threshold.append(0.0)
        for _ in range(rng.integers(0, 12)):
            node = leaves.pop(rng.integers(len(leaves)))
            feature[node], left[node] = int(rng.integers(len(columns))), len(feature)
            column = columns[feature[node]]
            if column.lookup is None and INPUTS[column.inputs[0]].kind == CATEGORY:
                n_codes = len(INPUTS[column.inputs[0]].categories)
                sets[node] = np.flatnonzero(rng.random(n_codes) < 0.5)
            else:
                threshold[node] = rng.choice([np.inf, *rng.normal(size=4).round(1)])
            leaves += [len(feature), len(feature) + 1]
            feature += [-1, -1]
            left += [-1, -1]
            threshold += [0.0, 0.0]
        start.append(len(feature))
    nodes = sorted(sets)
    n_nodes = len(feature)
    tree = Tree(
        np.array(feature, dtype=np.int32),
        np.zeros(n_nodes, dtype=np.uint8),
        rng.integers(0, 2, n_nodes).astype(np.uint8),
        np.array(left, dtype=np.int32),
        rng.normal(size=(n_nodes, n_columns)),
        np.zeros(n_nodes),
        np.ones(n_nodes, dtype=np.int64),
        np.ones(n_nodes),
        np.array(threshold),
        np.array(nodes, dtype=np.int32),
        np.array([sets[k].size for k in nodes], dtype=np.int32),
        np.concatenate([np.empty(0), *(sets[k] for k in nodes)]).astype(np.int32),
    )
    return TreeSum(columns, tree, np.array(start), rng.normal(size=n_outputs), divisor)


def make_graphs():
    """Graphs of every kind of node, with the number of classes, 0 for numbers."""
    rng = np.random.default_rng(0)
    one, two, three = (make_trees(rng, 11, 1, k) for k in (1, 2, 3))
    mean = make_trees(rng, 9, 3, 3, divisor=9.0)
    encoded = make_trees(rng, 20, columns=(Column((1,)), *LOOKUPS, Column((2,))))
    slopes, points = rng.normal(size=(2, 4)), np.array([-1.0, 0.0, 0.25, 2.0])
    direct = rng.normal(size=(2, 2)) * [[1, 1], [1, 0]]
    affine = Affine((one, mean), slopes, np.ones(2), (Column((0,)), LOOKUPS[0]), direct)
    curve = Curve(two, (points, points[1:]), (points**2, points[1:]))
    return {
        "sum": (one, 0),
        "mean": (mean, 0),
        "several columns": (make_trees(rng, 8 * 3, 2, 4), 0),
        "lookups": (encoded, 0),
        "links": (Affine((Link(two, "log"), Link(two, "log1p")), np.eye(4), np.zeros(4)), 0),
        "sigmoid": (Link(two, "sigmoid"), 0),
        "sorted": (Link(three, "sorted"), 0),
        "logistic": (Link(one, "logistic"), 2),
        "half logistic": (Link(one, "half_logistic"), 2),
        "identity": (Link(three, "identity"), 3),
        "softmax": (Link(three, "softmax"), 3),
        "median": (Median(one, rng.random(11)), 0),
        "affine": (affine, 0),
        "vote": (Vote((three, mean, three), np.array([1.0, 0.5, 0.25])), 3),
        "share": (Share(three), 3),
        "curve": (Share(curve), 2),
        "nested": (Vote((Share(three), Link(mean, "softmax")), np.array([1.0, 2.0])), 3),
    }


def make_rows(rng, n_rows=60):
    values = [np.nan, np.inf, -np.inf, 0.0, -0.0, *rng.normal(size=20).round(1)]
    return [
        [
            *rng.choice(values, 2).tolist(),
            rng.choice(["p", "q", "r", "s", "t", "new", None]),
            rng.choice([1, 2, 7, 3, None]),
        ]
        for _ in range(n_rows)
    ]


GRAPHS = make_graphs()


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs(name):
    output, n_classes = GRAPHS[name]
    classes = (np.array(list("xyz")[:n_classes]),) if n_classes else ()
    model = PortableModel("Any", INPUTS, output, classes)
    program = compile_outputs(model)
    unknown = -1.0 if program.lookups.category.size else np.nan
    reader = RowReader(INPUTS, "missing", unknown, False, False)
    predict = RowPredictor(program, reader, [], "proba", "Any")
    rows = make_rows(np.random.default_rng(1))
    expected = [predict_row(model, row) for row in rows]
    found = [predict(row) for row in rows]
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-300)
    if n_classes:
        labels = model.classes[0].tolist()
        name_row = RowPredictor(compile_labels(model), reader, labels, "predict", "Any")
        assert [name_row(row) for row in rows] == [predict_label(model, row) for row in rows]


def test_an_infinite_input_of_a_linear_function_without_a_slope():
    """A coefficient of 0 adds nothing, as in the model, even times infinity."""
    output = Affine((), np.empty((1, 0)), np.ones(1), (Column((0,)),), np.zeros((1, 1)))
    program = compile_outputs(PortableModel("Any", INPUTS[:1], output))
    reader = RowReader(INPUTS[:1], "missing", np.nan, False, False)
    assert RowPredictor(program, reader, [], "predict", "Any")([np.inf]) == 1.0


def test_scores_that_are_not_numbers():
    """The first NaN is the largest, as for ``numpy.argmax``."""
    columns = tuple(Column((k,)) for k in range(2))
    output = Affine((), np.empty((3, 0)), np.zeros(3), columns, np.array([[1, 1], [2, 2], [1, 0]]))
    model = PortableModel("Any", INPUTS[:2], output, (np.array(list("xyz")),))
    reader = RowReader(INPUTS[:2], "missing", np.nan, False, False)
    name_row = RowPredictor(compile_labels(model), reader, list("xyz"), "predict", "Any")
    assert name_row([np.inf, -np.inf]) == "x"
    assert name_row([np.inf, 0.0]) == "x"
    assert name_row([1.0, -2.0]) == "z"
