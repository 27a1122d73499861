"""Partitions in memory as a source: each process has some of them, as frames or arrays."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sumwise.data.batches.agreement import agree
from sumwise.data.batches.sources import BATCH_ROWS, Batch, Source, open_batch, refuse_empty, select
from sumwise.data.frames.columns import Column
from sumwise.data.frames.reading import ColumnFrame
from sumwise.errors import DataError
from sumwise.peers import ALONE, Peers

# Kinds of dtypes that a matrix may have; strings, objects, dates and durations are read by columns.
_NUMBERS, _OTHERS = "buif", "OUTMm"


class PartsSource(Source):
    """Partitions of the rows, in ascending order of their numbers.

    Rows stay where they are: frames and arrays are not copied. A process may have no partition at
    all; it learns the columns from its peers.
    """

    has_types = True
    may_be_empty = True

    def __init__(
        self, parts: Sequence["Partition"], columns: Sequence[Any], dtype: np.dtype | None
    ) -> None:
        self.name = "X"
        self._parts, self._columns, self._dtype = parts, list(columns), dtype

    @classmethod
    def open(cls, parts: Sequence[tuple[int, Any]], peers: Peers = ALONE) -> "PartsSource":
        """Compare the columns of all peers' partitions.

        Parameters
        ----------
        parts : sequence of (int, X)
            The partitions of this process by their numbers, which are unique among all peers. X is
            a frame (pandas, polars or Arrow) or an array of two dimensions.
        peers : Peers
        """
        opened: list[Partition] = []

        def describe() -> _Description | None:
            opened.extend(Partition.open(number, X) for number, X in sorted(parts, key=_get_number))
            return _unite([part.describe() for part in opened])

        found = _unite([own for own in agree(peers, describe) if own is not None])
        if found is None:
            raise refuse_empty("X")
        return cls(opened, found.columns, found.dtype)

    @property
    def sizes(self) -> list[int]:
        """The number of rows of each partition."""
        return [part.n_rows for part in self._parts]

    @property
    def numbers(self) -> list[int]:
        """The number of each partition."""
        return [part.number for part in self._parts]

    def list_columns(self) -> list[Any]:
        return self._columns

    def read(self, columns: Sequence[Any] | None, batch_rows: int) -> Iterator[Batch]:
        wanted = self._columns if columns is None else list(columns)
        for part in self._parts:
            yield from part.read(wanted, batch_rows, self._dtype)

    def probe(self, columns: Sequence[Any]) -> Iterator[Batch]:
        """Yield all rows: a column of objects may hold anything anywhere."""
        for part in self._parts:
            yield from part.read(columns, BATCH_ROWS, self._dtype)


class _Description(NamedTuple):
    """What partitions have in common; ``dtype`` is that of arrays, None for frames."""

    numbers: list[int]
    columns: list[Any]
    dtype: np.dtype | None


class Partition(NamedTuple):
    """Some rows, and their place among all rows; ``X`` is an array or a frame of narwhals."""

    number: int
    X: Any

    @classmethod
    def open(cls, number: int, X: Any) -> "Partition":
        """Check a partition."""
        place = f"partition {number}"
        if not isinstance(X, np.ndarray):
            return cls(number, open_batch(X, place, "a frame of pandas or polars, or an array"))
        if X.ndim != 2:
            raise DataError(f"{place}: Expected 2D array, got {X.ndim}D array instead")
        if X.dtype.kind not in _NUMBERS + _OTHERS:
            raise DataError(f"{place}: X must be numeric; it has dtype {X.dtype}")
        if X.shape[1] == 0:
            raise DataError(
                f"{place}: Found array with 0 feature(s) (shape={X.shape}) while a minimum of 1 is "
                "required."
            )
        return cls(number, np.asarray(X))

    @property
    def n_rows(self) -> int:
        return len(self.X)

    def describe(self) -> _Description:
        """Return what other partitions must have, too."""
        if isinstance(self.X, np.ndarray):
            return _Description([self.number], list(range(self.X.shape[1])), self.X.dtype)
        return _Description([self.number], list(self.X.columns), None)

    def read(
        self, columns: Sequence[Any], batch_rows: int, dtype: np.dtype | None
    ) -> Iterator[Batch]:
        """Yield all rows; ``dtype`` is that of the arrays of all partitions."""
        kind = Batch if dtype is None else _MatrixBatch
        for first in range(0, self.n_rows, batch_rows):
            rows = self.X[first : first + batch_rows]
            if dtype is None:
                rows = select(rows, columns)
            elif dtype.kind in _NUMBERS:
                rows = rows.astype(dtype, copy=False)
            yield kind(rows, f"partition {self.number}", self.number)


class _MatrixBatch(Batch):
    """Rows of an array; its columns are numbered."""

    def read_column(self, name: Any) -> Column:
        return self.read_columns([name]).columns[0]

    def read_columns(self, names: Sequence[Any]) -> ColumnFrame:
        return ColumnFrame.from_array(self._take(names), names)

    def read_values(self, name: Any) -> np.ndarray:
        values: np.ndarray = self.frame[:, name]
        return values

    def read_matrix(self, names: Sequence[Any]) -> np.ndarray | None:
        return self._take(names) if self.frame.dtype.kind in _NUMBERS else None

    def _take(self, names: Sequence[Any]) -> np.ndarray:
        rows: np.ndarray = self.frame
        return rows if list(names) == list(range(rows.shape[1])) else rows[:, list(names)]


def _get_number(part: tuple[int, Any]) -> int:
    return part[0]


def _unite(parts: Sequence[_Description]) -> _Description | None:
    """Return what partitions have in common; raise DataError if their columns differ."""
    parts = sorted(parts, key=lambda own: own.numbers)
    if not parts:
        return None
    numbers = sorted(number for own in parts for number in own.numbers)
    for number, following in pairwise(numbers):
        if number == following:
            raise DataError(f"there are two partitions with the number {number}")
    for own in parts[1:]:
        _refuse_difference(parts[0], own)
    first = parts[0]._replace(numbers=numbers)
    if first.dtype is None:
        return first
    return first._replace(dtype=_find_common({own.dtype for own in parts}))


def _find_common(dtypes: set[Any]) -> np.dtype:
    """Return the type that one array of all numbers would have; object for anything else."""
    if len(dtypes) == 1:
        return np.dtype(*dtypes)
    is_numeric = all(dtype.kind in _NUMBERS for dtype in dtypes)
    return np.result_type(*dtypes) if is_numeric else np.dtype(object)


def _refuse_difference(first: _Description, own: _Description) -> None:
    """Raise DataError unless two partitions have the same columns, in any order."""
    place, known = f"partition {own.numbers[0]}", f"partition {first.numbers[0]}"
    if (own.dtype is None) != (first.dtype is None):
        kinds = ("a frame", "an array") if own.dtype is None else ("an array", "a frame")
        raise DataError(f"{place} is {kinds[0]}, and {known} is {kinds[1]}")
    if own.columns == first.columns:
        return
    if own.dtype is not None:
        raise DataError(
            f"{place} has {len(own.columns)} features, and {known} has {len(first.columns)}"
        )
    missing = set(first.columns) - set(own.columns)
    for name in first.columns:
        if name in missing:
            raise DataError(f"{place} has no column {name!r}, which {known} has")
    more = set(own.columns) - set(first.columns)
    for name in own.columns:
        if name in more:
            raise DataError(f"{place} has a column {name!r}, which {known} has not")
