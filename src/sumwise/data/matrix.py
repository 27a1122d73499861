"""Numeric matrices as flat views that kernels can read, without a copy where the type allows."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from sumwise.data.device_matrix import DeviceMatrix
from sumwise.data.dtypes import find_float_type
from sumwise.data.on_device import explain_place
from sumwise.data.sparse import SparseMatrix
from sumwise.errors import DataError

# Rows converted at a time, where a type needs conversion: this bounds the copy.
_CHUNK = 1 << 16
# float64 holds all integers up to here exactly.
EXACT_INTEGER = 1 << 53


class FlatMatrix(NamedTuple):
    """A matrix as kernels read it: ``values[i * row_stride + f * column_stride]``."""

    values: np.ndarray
    row_stride: int
    column_stride: int
    n_rows: int

    def take(self, first: int, last: int) -> "FlatMatrix":
        """Return rows [first, last) as a view."""
        return self._replace(values=self.values[first * self.row_stride :], n_rows=last - first)


@dataclass(frozen=True)
class ColumnMatrix:
    """A matrix of separate columns of any types.

    The columns are never converted as a whole: kernels read 65,536 rows at a time as floats.

    Attributes
    ----------
    columns : sequence of callables
        Each takes (first, last) and returns the numbers of these rows.
    n_rows : int
    dtype : dtype
        The type that numbers are read as, float32 or float64.
    """

    columns: Sequence[Callable[[int, int], np.ndarray]]
    n_rows: int
    dtype: np.dtype

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, len(self.columns)

    @property
    def size(self) -> int:
        return self.n_rows * len(self.columns)

    def __getitem__(self, key: tuple[slice, slice]) -> "ColumnMatrix":
        """``matrix[:, a:b]``: some of the columns."""
        rows, columns = key
        if rows != slice(None):
            raise IndexError("only columns can be taken out: matrix[:, a:b]")
        return replace(self, columns=self.columns[columns])

    def read_if_small(self) -> "Matrix":
        """Return an array if there are few rows, so that they are converted only once."""
        return self.convert(0, self.n_rows) if self.n_rows <= _CHUNK else self

    def convert(self, first: int, last: int) -> np.ndarray:
        """Return the numbers of some rows as an array in column order."""
        values = np.empty((len(self.columns), last - first), dtype=self.dtype)
        for own, read in zip(values, self.columns, strict=True):
            own[:] = read(first, last)
        return values.T


class StreamedMatrix(ABC):
    """A matrix outside of memory: its rows are read in order, in as many passes as needed.

    Attributes
    ----------
    shape : (int, int)
    dtype : dtype
        The type that numbers are read as, float32 or float64.
    """

    shape: tuple[int, int]
    dtype: np.dtype

    @property
    def size(self) -> int:
        return self.shape[0] * self.shape[1]

    @abstractmethod
    def read(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield (first row, numbers): parts of 65,536 rows, the last one may have fewer."""


DenseMatrix = np.ndarray | ColumnMatrix
Matrix = DenseMatrix | SparseMatrix


def read_chunks(X: Matrix | StreamedMatrix | DeviceMatrix) -> Iterator[tuple[int, FlatMatrix]]:
    """Yield (first row, flat view): all of X at once, or converted chunks of rows.

    Arrays of float32 and float64 are read in place, in any memory order and with any strides that
    are not negative. Everything else is converted one chunk at a time, so that X is never copied
    as a whole. The views are read-only: kernels are compiled for read-only arrays.
    """
    if isinstance(X, SparseMatrix):
        for first, part in X.read_dense():
            yield first, _flatten(part)
        return
    if isinstance(X, DeviceMatrix):
        raise DataError(f"{explain_place(X)}; what you ask for needs X in the memory of the host")
    if isinstance(X, StreamedMatrix):
        for first, part in X.read():
            yield first, _flatten(part)
        return
    if isinstance(X, ColumnMatrix):
        for first in range(0, X.n_rows, _CHUNK):
            yield first, _flatten(X.convert(first, min(first + _CHUNK, X.n_rows)))
        return
    kind = find_float_type(X.dtype)
    if X.dtype == kind and X.dtype.isnative and X.flags.aligned and min(X.strides) >= 0:
        yield 0, _flatten(X)
        return
    for first in range(0, X.shape[0], _CHUNK):
        yield first, _flatten(np.require(X[first : first + _CHUNK], kind, ["C", "ALIGNED"]))


