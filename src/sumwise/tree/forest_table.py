"""The binned tables that all trees of a forest share: one byte per value, or entries."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from sumwise.data.binning import BinMapper
from sumwise.data.matrix import Matrix, find_ranges
from sumwise.data.sizes import count_bytes
from sumwise.data.sparse import SparseMatrix
from sumwise.data.sparse.binning import SparseBins, map_sparse
from sumwise.kernels.forest.layout import N_BINS
from sumwise.kernels.runtime.threads import Team
from sumwise.lazy import lazy

# Features may be infinite, but no cut can be drawn between infinities.
_LARGEST_CENTER = np.finfo(np.float64).max
_BLOCK = 64
# A sparse matrix with a larger share of stored values is a table of bytes.
_MOST_STORED = 0.1


@dataclass(frozen=True)
class RowTable:
    """The binned table by row.

    Attributes
    ----------
    bins : ndarray of uint8, shape (n_rows, n_features)
    n_bins : ndarray of int64
        Number of bins of each feature, including bin 0.
    usable : ndarray of int32
        Features with more than one bin in use.
    low, high : ndarray of float64
        Smallest and largest value of each feature; random cuts are drawn between them.
    mapper : BinMapper
        The source of the bins.
    """

    bins: np.ndarray
    n_bins: np.ndarray
    usable: np.ndarray
    low: np.ndarray
    high: np.ndarray
    mapper: BinMapper

    @classmethod
    def from_matrix(
        cls, X: Matrix, mapper: BinMapper, team: Team, weight: np.ndarray | None = None
    ) -> "RowTable":
        """Bin a matrix; rows of weight zero do not affect which features are usable."""
        bins, is_used = mapper.map_to_rows(X, team), _find_used(weight)
        seen = bins if is_used is None else bins[is_used]
        usable = np.flatnonzero(seen.min(axis=0) < seen.max(axis=0)).astype(np.int32)
        return cls(bins, mapper.count_bins() + 1, usable, *find_ranges(X, is_used), mapper)

    @property
    def n_rows(self) -> int:
        return int(self.bins.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.bins.shape[1])

    def __sizeof__(self) -> int:
        return count_bytes(list(self.__getstate__().values()))

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: what is derived from them is not pickled."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @lazy
    def by_column(self) -> np.ndarray:
        """All bins, column after column."""
        columns = np.empty((self.n_features, self.n_rows), dtype=np.uint8)
        for first in range(0, self.n_rows, _BLOCK):  # a block stays in the cache
            columns[:, first : first + _BLOCK] = self.bins[first : first + _BLOCK].T
        return columns.reshape(-1)

    @lazy
    def has_missing(self) -> np.ndarray:
        """Whether each feature has missing values."""
        return self.bins.min(axis=0) == 0

    @lazy
    def centers(self) -> np.ndarray:
        return _find_centers(self.mapper.thresholds, self.low, self.high)


@dataclass(frozen=True, eq=False)
class EntryTable:
    """The binned table of a sparse matrix: only what is not in the default bin of a feature.

    Attributes
    ----------
    matrix : SparseMatrix
    entries : SparseBins
    n_bins, usable, low, high, mapper
        As in :class:`RowTable`.
    """

    matrix: SparseMatrix
    entries: SparseBins
    n_bins: np.ndarray
    usable: np.ndarray
    low: np.ndarray
    high: np.ndarray
    mapper: BinMapper

    @classmethod
    def from_matrix(
        cls, X: SparseMatrix, mapper: BinMapper, team: Team, weight: np.ndarray | None = None
    ) -> "EntryTable":
        """Bin a matrix; rows of weight zero do not affect which features are usable."""
        entries, is_used = map_sparse(mapper.thresholds, [X], team), _find_used(weight)
        low, high = _find_bin_ranges(entries, is_used)
        usable = np.flatnonzero(low < high).astype(np.int32)
        return cls(X, entries, mapper.count_bins() + 1, usable, *find_ranges(X, is_used), mapper)

    @property
    def n_rows(self) -> int:
        return self.entries.n_rows

    @property
    def n_features(self) -> int:
        return self.entries.n_features

    def __sizeof__(self) -> int:
        return count_bytes(list(self.__getstate__().values()))

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: what is derived from them is not pickled."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @lazy
    def by_row(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The entries by row: the start of each row, features, and bins."""
        from scipy.sparse import csc_matrix  # type: ignore[import-untyped]

        own = self.entries
        parts = (own.bins, own.rows.view(np.int32), own.start)
        by_row = csc_matrix(parts, shape=(own.n_rows, own.n_features)).tocsr()
        start = by_row.indptr.astype(np.int64, copy=False)
        return start, by_row.indices.astype(np.int32, copy=False), by_row.data

    @lazy
    def as_rows(self) -> RowTable:
        """The same table with one byte per value."""
        bins = self.mapper.map_to_rows(self.matrix, Team(1))
        return RowTable(bins, self.n_bins, self.usable, self.low, self.high, self.mapper)

    @property
    def bins(self) -> np.ndarray:
        """One byte per value, by row."""
        return self.as_rows.bins

    @lazy
    def has_missing(self) -> np.ndarray:
        """Whether each feature has missing values."""
        return _find_bin_ranges(self.entries, None)[0] == 0

    @lazy
    def centers(self) -> np.ndarray:
        return _find_centers(self.mapper.thresholds, self.low, self.high)


