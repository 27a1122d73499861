"""Thresholds and bins of sparse matrices: the same as of the dense ones, from what is stored."""

from dataclasses import dataclass

import numpy as np

from sumwise.data.sparse import SparseMatrix
from sumwise.data.thresholds import find_runs, threshold_between
from sumwise.kernels.predict.coding import round_down
from sumwise.kernels.runtime.sort import N_DIGIT_VALUES
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.binning import HASH_SIZE
from sumwise.kernels.table.sparse import binning as kernels

# Features looked at together: a bound for memory.
_FEATURES = 512


@dataclass(frozen=True)
class SparseBins:
    """The bins of a sparse table: a usual one for each feature, and the rows that have another.

    Attributes
    ----------
    start : ndarray of int64, shape (n_features + 1,)
        The entries of feature f are ``[start[f], start[f + 1])``.
    rows : ndarray of uint32
        Row of each entry, ascending within a feature.
    bins : ndarray of uint8
        Its bin.
    usual : ndarray of int64, shape (n_features,)
        The bin of all other rows.
    usable : ndarray of bool, shape (n_features,)
        Whether training rows lie in more than one bin.
    n_rows : int
        Rows of the table.
    """

    start: np.ndarray
    rows: np.ndarray
    bins: np.ndarray
    usual: np.ndarray
    usable: np.ndarray
    n_rows: int

    @property
    def n_features(self) -> int:
        return int(self.usual.size)

    @property
    def n_entries(self) -> np.ndarray:
        """Entries of each feature."""
        return np.diff(self.start)

    def entries(self, feature: int) -> slice:
        """Where the entries of a feature are."""
        return slice(int(self.start[feature]), int(self.start[feature + 1]))


def find_sparse_thresholds(
    X: SparseMatrix,
    rows: np.ndarray,
    sample: np.ndarray,
    weight: np.ndarray,
    max_bins: np.ndarray,
    team: Team,
) -> list[np.ndarray]:
    """Return the thresholds of each column, from ``rows``, or if need be from a sample of them.

    ``max_bins`` has the most bins of each column.
    """
    in_rows = np.zeros(X.shape[0], dtype=np.uint8)
    in_rows[rows] = 1
    zeros = X.absent == 0
    tables = np.empty((team.n_threads, HASH_SIZE), dtype=X.dtype)
    thresholds: list[np.ndarray] = []
    columns = X.read_columns(team)
    for first, last in find_runs(max_bins, _FEATURES):
        most = int(max_bins[first])
        distinct = np.full((last - first, most + 1), np.nan, dtype=X.dtype)
        n_distinct = np.zeros(last - first, dtype=np.int64)
        seen = (in_rows, rows.size, zeros, most, tables, distinct, n_distinct)
        team.run(kernels.find_sparse_distinct, *columns, first, *seen)
        width = min(int(n_distinct.max(initial=1)), most)
        distinct = np.sort(distinct, axis=1)
        low, high = distinct[:, : width - 1].copy(), distinct[:, 1:width].copy()
        n_thresholds = np.maximum(n_distinct - 1, 0)
        many = np.flatnonzero(n_distinct > most)
        if many.size:
            neighbors, n_ends = _cut(X, first + many, sample, weight, most, team)
            low[many], high[many], n_thresholds[many] = neighbors[:, 0], neighbors[:, 1], n_ends
        ends = threshold_between(low, high)
        thresholds += [own[:n].copy() for own, n in zip(ends, n_thresholds, strict=True)]
    return thresholds


