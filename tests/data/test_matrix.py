"""Matrices as kernels read them."""

import numpy as np
import pytest

from sumwise.data import matrix
from sumwise.data.matrix import ColumnMatrix, check_matrix, read_chunks, rounds_integers
from sumwise.errors import DataError

INTEGERS = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", ">i4"]
DTYPES = [*INTEGERS, "f2", "f4", "f8", "g", ">f4", ">f8"]


def read_back(X):
    """Rebuild the matrix from its chunks, checking that they follow each other."""
    parts, n_rows = [], 0
    for first, part in read_chunks(X):
        assert first == n_rows
        assert not part.values.flags.writeable
        assert type(part.values) is np.ndarray
        assert part.values.dtype in (np.float32, np.float64)
        assert part.values.dtype.isnative
        assert part.values.flags.c_contiguous
        rows = np.arange(part.n_rows)[:, None] * part.row_stride
        parts.append(part.values[rows + np.arange(X.shape[1]) * part.column_stride])
        n_rows += part.n_rows
    assert n_rows == X.shape[0]
    return np.concatenate(parts) if parts else np.empty(X.shape)


def make_matrix(dtype, shape=(7, 3)):
    return np.random.default_rng(0).integers(0, 2, shape).astype(dtype)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_is_read(dtype, order):
    X = np.asarray(make_matrix(dtype), order=order)
    assert np.array_equal(read_back(X), X.astype(float))


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("f2", "f4"), ("f4", "f4"), ("f8", "f8"), ("g", "f8"), ("i4", "f8"), ("?", "f8")],
)
def test_the_smallest_type_that_holds_the_values(dtype, expected):
    [(_, part)] = read_chunks(make_matrix(dtype))
    assert part.values.dtype == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_floats_are_not_copied(dtype, order):
    X = np.asarray(make_matrix(dtype), order=order)
    [(first, part)] = read_chunks(X)
    assert first == 0
    assert np.shares_memory(part.values, X)
    assert (part.row_stride, part.column_stride) == ((3, 1) if order == "C" else (1, 7))
    assert X.flags.writeable  # the array of the user does not change


@pytest.mark.parametrize("part", [np.s_[::2], np.s_[:, 1:3], np.s_[2:7:2, ::2], np.s_[3:4, 2:]])
@pytest.mark.parametrize("order", ["C", "F"])
def test_strided_floats_are_not_copied(part, order):
    X = np.asarray(np.random.default_rng(0).normal(size=(9, 5)), order=order)[part]
    [(_, flat)] = read_chunks(X)
    assert np.shares_memory(flat.values, X)
    assert np.array_equal(read_back(X), X)
    # from the first to the last item only
    assert flat.values[0] == X[0, 0]
    assert flat.values[-1] == X[-1, -1]


@pytest.mark.parametrize(
    "view",
    [
        lambda X: X[::2],
        lambda X: X[:, ::2],
        lambda X: X[::-1],
        lambda X: X[:, ::-1],
        lambda X: X[2:5, 1:],
        lambda X: np.broadcast_to(X[0], (6, X.shape[1])),
    ],
)
def test_strided_views_are_read(view):
    X = view(np.random.default_rng(0).normal(size=(9, 5)))
    assert np.array_equal(read_back(X), X)


def test_read_only_and_mapped_matrices(tmp_path):
    X = np.random.default_rng(0).normal(size=(9, 5))
    X.flags.writeable = False
    assert np.array_equal(read_back(X), X)
    np.save(tmp_path / "X.npy", X)
    for mode in ("r", "c", "r+"):
        mapped = np.load(tmp_path / "X.npy", mmap_mode=mode)
        assert np.array_equal(read_back(mapped), X)


def test_unaligned_matrices():
    raw = np.zeros(1 + 8 * 6, dtype=np.uint8)
    X = raw[1:].view(np.float64).reshape(3, 2)
    assert not X.flags.aligned
    X[:] = np.arange(6).reshape(3, 2)
    assert np.array_equal(read_back(X), np.arange(6.0).reshape(3, 2))
    [(_, part)] = read_chunks(X)
    assert part.values.flags.aligned  # kernels are compiled for aligned arrays only


def test_conversion_goes_by_chunks(monkeypatch):
    monkeypatch.setattr(matrix, "_CHUNK", 4)
    X = np.arange(33).reshape(11, 3)
    assert [(first, part.n_rows) for first, part in read_chunks(X)] == [(0, 4), (4, 4), (8, 3)]
    assert np.array_equal(read_back(X), X)
    backwards = np.arange(33.0, dtype=np.float32).reshape(11, 3)[::-1]
    assert [first for first, _ in read_chunks(backwards)] == [0, 4, 8]
    assert np.array_equal(read_back(backwards), backwards)


@pytest.mark.parametrize("shape", [(0, 3), (5, 0), (0, 0), (1, 1)])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4"])
def test_empty_and_tiny_matrices(shape, dtype):
    assert read_back(make_matrix(dtype, shape)).shape == shape


# Separate columns


def make_columns(n_rows, dtype=np.float64):
    """Return a matrix whose column f has the numbers f, f + 1, f + 2, ..."""

    def make_reader(feature):
        return lambda first, last: np.arange(first, last) + feature

    readers = [make_reader(feature) for feature in range(5)]
    return ColumnMatrix(readers, n_rows, np.dtype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [0, 1, 7, 8, 9])
def test_columns_are_read_by_chunks(n_rows, dtype, monkeypatch):
    monkeypatch.setattr(matrix, "_CHUNK", 4)
    X = make_columns(n_rows, dtype)
    chunks = [(first, part.n_rows) for first, part in read_chunks(X)]
    assert chunks == [(first, min(4, n_rows - first)) for first in range(0, n_rows, 4)]
    assert all(part.values.dtype == dtype for _, part in read_chunks(X))
    assert np.array_equal(read_back(X), np.add.outer(np.arange(n_rows), np.arange(5)))


def test_columns_are_taken_out():
    X = make_columns(3)
    assert (X.shape, X.size) == ((3, 5), 15)
    assert np.array_equal(read_back(X[:, 1:3]), [[1, 2], [2, 3], [3, 4]])
    assert X[:, 4:9].shape == (3, 1)
    with pytest.raises(IndexError, match="only columns"):
        X[1:, :2]


# Checks


@pytest.mark.parametrize("X", [np.zeros(3), np.zeros((2, 2, 2)), np.array(5.0)])
def test_two_dimensions_are_asked_for(X):
    with pytest.raises(DataError, match=f"it has {X.ndim}"):
        check_matrix(X)


@pytest.mark.parametrize("dtype", ["O", "U3", "S3", "M8[D]", "m8[D]", "c8"])
def test_numbers_are_asked_for(dtype):
    with pytest.raises(DataError, match="must be numeric; it has dtype"):
        check_matrix(np.zeros((2, 2), dtype=dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_are_accepted(dtype):
    check_matrix(make_matrix(dtype))


@pytest.mark.parametrize(
    ("X", "expected"),
    [
        (np.array([[2**53]]), False),
        (np.array([[2**53 + 1]]), True),
        (np.array([[-(2**53) - 1]]), True),
        (np.array([[2**64 - 1]], dtype=np.uint64), True),
        (np.array([[2**53]], dtype=np.uint64), False),
        (np.array([[np.iinfo(np.int64).min]]), True),
        (np.array([[1e300]]), False),
        (np.array([[2**31 - 1]], dtype=np.int32), False),
        (np.zeros((0, 2), dtype=np.int64), False),
    ],
)
def test_integers_that_float64_rounds(X, expected):
    assert rounds_integers(X) is expected
