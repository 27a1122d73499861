"""Byte tables of sparse matrices equal those of dense matrices."""

import numpy as np
import pytest
from scipy import sparse

from sumwise.data.binning import BinMapper
from sumwise.data.matrix import find_ranges
from sumwise.data.sparse import SparseMatrix, byte_tables
from sumwise.errors import DataError
from sumwise.kernels.runtime.threads import Team


def make_matrices(kind, absent):
    rng = np.random.default_rng(0)
    dense = np.full((300, 9), absent, dtype=kind)
    at = rng.random(dense.shape) < 0.3
    dense[at] = rng.normal(size=at.sum()) * 10.0 ** rng.integers(-45, 30, at.sum())
    dense[rng.random(dense.shape) < 0.02] = np.nan
    dense[:, 4] = absent
    dense[:, 5] = np.nan
    dense[:, 6] = rng.integers(-2, 3, 300)
    return dense, SparseMatrix.from_dense(dense, absent)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("absent", [0.0, np.nan])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_tables_are_those_of_dense_matrices(kind, absent, n_threads, monkeypatch):
    dense, stored = make_matrices(kind, absent)
    monkeypatch.setattr(byte_tables, "_PART_BYTES", 9 * 7)
    with Team(n_threads) as team:
        mapper = BinMapper.fit(dense, 12, team=team)
        expected = mapper.map_to_rows(dense, team)
        assert np.array_equal(mapper.map_to_rows(stored, team), expected)
        parts = list(mapper.map_parts(stored, team))
        assert [first for first, _ in parts] == list(range(0, 300, 7))
        assert np.array_equal(np.concatenate([part for _, part in parts]), expected)
        ((first, whole),) = mapper.map_parts(dense, team)
        assert first == 0
        assert np.array_equal(whole, expected)
        columns, features = mapper.map_to_columns(stored, team)
        assert features.tolist() == [0, 1, 2, 3, 6, 7, 8]
        assert np.array_equal(columns, expected[:, features].T)
        columns, features = mapper.map_to_columns(dense, team)
        assert np.array_equal(columns, expected.T)
        assert features.tolist() == list(range(9))


@pytest.mark.parametrize("absent", [0.0, np.nan])
def test_ranges_are_those_of_dense_matrices(absent):
    dense, stored = make_matrices(np.float32, absent)
    is_used = np.random.default_rng(1).random(300) < 0.02
    for used in (None, is_used, np.zeros(300, dtype=np.bool_)):
        for own, other in zip(find_ranges(stored, used), find_ranges(dense, used), strict=True):
            assert np.array_equal(own, other, equal_nan=True)


def test_a_table_must_fit_into_memory(monkeypatch):
    monkeypatch.setattr(byte_tables, "find_memory", lambda: 2000)
    byte_tables.refuse_large_table(100, 10)
    with pytest.raises(DataError, match="100 rows and 11 features"):
        byte_tables.refuse_large_table(100, 11)


def test_memory_is_known_or_guessed(monkeypatch):
    assert byte_tables.find_memory() > 1 << 26
    monkeypatch.delattr("os.sysconf")
    assert byte_tables.find_memory() == 1 << 34


def test_a_matrix_by_row_stays_what_it_is():
    matrix = SparseMatrix.from_scipy(sparse.csc_array(np.eye(3)))
    assert matrix.sort_by_row().given.format == "csr"
    assert np.array_equal(matrix.sort_by_row()[1:2].given.toarray(), [[0, 1, 0]])
