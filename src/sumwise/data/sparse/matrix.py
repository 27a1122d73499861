"""SparseMatrix: a matrix that stores only the values that are not zero, or not missing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sumwise.data.dtypes import find_bits_type, find_float_type
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.sparse import columns as kernels
from sumwise.lazy import lazy

# Dense values made at a time where a sparse matrix is read as a dense one.
_CHUNK_VALUES = 1 << 22
_CHUNK_ROWS = 1 << 16


class Stored(NamedTuple):
    """Stored values by row or by column, as kernels read them.

    The values of line i are at ``[start[i], start[i + 1])``; ``place`` is the position of each
    value within its line.
    """

    start: np.ndarray  # int64 (n_lines + 1,)
    place: np.ndarray  # int32 (n_stored,), int64 beyond 2**31 rows or columns
    values: np.ndarray  # float32 or float64 (n_stored,)


class StoredColumns(NamedTuple):
    """Stored values by column, as kernels read them; column f starts at ``start[f]``.

    If few distinct values occur, ``values`` holds these and ``codes`` has the index of each entry.
    """

    start: np.ndarray  # int64 (n_columns + 1,)
    rows: np.ndarray  # int32 (n_stored,), ascending within a column
    values: np.ndarray  # float32 or float64 (n_stored,) or (n_distinct,)
    codes: np.ndarray  # uint8 (n_stored,) or empty


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A matrix of SciPy, by row or by column.

    :meth:`from_scipy` makes one that meets the requirements below.

    Attributes
    ----------
    given : csr or csc matrix or array of SciPy
        float32 or float64, with sorted indices and without duplicates.
    absent : float
        The value of everything that is not stored: 0 or NaN.
    """

    given: Any
    absent: float

    @classmethod
    def from_scipy(cls, given: Any, absent: float = 0.0) -> "SparseMatrix":
        """Wrap a matrix of SciPy, which is never changed and copied only if it is not canonical.

        Duplicate entries are summed, as in SciPy.
        """
        if given.format not in ("csr", "csc"):
            given = given.tocsr()
        # A new object on the same arrays: SciPy stores flags in the object it inspects.
        values = given.data.astype(find_float_type(given.dtype), copy=False)
        parts = (values, given.indices, given.indptr)
        matrix = type(given)(parts, shape=given.shape, copy=False)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        return cls(matrix, absent)

    @classmethod
    def from_any(cls, X: Any, absent: float) -> "SparseMatrix":
        """Convert any matrix; validation rows may come in another container than training rows."""
        if isinstance(X, SparseMatrix):
            return X
        return cls.from_dense(X if isinstance(X, np.ndarray) else X.convert(0, X.shape[0]), absent)

    @classmethod
    def from_dense(cls, X: np.ndarray, absent: float) -> "SparseMatrix":
        """Convert an array, some rows at a time."""
        from scipy.sparse import csr_matrix, vstack  # type: ignore[import-untyped]

        step = max(1, _CHUNK_VALUES // max(1, X.shape[1]))
        parts = []
        for first in range(0, X.shape[0], step):
            part = X[first : first + step].astype(find_float_type(X.dtype), copy=False)
            row, column = np.nonzero(~np.isnan(part) if np.isnan(absent) else part)
            start = np.searchsorted(row, np.arange(part.shape[0] + 1))
            parts.append(csr_matrix((part[row, column], column, start), shape=part.shape))
        return cls(vstack(parts, format="csr") if len(parts) > 1 else parts[0], absent)

    @classmethod
    def stack(cls, matrices: "Sequence[SparseMatrix]") -> "SparseMatrix":
        """Stack the rows of several matrices with the same absent value."""
        from scipy.sparse import vstack

        return cls(vstack([X.given for X in matrices], format="csr"), matrices[0].absent)

    @property
    def shape(self) -> tuple[int, int]:
        return self.given.shape

    @property
    def dtype(self) -> np.dtype:
        return self.given.dtype

    @property
    def size(self) -> int:
        """The cost of one pass over the matrix: its stored values and its rows."""
        return int(self.given.nnz) + self.shape[0]

    def sort_by_row(self) -> "SparseMatrix":
        """Return the same matrix by row, for code that takes rows repeatedly."""
        return SparseMatrix(self.given.tocsr(), self.absent)

    def __getitem__(self, rows: np.ndarray | slice) -> "SparseMatrix":
        """``matrix[rows]``: some of the rows."""
        return SparseMatrix(self.given.tocsr()[rows], self.absent)

    def sort_by_column(self) -> Stored:
        """Return the stored values by column."""
        return _take_arrays(self.given.tocsc())

    def read_columns(self, team: Team) -> StoredColumns:
        """Return the stored values by column, in little memory; :meth:`forget_columns` frees it."""
        kept = self.__dict__
        if "_columns" not in kept:
            if self.given.format == "csc":
                kept["_columns"] = StoredColumns(*self.sort_by_column(), _make_codes(0))
            else:
                kept["_columns"] = _turn_to_columns(self.by_row, self.shape[1], team)
        return kept["_columns"]

    def forget_columns(self) -> None:
        """Free the memory of :meth:`read_columns`."""
        self.__dict__.pop("_columns", None)

    @lazy
    def by_row(self) -> Stored:
        """The stored values by row."""
        return _take_arrays(self.given.tocsr())

    def find_ranges(self, is_used: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the minimum and maximum of each column: see :func:`matrix.find_ranges`."""
        (start, index, values), n_rows = self.sort_by_column(), self.shape[0]
        if is_used is not None:
            is_kept, n_rows = is_used[index], int(is_used.sum())
            start = np.append(0, np.cumsum(is_kept))[start]
            values = values[is_kept]
        n_stored = np.diff(start)
        absent = np.where(n_stored < n_rows, self.absent, np.nan)
        low, high = absent.copy(), absent.copy()
        some = np.flatnonzero(n_stored)
        if some.size:
            low[some] = np.fmin(low[some], np.fmin.reduceat(values, start[some]))
            high[some] = np.fmax(high[some], np.fmax.reduceat(values, start[some]))
        return low, high

    def convert(self, first: int, last: int, features: np.ndarray | None = None) -> np.ndarray:
        """Return some rows as a dense array, with some features or all."""
        part = self.given.tocsr()[first:last]
        if features is not None:
            part = part[:, features]
        if self.absent == 0:
            return part.toarray()
        dense = np.full(part.shape, self.absent, dtype=self.dtype)
        part = part.tocoo()
        dense[part.row, part.col] = part.data
        return dense

    def read_dense(self) -> Iterator[tuple[int, np.ndarray]]:
        """Yield (first row, dense rows), a few rows at a time."""
        rows = self.sort_by_row()
        step = max(1, min(_CHUNK_ROWS, _CHUNK_VALUES // max(1, self.shape[1])))
        for first in range(0, self.shape[0], step):
            yield first, rows.convert(first, min(first + step, self.shape[0]))


def _turn_to_columns(by_row: Stored, n_columns: int, team: Team) -> StoredColumns:
    """Transpose the stored values from rows to columns, coded if few distinct values occur."""
    row_start, column, values = by_row
    bits = values.view(find_bits_type(values.dtype))
    table = np.full(kernels.TABLE_SIZE, -1, dtype=np.int64)
    palette = np.zeros(kernels.MOST_CODES, dtype=bits.dtype)
    n_found = np.zeros(1, dtype=np.int64)
    kernels.find_palette(bits, table, palette, n_found)
    is_coded = n_found[0] <= kernels.MOST_CODES
    counts = np.empty((team.n_threads, n_columns), dtype=np.int64)
    team.run(kernels.count_by_column, row_start, column, counts)
    start = np.append(0, counts.sum(axis=0).cumsum())
    place = counts.cumsum(axis=0) - counts + start[:-1]
    rows = np.empty(bits.size, dtype=column.dtype)
    codes = _make_codes(bits.size if is_coded else 0)
    turned = np.empty(0 if is_coded else bits.size, dtype=bits.dtype)
    moved = (table, palette, place, rows, turned, codes)
    team.run(kernels.turn_to_columns, row_start, column, bits, *moved)
    found = palette[: n_found[0]] if is_coded else turned
    start, rows, found = _protect(start, rows, found.view(values.dtype))
    return StoredColumns(start, rows, found, codes)


def _make_codes(size: int) -> np.ndarray:
    return np.empty(size, dtype=np.uint8)


def _take_arrays(matrix: Any) -> Stored:
    """Return the arrays of a matrix in the types that kernels are compiled for."""
    index = matrix.indices
    if max(matrix.shape) <= np.iinfo(np.int32).max:
        index = index.astype(np.int32, copy=False)
    start = matrix.indptr.astype(np.int64, copy=False)
    return Stored(*_protect(start, index, matrix.data))


def _protect(*arrays: np.ndarray) -> list[np.ndarray]:
    """Return read-only views: kernels are compiled for read-only arrays."""
    views = [np.require(array, requirements=["C", "A"]).view() for array in arrays]
    for view in views:
        view.flags.writeable = False
    return views


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix or array of SciPy."""
    return hasattr(X, "tocsr") and hasattr(X, "nnz")
