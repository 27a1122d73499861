"""NumericInputs: scaled numbers, marks of missing ones, columns of categories."""

import numpy as np
from scipy.sparse import csr_matrix, issparse

from sumwise.estimators.auto.preparing import NumericInputs

NUMBERS = np.zeros(1, dtype=np.int64)


def test_numbers_get_mean_0_and_variance_1():
    X = np.random.default_rng(0).normal(5.0, 3.0, (50, 1))
    found = NumericInputs(NUMBERS).fit_transform(X)
    assert found.shape == (50, 1)
    np.testing.assert_allclose([found.mean(), found.std()], [0.0, 1.0], atol=1e-12)


def test_missing_numbers_are_the_median_and_marked():
    X = np.array([[1.0], [np.nan], [3.0], [2.0]])
    found = NumericInputs(NUMBERS).fit(X).transform(X)
    assert found[:, 1].tolist() == [0.0, 1.0, 0.0, 0.0]
    assert found[1, 0] == found[3, 0]


def test_columns_without_values_or_variance_and_infinities():
    X = np.array([[np.nan, 1.0, np.inf], [np.nan, 1.0, 2.0], [np.nan, 1.0, 3.0]])
    found = NumericInputs(np.zeros(3, dtype=np.int64)).fit(X).transform(X)
    assert np.isfinite(found).all()
    assert (found[:, :2] == 0.0).all()
    assert found[0, 2] == found[2, 2]  # the largest value that is finite


def test_extreme_numbers_do_not_overflow():
    X = np.array([[1e300], [-1e300], [0.0]])
    inputs = NumericInputs(NUMBERS, is_squashed=True).fit(X)
    found = inputs.transform(np.array([[1e308], [-np.inf], [np.nan]]))
    assert np.isfinite(found).all()
    assert np.abs(found).max() <= 3.0


def test_squashed_numbers_keep_their_order():
    X = np.linspace(-1.0, 1.0, 30)[:, None] ** 9 * 100
    found = NumericInputs(NUMBERS, is_squashed=True).fit(X).transform(X)[:, 0]
    assert (np.diff(found) >= 0).all()
    assert found.max() < 3.0


def test_frequent_categories_get_columns():
    codes = np.array([0, 0, 0, 1, 1, 2, np.nan])[:, None]
    inputs = NumericInputs(np.array([3]), most_levels=2).fit(codes)
    assert inputs.transform(codes).tolist() == [
        *[[1.0, 0.0]] * 3,
        *[[0.0, 1.0]] * 2,
        [0.0, 0.0],  # once only
        [0.0, 0.0],
    ]
    assert inputs.transform(np.array([[7.0]])).tolist() == [[0.0, 0.0]]


def test_many_categories_are_stored_sparsely_if_they_may_be():
    codes = np.repeat(np.arange(200.0), 2)[:, None]
    assert issparse(NumericInputs(np.array([200])).fit_transform(codes))
    dense = NumericInputs(np.array([200]), may_be_sparse=False).fit_transform(codes)
    np.testing.assert_array_equal(dense.argmax(axis=1), codes[:, 0])


def test_features_that_say_nothing_are_a_column_of_zeros():
    codes = np.arange(4.0)[:, None]  # each category once
    assert NumericInputs(np.array([4])).fit_transform(codes).tolist() == [[0.0]] * 4


def test_a_sparse_matrix_is_scaled_and_stays_sparse():
    X = csr_matrix([[0.0, 4.0, 0.0], [np.nan, -8.0, 0.0]])
    inputs = NumericInputs(np.zeros(3, dtype=np.int64)).fit(X)
    found = inputs.transform(X)
    assert issparse(found)
    assert found.toarray().tolist() == [[0.0, 0.5, 0.0], [0.0, -1.0, 0.0]]
    np.testing.assert_array_equal(inputs.transform(X.toarray()).toarray(), found.toarray())


def test_a_sparse_matrix_in_place_of_a_dense_one():
    X = np.array([[0.0, 2.0], [1.0, 0.0]])
    inputs = NumericInputs(np.zeros(2, dtype=np.int64)).fit(X)
    np.testing.assert_array_equal(inputs.transform(csr_matrix(X)), inputs.transform(X))


def test_the_largest_numbers_are_scaled_without_overflow():
    X = np.array([[1.7e308], [1.7e308], [0.0], [-1.7e308]])
    with np.errstate(all="raise"):
        inputs = NumericInputs(np.zeros(1, dtype=np.int64)).fit(X)
    assert np.isfinite(inputs.center_).all()
    assert np.isfinite(inputs.transform(X)).all()
