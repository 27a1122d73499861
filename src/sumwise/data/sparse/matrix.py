"""SparseMatrix: a matrix of which most values are the same, and only the others are stored."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.sparse import columns as kernels
from sumwise.lazy import lazy

# Values made at a time where a sparse matrix has to be read as a dense one.
_CHUNK_VALUES = 1 << 22
_CHUNK_ROWS = 1 << 16


class Stored(NamedTuple):
    """Stored values by row or by column, as kernels read them.

    Those of line i are ``[start[i], start[i + 1])``, and ``place`` is their place in the line.
    """

    start: np.ndarray  # int64 (n_lines + 1,)
    place: np.ndarray  # int32 (n_stored,): int64 in a matrix of more than 2**31 rows or columns
    values: np.ndarray  # float32 or float64 (n_stored,)


class StoredColumns(NamedTuple):
    """Stored values by column, as kernels read them: those of column f are from ``start[f]`` on.

    If there are codes, they tell which of the values an entry has.
    """

    start: np.ndarray  # int64 (n_columns + 1,)
    rows: np.ndarray  # int32 (n_stored,): ascending within a column
    values: np.ndarray  # float32 or float64 (n_stored,), or (n_different,)
    codes: np.ndarray  # uint8 (n_stored,) or empty


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """A matrix of numbers as SciPy keeps it, by row or by column.

    Make it by :meth:`from_scipy`, which sees to what the other methods rely on.

    Attributes
    ----------
    given : csr or csc matrix or array of SciPy
        float32 or float64, sorted, every place stored at most once.
    absent : float
        What places have that are not stored: 0 or NaN.
    """

    given: Any
    absent: float

    @classmethod
    def from_scipy(cls, given: Any, absent: float = 0.0) -> "SparseMatrix":
        """Wrap a matrix of SciPy; it is never changed, and copied only if something is wrong.

        Places that are stored several times get the sum, as SciPy has it.
        """
        if given.format not in ("csr", "csc"):
            given = given.tocsr()
        kind = np.float32 if given.dtype in (np.float16, np.float32) else np.float64
        # A new object on the same arrays: SciPy notes what it finds out about a matrix in it.
        parts = (given.data.astype(kind, copy=False), given.indices, given.indptr)
        matrix = type(given)(parts, shape=given.shape, copy=False)
        if not matrix.has_canonical_format:
            matrix = matrix.copy()
            matrix.sum_duplicates()
        return cls(matrix, absent)

    @classmethod
    def from_any(cls, X: Any, absent: float) -> "SparseMatrix":
        """Make one of any matrix: rows to validate on need not be of the kind of the others."""
        if isinstance(X, SparseMatrix):
            return X
        return cls.from_dense(X if isinstance(X, np.ndarray) else X.convert(0, X.shape[0]), absent)

    @classmethod
    def from_dense(cls, X: np.ndarray, absent: float) -> "SparseMatrix":
        """Make one of an array, a part of its rows at a time."""
        from scipy.sparse import csr_matrix, vstack  # type: ignore[import-untyped]

        kind = np.float32 if X.dtype in (np.float16, np.float32) else np.float64
        step = max(1, _CHUNK_VALUES // max(1, X.shape[1]))
        parts = []
        for first in range(0, X.shape[0], step):
            part = X[first : first + step].astype(kind, copy=False)
            row, column = np.nonzero(~np.isnan(part) if np.isnan(absent) else part)
            start = np.searchsorted(row, np.arange(part.shape[0] + 1))
            parts.append(csr_matrix((part[row, column], column, start), shape=part.shape))
        return cls(vstack(parts, format="csr") if len(parts) > 1 else parts[0], absent)

    @classmethod
    def stack(cls, matrices: "Sequence[SparseMatrix]") -> "SparseMatrix":
        """Make one of the rows of several, whose absent values are the same."""
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
        """What passes over the matrix cost: stored values, and rows."""
        return int(self.given.nnz) + self.shape[0]

    def sort_by_row(self) -> "SparseMatrix":
        """Return the same matrix, kept by row: where rows are taken out again and again."""
        return SparseMatrix(self.given.tocsr(), self.absent)

    def __getitem__(self, rows: np.ndarray | slice) -> "SparseMatrix":
        """``matrix[rows]``: some of the rows."""
        return SparseMatrix(self.given.tocsr()[rows], self.absent)

    def sort_by_column(self) -> Stored:
        """Return what is stored, column after column."""
        return _take_arrays(self.given.tocsc())

    def read_columns(self, team: Team) -> StoredColumns:
        """Return the same in little memory; it is kept until :meth:`forget_columns`."""
        kept = self.__dict__
        if "_columns" not in kept:
            if self.given.format == "csc":
                kept["_columns"] = StoredColumns(*self.sort_by_column(), _make_codes(0))
            else:
                kept["_columns"] = _turn_to_columns(self.by_row, self.shape[1], team)
        return kept["_columns"]

    def forget_columns(self) -> None:
        """Let the memory of :meth:`read_columns` go."""
        self.__dict__.pop("_columns", None)

    @lazy
    def by_row(self) -> Stored:
        """What is stored, row after row."""
        return _take_arrays(self.given.tocsr())

    def find_ranges(self, is_used: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the smallest and the largest value of each column, NaN where all are missing.

        ``is_used`` says which rows count; None for all.
        """
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
        """Return some rows as a dense array, of some features or all."""
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
    """Return what is stored by row as it is by column, with codes where few values are stored."""
    row_start, column, values = by_row
    bits = values.view(np.uint32 if values.dtype == np.float32 else np.uint64)
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
    """The arrays of a matrix, of types that kernels are compiled for."""
    index = matrix.indices
    if max(matrix.shape) <= np.iinfo(np.int32).max:
        index = index.astype(np.int32, copy=False)
    start = matrix.indptr.astype(np.int64, copy=False)
    return Stored(*_protect(start, index, matrix.data))


def _protect(*arrays: np.ndarray) -> list[np.ndarray]:
    """Return read-only views: kernels are compiled for that one kind."""
    views = [np.require(array, requirements=["C", "A"]).view() for array in arrays]
    for view in views:
        view.flags.writeable = False
    return views


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix or array of SciPy."""
    return hasattr(X, "tocsr") and hasattr(X, "nnz")
