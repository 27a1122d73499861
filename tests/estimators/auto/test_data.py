"""TrainingData: rows of weight zero, traits, and the forms that members take."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix, issparse

from sumwise.errors import DataError
from sumwise.estimators.auto import portfolio
from sumwise.estimators.auto.data import ReadTable
from sumwise.estimators.input.features import ReadRows, read_rows
from tests.estimators.auto.samples import make_classes, make_frame, read


def test_categories_are_codes_and_missing_ones_are_nan():
    frame, y = make_frame()
    data = read(frame, y)
    expected = frame["c"].map({"x": 0.0, "y": 1.0, "z": 2.0}).astype(float)
    np.testing.assert_array_equal(data.rows.numbers[:, 2], expected)
    assert data.categorical == [2]
    assert data.n_features == 4


def test_rows_of_weight_zero_are_left_out_and_weights_are_scaled():
    frame, y = make_frame()
    weight = np.arange(120) % 3 * 1e-9
    data = read(frame, y, sample_weight=weight, groups=np.arange(120) // 2)
    assert data.n_rows == 80
    np.testing.assert_array_equal(data.kept, np.flatnonzero(weight))
    np.testing.assert_array_equal(data.y, y[weight > 0])
    assert data.weight.mean() == pytest.approx(1.0)
    assert data.groups.size == 80
    assert len(data.arguments.y) == 120


def test_equal_weights_are_no_weights():
    frame, y = make_frame()
    assert read(frame, y, sample_weight=np.full(120, 7.0)).weight is None


def test_labels_become_indices():
    frame, labels = make_classes()
    data = read(frame, labels, is_class=True)
    assert data.classes.tolist() == ["no", "yes"]
    np.testing.assert_array_equal(data.classes[data.y], labels)


def test_traits():
    frame, labels = make_classes()
    found = read(frame, labels, is_class=True).find_traits("auto")
    assert found == {
        portfolio.CATEGORIES,
        portfolio.DENSE,
        portfolio.FEW_ROWS,
        portfolio.SOME_ROWS,
        portfolio.TWO_CLASSES,
        portfolio.NEWTON,
        portfolio.EQUAL_WEIGHTS,
        portfolio.WEIGHABLE_NETWORK,
    }
    X, y = csr_matrix(np.eye(20)), np.arange(20.0)
    data = read(X, y, sample_weight=y + 1.0)
    assert data.is_sparse
    assert issparse(data.rows.numbers)
    assert {portfolio.DENSE, portfolio.NEWTON, portfolio.EQUAL_WEIGHTS} & data.find_traits(
        "absolute_error"
    ) == set()


def test_both_forms_of_rows():
    frame, y = make_frame()
    data = read(frame, y)
    rows = ReadTable.of(read_rows(data.make_reader(), frame[:5]))
    assert isinstance(rows.feed(is_shared=True), ReadRows)
    np.testing.assert_array_equal(rows.feed(is_shared=False), data.rows.numbers[:5])


def test_bad_arguments_are_refused():
    frame, y = make_frame()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        read(frame, y[1:])
    with pytest.raises(DataError, match="requires y to be passed"):
        read(frame, None)
    with pytest.raises(DataError, match="all sample weights are zero"):
        read(frame, y, sample_weight=np.zeros(120))
    with pytest.raises(DataError, match="groups has shape"):
        read(frame, y, groups=[1, 2])
