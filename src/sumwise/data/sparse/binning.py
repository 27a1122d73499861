"""Thresholds and bins of sparse matrices, from the stored values only.

The results equal those of the dense matrix.
"""

from dataclasses import dataclass

import numpy as np

from sumwise.data.dtypes import find_bits_type
from sumwise.data.sparse.matrix import SparseMatrix
from sumwise.data.thresholds import Neighbors, ThresholdRows, find_runs, place_thresholds
from sumwise.kernels.predict.coding import round_down
from sumwise.kernels.runtime.sort import N_DIGIT_VALUES
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.binning import HASH_SIZE
from sumwise.kernels.table.bundling import fill_plain_columns
from sumwise.kernels.table.sparse import binning as kernels

# Features processed at a time: this bounds the memory.
_FEATURES = 512


@dataclass(frozen=True)
class SparseBins:
    """The bins of a sparse table: a default bin per feature, and entries for all other rows.

    Attributes
    ----------
    start : ndarray of int64, shape (n_features + 1,)
        The entries of feature f are ``[start[f], start[f + 1])``.
    rows : ndarray of uint32
        The row of each entry, ascending within a feature.
    bins : ndarray of uint8
        The bin of each entry.
    default_bin : ndarray of int64, shape (n_features,)
        The bin of rows without an entry.
    usable : ndarray of bool, shape (n_features,)
        Whether training rows lie in more than one bin.
    n_rows : int
    """

    start: np.ndarray
    rows: np.ndarray
    bins: np.ndarray
    default_bin: np.ndarray
    usable: np.ndarray
    n_rows: int

    @property
    def n_features(self) -> int:
        return int(self.default_bin.size)

    @property
    def n_entries(self) -> np.ndarray:
        """The number of entries of each feature."""
        return np.diff(self.start)

    def entries(self, feature: int) -> slice:
        """Return the positions of the entries of a feature."""
        return slice(int(self.start[feature]), int(self.start[feature + 1]))

    def fill_columns(
        self, features: np.ndarray, place: np.ndarray, columns: np.ndarray, team: Team
    ) -> None:
        """Write the bins of some features to the columns at ``place``, one byte per row."""
        entries = (self.start, self.rows, self.bins, self.default_bin)
        team.run(fill_plain_columns, *entries, features, place, columns)


def find_sparse_thresholds(
    X: SparseMatrix, rows: ThresholdRows, max_bins: np.ndarray, team: Team
) -> list[np.ndarray]:
    """Return the thresholds of each column; ``max_bins`` has the most bins per column."""
    in_rows = np.zeros(X.shape[0], dtype=np.uint8)
    in_rows[rows.rows] = 1
    tables = np.empty((team.n_threads, HASH_SIZE), dtype=X.dtype)
    thresholds: list[np.ndarray] = []
    columns = X.read_columns(team)
    for first, last in find_runs(max_bins, _FEATURES):
        most = int(max_bins[first])
        distinct = np.full((last - first, most + 1), np.nan, dtype=X.dtype)
        n_distinct = np.zeros(last - first, dtype=np.int64)
        seen = (in_rows, rows.rows.size, X.absent == 0, most, tables, distinct, n_distinct)
        team.run(kernels.find_sparse_distinct, columns, first, *seen)

        def cut(many: np.ndarray, first: int = first, most: int = most) -> Neighbors:
            return _cut_quantiles(X, first + many, rows, most, team)

        thresholds += place_thresholds(distinct, n_distinct, most, cut)
    return thresholds


