"""Ranks of values, compared with np.unique and np.searchsorted."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csc_matrix, csr_matrix

from sumwise.data import ranks as module
from sumwise.data.binning import BinMapper
from sumwise.data.matrix import ColumnMatrix
from sumwise.data.ranks import RankedColumns
from sumwise.data.sparse import SparseMatrix
from sumwise.data.thresholds import threshold_between
from sumwise.errors import DataError
from sumwise.kernels.runtime.threads import Team

NAN, INF = np.nan, np.inf


def rank_naively(train, column):
    """Compute thresholds of training values and ranks of all values by definition."""
    distinct = np.unique(train[~np.isnan(train)] + 0.0)
    thresholds = threshold_between(distinct[:-1], distinct[1:])
    ranks = 1 + np.searchsorted(thresholds, column.astype(np.float64), side="left")
    return thresholds, np.where(np.isnan(column), 0, ranks)


def rank(X, rows=None, X_val=None, n_threads=1, **options):
    rows = np.arange(X.shape[0]) if rows is None else rows
    with Team(n_threads) as team:
        return RankedColumns.fit(X, rows.astype(np.uint32), team, X_val, **options)


def check(found, X, rows, X_val=None):
    everything = X if X_val is None else np.concatenate([X, X_val])
    assert found.ranks.dtype == np.uint32
    assert found.features.tolist() == list(range(X.shape[1]))
    for f in range(X.shape[1]):
        thresholds, ranks = rank_naively(X[rows, f], everything[:, f])
        assert found.mapper.thresholds[f].tolist() == thresholds.tolist()
        assert found.ranks[f].tolist() == ranks.tolist()
        assert found.n_values[f] == thresholds.size + 1


def make_columns(kind=np.float64, n_rows=500, seed=0):
    rng = np.random.default_rng(seed)
    X = np.empty((n_rows, 7), dtype=kind)
    X[:, 0] = rng.normal(size=n_rows)
    X[:, 1] = rng.integers(0, 5, n_rows)
    X[:, 2] = 3.0
    X[:, 3] = NAN
    X[:, 4] = rng.choice([-INF, -1.0, -0.0, 0.0, 1e-30, 2.0, INF, NAN], n_rows)
    X[:, 5] = np.where(rng.random(n_rows) < 0.3, NAN, rng.normal(size=n_rows).round(1))
    X[:, 6] = 1 + rng.integers(0, 9, n_rows) * np.finfo(kind).eps
    return X


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_equals_twin(kind, n_threads):
    X, X_val = make_columns(kind), make_columns(kind, 100, seed=1)
    rows = np.flatnonzero(np.random.default_rng(2).random(500) < 0.7)
    check(rank(X, n_threads=n_threads), X, np.arange(500))
    check(rank(X, rows, X_val, n_threads), X, rows, X_val)


@pytest.mark.parametrize("order", ["C", "F"])
def test_any_strides_and_groups(order, monkeypatch):
    X = np.asarray(make_columns(), order=order)
    monkeypatch.setattr("sumwise.data.thresholds._KEYS", 2 * 500)
    check(rank(X), X, np.arange(500))
    check(rank(X[::2]), X[::2], np.arange(250))


@pytest.mark.parametrize("kind", [np.int8, np.int64, np.float16, np.bool_])
def test_types_that_are_converted(kind):
    X = np.random.default_rng(0).integers(0, 2, (300, 3)).astype(kind)
    found = rank(X)
    check(found, X.astype(np.float64), np.arange(300))


def test_columns_and_sparse_matrices_equal_arrays():
    X = make_columns()
    X[:, 1] *= np.random.default_rng(5).random(500) < 0.2
    rows = np.arange(0, 500, 3)
    columns = ColumnMatrix(
        [lambda a, b, f=f: X[a:b, f] for f in range(X.shape[1])], 500, np.dtype(np.float64)
    )
    check(rank(columns, rows, columns), X, rows, X)
    for kind in (csr_matrix, csc_matrix):
        sparse = SparseMatrix.from_scipy(kind(X))
        check(rank(sparse, rows, X), X, rows, X)
        check(rank(X, rows, sparse), X, rows, X)


def test_only_features_with_many_values():
    X = make_columns()
    every, some = rank(X), rank(X, more_than=9)
    assert some.features.tolist() == [0, 5]
    np.testing.assert_array_equal(some.ranks, every.ranks[[0, 5]])
    for own, other in zip(some.mapper.thresholds, every.mapper.thresholds, strict=True):
        np.testing.assert_array_equal(own, other)
    with Team(2) as team:
        np.testing.assert_array_equal(some.find_ranks([X, X[:9]], team)[:, :500], some.ranks)


def test_thresholds_of_few_values_are_those_of_bins():
    X = make_columns()[:, 1:]
    mapper = BinMapper.fit(X)
    for own, other in zip(rank(X).mapper.thresholds, mapper.thresholds, strict=True):
        np.testing.assert_array_equal(own, other)


def test_ranks_of_categories_are_bins():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=900), rng.integers(0, 3, 900), rng.integers(0, 400, 900)])
    n_categories = np.array([0, 3, 400])
    found = rank(X, X_val=X, n_categories=n_categories)
    mapper = BinMapper.fit(X, n_categories=n_categories)
    for f in (1, 2):
        bins = mapper.categories[f].bin_of_code[X[:, f].astype(int)]
        assert found.ranks[f].tolist() == [*bins, *bins]
        assert found.n_values[f] == mapper.categories[f].n_value_bins


def test_no_rows_to_learn_from():
    X = make_columns(n_rows=5)
    found = rank(X, np.arange(0))
    assert all(own.size == 0 for own in found.mapper.thresholds)
    assert found.ranks.tolist() == (~np.isnan(X)).T.astype(int).tolist()


def test_sparse_data_that_would_take_too_much(monkeypatch):
    monkeypatch.setattr(module, "_MOST_SPARSE_BYTES", 4 * 100)
    sparse = SparseMatrix.from_scipy(csr_matrix(np.eye(11)))
    with pytest.raises(DataError, match=r"11 rows and 11 features.*splits='histogram'"):
        rank(sparse)
    rank(np.eye(11))


VALUES = st.sampled_from([-INF, -2.0, -1.0, -0.0, 0.0, 5e-324, 1.0, 1 + 2.0**-52, 9.0, INF, NAN])


@settings(derandomize=True, deadline=None, max_examples=60)
@given(arrays(np.float64, st.tuples(st.integers(1, 30), st.integers(1, 3)), elements=VALUES))
def test_any_values(X):
    rows = np.arange(0, X.shape[0], 2)
    check(rank(X, rows), X, rows)
