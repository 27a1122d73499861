"""Sparse matrices are read in place and never changed."""

import numpy as np
import pytest
from scipy import sparse

from sumwise.data.matrix import read_chunks
from sumwise.data.sparse import SparseMatrix
from sumwise.kernels.runtime.threads import Team

DENSE = np.array([[0.0, 1.5, 0.0], [0.0, np.nan, -2.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0]])


@pytest.mark.parametrize("make", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.bool_])
def test_any_matrix_of_scipy(make, kind):
    dense = np.nan_to_num(DENSE).astype(kind)
    matrix = SparseMatrix.from_scipy(make(dense))
    assert matrix.shape == dense.shape
    assert matrix.dtype == (np.float32 if kind is np.float32 else np.float64)
    assert np.array_equal(matrix.convert(0, 4), dense.astype(matrix.dtype))
    assert np.array_equal(matrix.convert(1, 3, np.array([2, 0])), dense[1:3, [2, 0]])


def test_what_is_absent_may_be_missing():
    matrix = SparseMatrix.from_scipy(sparse.csr_array(DENSE), np.nan)
    expected = np.where(DENSE == 0, np.nan, DENSE)
    assert np.array_equal(matrix.convert(0, 4), expected, equal_nan=True)
    ((first, part),) = read_chunks(matrix)
    assert first == 0
    assert part.n_rows == 4
    dense = SparseMatrix.from_dense(expected, np.nan)
    assert np.array_equal(dense.convert(0, 4), expected, equal_nan=True)


def test_disorder_is_mended_in_a_copy():
    """Unsorted and duplicate entries, explicit zeros."""
    values = np.array([1.0, 2.0, 0.5, 0.0, 4.0])
    columns = np.array([2, 0, 2, 1, 0])
    given = sparse.csr_matrix((values.copy(), columns.copy(), [0, 3, 5]), shape=(2, 3))
    matrix = SparseMatrix.from_scipy(given)
    assert matrix.convert(0, 2).tolist() == [[2.0, 0.0, 1.5], [4.0, 0.0, 0.0]]
    assert given.data.tolist() == values.tolist()
    assert given.indices.tolist() == columns.tolist()
    with Team(1) as team:
        assert matrix.read_columns(team).rows.tolist() == [0, 1, 1, 0]


def test_arrays_are_not_copied_if_they_need_not_be():
    given = sparse.csc_array(DENSE)
    matrix = SparseMatrix.from_scipy(given)
    with Team(1) as team:
        columns = matrix.read_columns(team)
    assert np.shares_memory(columns.values, given.data)
    assert not columns.values.flags.writeable
    assert given.data.flags.writeable


def test_large_places_and_empty_matrices():
    given = sparse.csr_matrix(DENSE)
    given.indices, given.indptr = given.indices.astype(np.int64), given.indptr.astype(np.int64)
    assert SparseMatrix.from_scipy(given).by_row.place.dtype == np.int32
    nothing = SparseMatrix.from_scipy(sparse.csr_matrix((5, 2)))
    with Team(1) as team:
        assert nothing.read_columns(team).start.tolist() == [0, 0, 0]
    assert SparseMatrix.from_dense(np.zeros((5, 2)), 0.0).size == 5


@pytest.mark.parametrize("n_values", [1, 256, 257])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_columns_are_those_of_scipy(n_values, kind, n_threads):
    """Up to 256 distinct values are stored as codes of one byte, more as values."""
    rng = np.random.default_rng(n_values)
    given = sparse.random(700, 30, 0.2, "csr", dtype=kind, random_state=rng)
    given.data[:] = rng.permutation(np.arange(given.nnz) % n_values) - 3.0
    given.data[given.data == 2.0] = np.nan
    with Team(n_threads) as team:
        columns = SparseMatrix.from_scipy(given).read_columns(team)
    assert columns.codes.size == (0 if n_values > 256 else given.nnz)
    values = columns.values[columns.codes] if columns.codes.size else columns.values
    expected = given.tocsc()
    assert columns.start.tolist() == expected.indptr.tolist()
    assert columns.rows.tolist() == expected.indices.tolist()
    assert values.tobytes() == expected.data.tobytes()


def test_rows_are_taken():
    matrix = SparseMatrix.from_scipy(sparse.csc_matrix(DENSE))[np.array([2, 0])]
    assert np.array_equal(matrix.convert(0, 2), DENSE[[2, 0]])