def _cut(
    X: SparseMatrix,
    features: np.ndarray,
    sample: np.ndarray,
    weight: np.ndarray,
    max_bins: int,
    team: Team,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the values below and above each threshold of some columns, and how many there are."""
    bits = np.uint32 if X.dtype == np.float32 else np.uint64
    place = np.full(X.shape[0], -1, dtype=np.int32)
    place[sample] = np.arange(sample.size)
    # Of zeros there is one more.
    columns = X.read_columns(team)
    longest = 1 + min(int(np.diff(columns.start)[features].max()), sample.size)
    n_threads = team.n_threads
    neighbors = np.zeros((features.size, 2, max_bins - 1), dtype=bits)
    n_ends = np.empty(features.size, dtype=np.int64)
    team.run(
        kernels.cut_sparse_columns,
        *columns,
        features,
        place,
        sample.size,
        weight,
        X.absent == 0,
        max_bins,
        np.empty((n_threads, 2, longest), dtype=bits),
        np.empty((n_threads, 2, longest)),
        np.empty((n_threads, N_DIGIT_VALUES), dtype=np.uint32),
        np.zeros((n_threads, sample.size if weight.size else 0), dtype=np.uint8),
        neighbors,
        n_ends,
    )
    return neighbors.view(X.dtype), n_ends


def join_thresholds(
    thresholds: list[np.ndarray], absent: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return where the thresholds of each feature begin, all of them, and its usual bin."""
    sizes = np.array([ends.size for ends in thresholds], dtype=np.int64)
    ends = np.concatenate([np.empty(0), *thresholds])
    usual = np.zeros(sizes.size, dtype=np.int64)
    if absent == 0:
        owner = np.repeat(np.arange(sizes.size), sizes)
        usual += 1 + np.bincount(owner[ends < 0], minlength=sizes.size)
    return np.append(0, sizes.cumsum()), ends, usual


def map_sparse(
    thresholds: list[np.ndarray], matrices: list[SparseMatrix], team: Team
) -> SparseBins:
    """Return the bins of one or two matrices, the rows of the second after those of the first.

    The first has the training rows.
    """
    first_threshold, ends, usual = join_thresholds(thresholds, matrices[0].absent)
    mapped = [_map(X, first_threshold, ends, usual, team) for X in matrices]
    counts = np.array([count for _, count, _ in mapped])
    start = np.append(0, counts.sum(axis=0).cumsum())
    n_rows = sum(X.shape[0] for X in matrices)
    rows, bins = _keep_unusual(matrices, [own for own, _, _ in mapped], counts, start, usual, team)
    lowest, highest = mapped[0][2]
    some = counts[0] < matrices[0].shape[0]  # training rows with the usual bin
    usable = (counts[0] > 0) & (some | (lowest < highest))
    return SparseBins(start, rows, bins, usual, usable, n_rows)


def _keep_unusual(
    matrices: list[SparseMatrix],
    mapped: list[np.ndarray],
    counts: np.ndarray,
    start: np.ndarray,
    usual: np.ndarray,
    team: Team,
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and bins of what is stored and has not the usual bin, by column."""
    n_kept = int(start[-1])
    if len(matrices) == 1 and n_kept == mapped[0].size:  # all that is stored: no copy
        own_rows = matrices[0].read_columns(team).rows
        if own_rows.dtype == np.int32:
            matrices[0].forget_columns()
            return own_rows.view(np.uint32), mapped[0]
    rows, bins = np.empty(n_kept, dtype=np.uint32), np.empty(n_kept, dtype=np.uint8)
    place, first_row = start[:-1], 0
    for X, own, count in zip(matrices, mapped, counts, strict=True):
        begin, index = X.read_columns(team)[:2]
        X.forget_columns()  # of which the values take most memory
        kept = (own, usual, first_row, place, rows, bins)
        team.run(kernels.keep_unusual, begin, index, *kept)
        place, first_row = place + count, first_row + X.shape[0]
    rows.flags.writeable = False  # as above: kernels are compiled for one kind
    return rows, bins


def _map(
    X: SparseMatrix, first: np.ndarray, ends: np.ndarray, usual: np.ndarray, team: Team
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the bin of every stored value, and what map_sparse_bins tells of each feature."""
    columns = X.read_columns(team)
    bins = np.empty(columns.rows.size, dtype=np.uint8)
    n_unusual = np.empty(usual.size, dtype=np.int64)
    extremes = np.empty((2, usual.size), dtype=np.int64)
    rounded = round_down(ends, X.dtype)
    found = (usual, bins, n_unusual, extremes)
    team.run(kernels.map_sparse_bins, *columns, first, rounded, *found)
    return bins, n_unusual, extremes