def read_rows_in_order(X: DenseMatrix) -> Iterator[tuple[int, FlatMatrix]]:
    """Yield (first row, flat view) in which the values of a row follow one another."""
    for first, part in read_chunks(X):
        if part.column_stride == 1:
            yield first, part
            continue
        n_features = X.shape[1]
        for begin in range(0, part.n_rows, _CHUNK):
            n_rows = min(_CHUNK, part.n_rows - begin)
            strides = np.array([part.row_stride, part.column_stride]) * part.values.itemsize
            values = part.values[begin * part.row_stride :]
            rows = as_strided(values, (n_rows, n_features), tuple(strides), writeable=False)
            yield first + begin, _flatten(np.ascontiguousarray(rows))


def read_rows(X: Matrix, rows: np.ndarray) -> Iterator[tuple[int, FlatMatrix, int, np.ndarray]]:
    """Yield (first row, flat view, begin, own rows) for each chunk of X.

    The rows that lie in the chunk are ``rows[begin : begin + own.size]``; ``rows`` ascend.
    """
    for first, part in read_chunks(X):
        bounds = np.array([first, first + part.n_rows], dtype=rows.dtype)
        begin, end = np.searchsorted(rows, bounds).tolist()
        yield first, part, begin, rows[begin:end]


def _flatten(X: np.ndarray) -> FlatMatrix:
    """View the memory of an aligned matrix, from its first to its last item, as one array."""
    (n_rows, n_features), itemsize = X.shape, X.itemsize
    if X.flags.c_contiguous and type(X) is np.ndarray:
        flat = X.reshape(-1)  # for a single row, a strided view would take longer than its walk
        flat.flags.writeable = False
        return FlatMatrix(flat, n_features, 1, n_rows)
    row_stride, column_stride = X.strides[0] // itemsize, X.strides[1] // itemsize
    size = (n_rows - 1) * row_stride + (n_features - 1) * column_stride + 1 if X.size else 0
    values = as_strided(X, (size,), (itemsize,), writeable=False)
    return FlatMatrix(values, row_stride, column_stride, n_rows)


def stack_rows(matrices: Sequence[Matrix]) -> Matrix:
    """Stack matrices with the same columns."""
    if len(matrices) == 1:
        return matrices[0]
    sparse = [X for X in matrices if isinstance(X, SparseMatrix)]
    if sparse:
        return SparseMatrix.stack([SparseMatrix.from_any(X, sparse[0].absent) for X in matrices])
    dense = [X.convert(0, X.shape[0]) if isinstance(X, ColumnMatrix) else X for X in matrices]
    return np.concatenate([np.asarray(X) for X in dense])


def check_matrix(X: np.ndarray) -> None:
    """Raise DataError unless X is a matrix of numbers."""
    if X.ndim != 2:
        raise DataError(f"X must have two dimensions, rows and features; it has {X.ndim}")
    if X.dtype.kind not in "buif":
        raise DataError(f"X must be numeric; it has dtype {X.dtype}")


def rounds_integers(X: np.ndarray) -> bool:
    """Whether X has integers that float64 cannot hold exactly."""
    if X.dtype not in (np.int64, np.uint64) or X.size == 0:
        return False
    return int(X.max()) > EXACT_INTEGER or int(X.min()) < -EXACT_INTEGER


def find_ranges(X: Matrix, is_used: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the minimum and maximum of each column, NaN if all its values are missing.

    Only rows marked by ``is_used`` count; None for all.
    """
    if isinstance(X, SparseMatrix):
        return X.find_ranges(is_used)
    n_features = X.shape[1]
    low, high = np.full(n_features, np.nan), np.full(n_features, np.nan)
    for first in range(0, X.shape[0], _CHUNK):
        last = min(first + _CHUNK, X.shape[0])
        part = X[first:last] if isinstance(X, np.ndarray) else X.convert(first, last)
        if is_used is not None:
            part = part[is_used[first:last]]
        if part.shape[0]:
            low = np.fmin(low, np.fmin.reduce(part, axis=0))
            high = np.fmax(high, np.fmax.reduce(part, axis=0))
    return low, high
