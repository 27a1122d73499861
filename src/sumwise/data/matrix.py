"""Numeric matrices: views that kernels can read, without a copy where the type allows it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided

from sumwise.data.sparse import SparseMatrix
from sumwise.errors import DataError

# Rows converted at a time where a type needs conversion; keeps the copy small.
_CHUNK = 1 << 16
# Integers up to here are exact in float64.
EXACT_INTEGER = 1 << 53


class FlatMatrix(NamedTuple):
    """A matrix as kernels read it: ``values[i * row_stride + f * column_stride]``."""

    values: np.ndarray
    row_stride: int
    column_stride: int
    n_rows: int


@dataclass(frozen=True)
class ColumnMatrix:
    """A matrix whose columns are kept apart, of any types; read by chunks of rows.

    Attributes
    ----------
    columns : sequence of callables
        Each returns the numbers of the rows from ``first`` up to ``last`` of its column.
    n_rows : int
        Rows of every column.
    dtype : dtype
        The type to read numbers as, float32 or float64.
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
        """Return an array if it is no larger than a chunk: it is read once then, not many times."""
        return self.convert(0, self.n_rows) if self.n_rows <= _CHUNK else self

    def convert(self, first: int, last: int) -> np.ndarray:
        """Return the numbers of some rows, column after column in memory."""
        values = np.empty((len(self.columns), last - first), dtype=self.dtype)
        for own, read in zip(values, self.columns, strict=True):
            own[:] = read(first, last)
        return values.T


def find_float_type(dtype: np.dtype) -> type[np.float32 | np.float64]:
    """Return the type that values are read as: the smaller one where it holds them."""
    return np.float32 if dtype in (np.float16, np.float32) else np.float64


# What kernels read by :func:`read_chunks`.
DenseMatrix = np.ndarray | ColumnMatrix
Matrix = DenseMatrix | SparseMatrix


def read_chunks(X: Matrix) -> Iterator[tuple[int, FlatMatrix]]:
    """Yield (first row, flat view): all of X at once if float, converted row chunks otherwise.

    float32 and float64 are read in place, in any order and with any strides that do not go
    backwards; the rest is converted a chunk at a time, so that no second matrix of the size of X
    is made. The views are read-only: kernels are compiled for that one kind.
    """
    if isinstance(X, SparseMatrix):
        for first, part in X.read_dense():
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


def _flatten(X: np.ndarray) -> FlatMatrix:
    """View the memory from the first to the last item of an aligned matrix as one array."""
    (n_rows, n_features), itemsize = X.shape, X.itemsize
    row_stride, column_stride = X.strides[0] // itemsize, X.strides[1] // itemsize
    size = (n_rows - 1) * row_stride + (n_features - 1) * column_stride + 1 if X.size else 0
    values = as_strided(X, (size,), (itemsize,), writeable=False)
    return FlatMatrix(values, row_stride, column_stride, n_rows)


def stack_rows(matrices: Sequence[Matrix]) -> Matrix:
    """Return one matrix of the rows of all, which have the same columns."""
    if len(matrices) == 1:
        return matrices[0]
    sparse = [X for X in matrices if isinstance(X, SparseMatrix)]
    if sparse:
        return SparseMatrix.stack([SparseMatrix.from_any(X, sparse[0].absent) for X in matrices])
    dense = [X.convert(0, X.shape[0]) if isinstance(X, ColumnMatrix) else X for X in matrices]
    return np.concatenate([np.asarray(X) for X in dense])


def check_matrix(X: np.ndarray) -> None:
    """Refuse what is not a numeric matrix."""
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
    """Return the smallest and the largest value of each column, NaN where all are missing.

    ``is_used`` says which rows count; None for all.
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