def bin_table(
    X: Matrix,
    mapper: BinMapper,
    team: Team,
    weight: np.ndarray | None = None,
    is_exact: bool = True,
) -> RowTable | EntryTable:
    """Return the table that takes less time: entries if few values are stored, else bytes.

    Trees are grown on entries only if their sums are exact; see ``sums_exactly``.
    """
    n_rows, n_features = X.shape
    if is_exact and isinstance(X, SparseMatrix):
        n_stored = X.size - n_rows
        if n_stored <= _MOST_STORED * n_rows * n_features:
            return EntryTable.from_matrix(X, mapper, team, weight)
    return RowTable.from_matrix(X, mapper, team, weight)


def _find_used(weight: np.ndarray | None) -> np.ndarray | None:
    """Return which rows have weight; None if all have."""
    return None if weight is None or weight.all() else weight > 0


def _find_bin_ranges(
    entries: SparseBins, is_used: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lowest and the highest bin of each feature in the rows that are used."""
    start, bins, n_rows = entries.start, entries.bins, entries.n_rows
    if is_used is not None:
        is_kept, n_rows = is_used[entries.rows], int(is_used.sum())
        start, bins = np.append(0, np.cumsum(is_kept))[start], bins[is_kept]
    n_entries = np.diff(start)
    low = np.where(n_entries < n_rows, entries.default_bin, N_BINS)
    high = np.where(n_entries < n_rows, entries.default_bin, -1)
    some = np.flatnonzero(n_entries)
    if some.size:
        low[some] = np.minimum(low[some], np.minimum.reduceat(bins, start[some]))
        high[some] = np.maximum(high[some], np.maximum.reduceat(bins, start[some]))
    return low, high


def _find_centers(thresholds: list[np.ndarray], lows: np.ndarray, highs: np.ndarray) -> np.ndarray:
    """Return the center of each bin, (n_features, N_BINS): half way between its thresholds.

    The first and the last bin have only one threshold: their centers are the ends of the range.
    Centers ascend. If there is no float between some thresholds, they are the numbers of bins.
    """
    sizes = np.array([ends.size for ends in thresholds], dtype=np.int64)
    centers = np.zeros((sizes.size, N_BINS))
    some = np.flatnonzero(sizes)
    if some.size == 0:
        return centers
    ends, last = np.concatenate(thresholds), sizes.cumsum()[some] - 1
    first = last - sizes[some] + 1
    halves = np.clip(ends, -_LARGEST_CENTER, _LARGEST_CENTER) / 2  # no sum overflows
    owner = np.repeat(np.arange(sizes.size), sizes)
    # Bin 1 lies before the first threshold of a feature, bin 2 after it.
    place = owner * N_BINS + 1 + np.arange(ends.size) - np.repeat(first, sizes[some])
    flat = centers.reshape(-1)
    flat[place[1:]] = halves[:-1] + halves[1:]
    low, high = lows[some], highs[some]
    low = np.where(ends[first] < low, ends[first], low)
    high = np.where(ends[last] > high, ends[last], high)
    flat[place[first]] = np.clip(low, -_LARGEST_CENTER, _LARGEST_CENTER)
    flat[place[last] + 1] = np.clip(high, -_LARGEST_CENTER, _LARGEST_CENTER)
    for f in np.unique(owner[flat[place + 1] <= flat[place]]):
        centers[f, 1 : sizes[f] + 2] = np.arange(sizes[f] + 1)
    return centers