def _cut_quantiles(
    X: SparseMatrix, features: np.ndarray, rows: ThresholdRows, max_bins: int, team: Team
) -> Neighbors:
    """Cut some columns into bins of about equal weight."""
    bits, sample = find_bits_type(X.dtype), rows.sample
    place = np.full(X.shape[0], -1, dtype=np.int32)
    place[sample] = np.arange(sample.size)
    columns = X.read_columns(team)
    # Zeros that are not stored add one key.
    longest = 1 + min(int(np.diff(columns.start)[features].max()), sample.size)
    n_threads = team.n_threads
    neighbors = np.zeros((features.size, 2, max_bins - 1), dtype=bits)
    n_ends = np.empty(features.size, dtype=np.int64)
    team.run(
        kernels.cut_sparse_columns,
        columns,
        features,
        place,
        sample.size,
        rows.weight,
        X.absent == 0,
        max_bins,
        np.empty((n_threads, 2, longest), dtype=bits),
        np.empty((n_threads, 2, longest)),
        np.empty((n_threads, N_DIGIT_VALUES), dtype=np.uint32),
        np.zeros((n_threads, sample.size if rows.weight.size else 0), dtype=np.uint8),
        neighbors,
        n_ends,
    )
    values = neighbors.view(X.dtype)
    return values[:, 0], values[:, 1], n_ends


def join_thresholds(
    thresholds: list[np.ndarray], absent: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the start of each feature's thresholds, all thresholds, and the default bins."""
    sizes = np.array([ends.size for ends in thresholds], dtype=np.int64)
    ends = np.concatenate([np.empty(0), *thresholds])
    default_bin = np.zeros(sizes.size, dtype=np.int64)
    if absent == 0:
        owner = np.repeat(np.arange(sizes.size), sizes)
        default_bin += 1 + np.bincount(owner[ends < 0], minlength=sizes.size)
    return np.append(0, sizes.cumsum()), ends, default_bin


def map_sparse(
    thresholds: list[np.ndarray], matrices: list[SparseMatrix], team: Team
) -> SparseBins:
    """Return the bins of one or two matrices with the same features, one below the other.

    The first matrix has the training rows.
    """
    first_threshold, ends, default_bin = join_thresholds(thresholds, matrices[0].absent)
    mapped = [_map(X, first_threshold, ends, default_bin, team) for X in matrices]
    counts = np.array([count for _, count, _ in mapped])
    start = np.append(0, counts.sum(axis=0).cumsum())
    n_rows = sum(X.shape[0] for X in matrices)
    own_bins = [own for own, _, _ in mapped]
    rows, bins = _keep_entries(matrices, own_bins, counts, start, default_bin, team)
    lowest, highest = mapped[0][2]
    some = counts[0] < matrices[0].shape[0]  # training rows are in the default bin
    usable = (counts[0] > 0) & (some | (lowest < highest))
    return SparseBins(start, rows, bins, default_bin, usable, n_rows)


def _keep_entries(
    matrices: list[SparseMatrix],
    mapped: list[np.ndarray],
    counts: np.ndarray,
    start: np.ndarray,
    default_bin: np.ndarray,
    team: Team,
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and bins of the stored values outside the default bin, by column."""
    n_kept = int(start[-1])
    if len(matrices) == 1 and n_kept == mapped[0].size:  # all stored values: no copy
        own_rows = matrices[0].read_columns(team).rows
        if own_rows.dtype == np.int32:
            matrices[0].forget_columns()
            return own_rows.view(np.uint32), mapped[0]
    rows, bins = np.empty(n_kept, dtype=np.uint32), np.empty(n_kept, dtype=np.uint8)
    place, first_row = start[:-1], 0
    for X, own, count in zip(matrices, mapped, counts, strict=True):
        begin, index = X.read_columns(team)[:2]
        X.forget_columns()  # the values take most of the memory
        kept = (own, default_bin, first_row, place, rows, bins)
        team.run(kernels.keep_entries, begin, index, *kept)
        place, first_row = place + count, first_row + X.shape[0]
    rows.flags.writeable = False  # as above: kernels are compiled for read-only rows
    return rows, bins


def _map(
    X: SparseMatrix, first: np.ndarray, ends: np.ndarray, default_bin: np.ndarray, team: Team
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the bin of each stored value, and per feature the entries and extreme bins."""
    columns = X.read_columns(team)
    bins = np.empty(columns.rows.size, dtype=np.uint8)
    n_entries = np.empty(default_bin.size, dtype=np.int64)
    extremes = np.empty((2, default_bin.size), dtype=np.int64)
    rounded = round_down(ends, X.dtype)
    found = (default_bin, bins, n_entries, extremes)
    team.run(kernels.map_sparse_bins, columns, first, rounded, *found)
    return bins, n_entries, extremes
