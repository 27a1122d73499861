"""Bins of sparse matrices equal those of dense matrices, bit for bit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from sumwise.data import thresholds
from sumwise.data.binning import BinMapper
from sumwise.data.sparse import SparseMatrix
from sumwise.data.sparse.binning import map_sparse
from sumwise.kernels.runtime.threads import Team


def make_matrix(seed, n_rows, n_features, density, kind, n_values):
    rng = np.random.default_rng(seed)
    X = np.zeros((n_rows, n_features), dtype=kind)
    for f in range(n_features):
        at = rng.random(n_rows) < density * 2 * rng.random()
        X[at, f] = rng.integers(-n_values, n_values + 1, at.sum()) * 0.5
    X[rng.random(X.shape) < 0.02] = np.nan
    X[rng.random(X.shape) < 0.01] = -0.0
    return X, rng


def assert_equal_bins(X, absent, max_bins, weight, rows, team):
    dense = np.where(X == 0, np.nan, X).astype(X.dtype) if np.isnan(absent) else X
    matrix = SparseMatrix.from_dense(dense, absent)
    if not np.isnan(absent):  # stored zeros, some of them negative
        stored = sparse.csr_matrix(X)
        stored.data[::5] = -0.0
        dense = stored.toarray()
        matrix = SparseMatrix.from_scipy(stored)
    expected = BinMapper.fit(dense, max_bins, weight, rows, 3, team)
    found = BinMapper.fit(matrix, max_bins, weight, rows, 3, team)
    for own, other in zip(found.thresholds, expected.thresholds, strict=True):
        assert own.tobytes() == other.tobytes()
    plain = expected.transform(dense, team, dense[:7])
    bins = map_sparse(found.thresholds, [matrix, matrix[np.arange(min(7, len(X)))]], team)
    read = np.repeat(bins.default_bin[:, None], bins.n_rows, axis=1)
    for f in range(X.shape[1]):
        own = bins.entries(f)
        assert (np.diff(bins.rows[own].astype(int)) > 0).all()
        assert (bins.bins[own] != bins.default_bin[f]).all()
        read[f, bins.rows[own]] = bins.bins[own]
    assert read.tolist() == plain.table.columns.tolist()
    assert bins.usable.tolist() == plain.usable.astype(bool).tolist()


@settings(deadline=None, max_examples=40)
@given(
    seed=st.integers(0, 2**32),
    n_rows=st.integers(1, 200),
    density=st.sampled_from([0.0, 0.05, 0.4, 1.0]),
    kind=st.sampled_from([np.float32, np.float64]),
    max_bins=st.sampled_from([2, 5, 255]),
    absent=st.sampled_from([0.0, np.nan]),
    weighted=st.booleans(),
    n_threads=st.integers(1, 2),
)
def test_bins_equal_those_of_the_dense_matrix(
    seed, n_rows, density, kind, max_bins, absent, weighted, n_threads
):
    X, rng = make_matrix(seed, n_rows, 4, density, kind, 20)
    weight = rng.random(n_rows) * rng.integers(0, 2, n_rows) + 1e-9 if weighted else None
    rows = np.flatnonzero(rng.random(n_rows) < 0.8).astype(np.uint32)
    rows = rows if rows.size else np.arange(n_rows, dtype=np.uint32)
    with Team(n_threads) as team:
        assert_equal_bins(X, absent, max_bins, weight, rows, team)


@pytest.mark.parametrize("weighted", [False, True])
def test_quantiles_of_a_sample(monkeypatch, weighted):
    monkeypatch.setattr(thresholds, "SAMPLE_ROWS", 300)
    X, rng = make_matrix(1, 2000, 5, 0.3, np.float64, 400)
    weight = rng.random(2000) if weighted else None
    with Team(2) as team:
        assert_equal_bins(X, 0.0, 31, weight, None, team)
        assert_equal_bins(X, np.nan, 255, weight, None, team)
