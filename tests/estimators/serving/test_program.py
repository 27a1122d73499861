"""Programs compute what PortableModel describes, node by node; the naive twin is the judge."""

import numpy as np
import pytest

from sumwise.estimators.serving.program import compile_labels, compile_outputs
from sumwise.estimators.serving.row_predictor import RowPredictor
from sumwise.estimators.serving.row_reading import RowReader
from sumwise.export.portable import Affine, Column, PortableModel
from tests.export.random_models import GRAPHS, MIXED, NUMBERS, make_graph, make_rows, predict_rows
from tests.naive.portable import predict_label


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs(name):
    model = make_graph(name, inputs=MIXED)
    program = compile_outputs(model)
    unknown = -1.0 if program.lookups.category.size else np.nan
    reader = RowReader(MIXED, "missing", unknown, False, False)
    predict = RowPredictor(program, reader, [], "proba", "Any")
    rows = make_rows(model)
    found, expected = [predict(row) for row in rows], predict_rows(model, rows)
    found = np.array(found).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-300)
    if len(model.classes) == 1:
        labels = model.classes[0].tolist()
        name_row = RowPredictor(compile_labels(model), reader, labels, "predict", "Any")
        for k in np.flatnonzero(~np.isnan(expected).any(axis=1)):
            assert name_row(rows[k]) == predict_label(model, rows[k])


def test_an_infinite_input_of_a_linear_function_without_a_slope():
    """A coefficient of 0 adds nothing, as in the model, even times infinity."""
    output = Affine((), np.empty((1, 0)), np.ones(1), (Column((0,)),), np.zeros((1, 1)))
    program = compile_outputs(PortableModel("Any", NUMBERS[:1], output))
    reader = RowReader(NUMBERS[:1], "missing", np.nan, False, False)
    assert RowPredictor(program, reader, [], "predict", "Any")([np.inf]) == 1.0


def test_scores_that_are_not_numbers():
    """The first NaN is the largest, as for ``numpy.argmax``."""
    columns = tuple(Column((k,)) for k in range(2))
    output = Affine((), np.empty((3, 0)), np.zeros(3), columns, np.array([[1, 1], [2, 2], [1, 0]]))
    model = PortableModel("Any", NUMBERS[:2], output, (np.array(list("xyz")),))
    reader = RowReader(NUMBERS[:2], "missing", np.nan, False, False)
    name_row = RowPredictor(compile_labels(model), reader, list("xyz"), "predict", "Any")
    assert name_row([np.inf, -np.inf]) == "x"
    assert name_row([np.inf, 0.0]) == "x"
    assert name_row([1.0, -2.0]) == "z"
