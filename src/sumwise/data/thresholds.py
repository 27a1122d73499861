"""Thresholds between bins: how they are placed, and how they are found in dense matrices."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from sumwise.data.dtypes import find_bits_type, find_float_type
from sumwise.data.matrix import DenseMatrix, Matrix, read_rows
from sumwise.data.sparse import SparseMatrix
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.sort import N_DIGIT_VALUES
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.sampling.lowest_hashes import draw_lowest
from sumwise.kernels.sampling.peer_lowest import draw_lowest_among
from sumwise.kernels.table import binning as kernels
from sumwise.peers import Peers, Shards, add_up

# The most bins that one byte can number, besides bin 0 for missing values.
MAX_BINS = 255
# The most bins of a feature. More than MAX_BINS are kept as ranks.
MOST_BINS = (1 << 16) - 1
# Quantiles of larger data come from a sample of this many rows.
SAMPLE_ROWS = 200_000
# Features and sort keys processed at a time. Both limit the memory.
_FEATURES = 128
_KEYS = 1 << 21

# Values below and above each threshold of some features, and the number of thresholds of each.
Neighbors = tuple[np.ndarray, np.ndarray, np.ndarray]


class ThresholdRows(NamedTuple):
    """The rows that thresholds are found from, ascending.

    Distinct values come from all ``rows``, quantiles from a ``sample`` of them. ``weight`` has the
    weights of the sample; it is empty if all weights are one.
    """

    rows: np.ndarray
    sample: np.ndarray
    weight: np.ndarray

    @classmethod
    def draw(
        cls,
        rows: np.ndarray,
        sample_weight: np.ndarray | None,
        seed: int,
        team: Team,
        shards: Shards | None = None,
    ) -> "ThresholdRows":
        """Drop rows without weight, and draw a sample if there are many rows.

        With ``shards``, the sample is drawn from the rows of all peers; each has its own rows of
        it.
        """
        if sample_weight is not None and not sample_weight.min(initial=np.inf) > 0:
            rows = rows[sample_weight[rows] > 0]
        n_rows, is_weighted = rows.size, sample_weight is not None
        if shards is not None:
            n_rows, n_weighted = add_up(shards.peers, n_rows, int(is_weighted))
            is_weighted = n_weighted > 0
        sample = rows
        if n_rows > SAMPLE_ROWS:
            key = random.make_key(seed, random.BINNING, 0)
            if shards is None:
                sample = draw_lowest(key, rows, SAMPLE_ROWS, team).rows
            else:
                sample = draw_lowest_among(key, rows, SAMPLE_ROWS, shards, team).rows
        if sample_weight is not None:
            weight = sample_weight[sample]
        else:  # other peers may have weights
            weight = np.ones(sample.size if is_weighted else 0)
        return cls(rows, sample, weight)


def threshold_between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return t with low <= t < high, so that low goes left and high goes right.

    This is the midpoint if it qualifies. Below +inf it is the largest finite number, so that all
    finite values go left; above -inf it is -inf.
    """
    low, high = low.astype(np.float64), high.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        middle = (low + high) / 2
        middle = np.where(np.isfinite(middle), middle, low / 2 + high / 2)
    # Adjacent float64 values have no number between them: the lower one is the threshold.
    middle = np.where((low <= middle) & (middle < high), middle, low)
    middle = np.where(np.isneginf(low), low, middle)
    return np.where(np.isposinf(high), np.finfo(np.float64).max, middle)


def find_runs(values: np.ndarray, longest: int) -> Iterator[tuple[int, int]]:
    """Yield runs of equal neighbors as (first, last), each of at most ``longest`` items."""
    start = 0
    for end in [*(np.flatnonzero(np.diff(values)) + 1).tolist(), values.size]:
        for first in range(start, end, longest):
            yield first, min(first + longest, end)
        start = end


def place_thresholds(
    distinct: np.ndarray,
    n_distinct: np.ndarray,
    max_bins: int,
    cut: Callable[[np.ndarray], Neighbors],
) -> list[np.ndarray]:
    """Return the thresholds of each feature from its distinct values.

    ``distinct`` holds up to ``max_bins + 1`` values per feature, filled up with NaN. Features with
    more than ``max_bins`` values are passed to ``cut``, which places their thresholds by quantiles.
    """
    distinct = np.sort(distinct, axis=1)
    width = min(int(n_distinct.max(initial=1)), max_bins)
    low, high = distinct[:, : width - 1].copy(), distinct[:, 1:width].copy()
    n_thresholds = np.maximum(n_distinct - 1, 0)
    many = np.flatnonzero(n_distinct > max_bins)
    if many.size:
        low[many], high[many], n_thresholds[many] = cut(many)
    return list_thresholds(low, high, n_thresholds)


def list_thresholds(low: np.ndarray, high: np.ndarray, sizes: np.ndarray) -> list[np.ndarray]:
    """Return the thresholds between neighboring values, one array per feature."""
    return [own[:n].copy() for own, n in zip(threshold_between(low, high), sizes, strict=True)]


def find_dense_thresholds(
    X: DenseMatrix, rows: ThresholdRows, max_bins: np.ndarray, team: Team
) -> list[np.ndarray]:
    """Return the thresholds of each column; columns with ``max_bins`` 0 have none."""
    thresholds = [np.empty(0)] * X.shape[1]
    for first, last in find_runs(max_bins, _FEATURES):
        own, most = X[:, first:last], int(max_bins[first])
        if most > MAX_BINS:
            thresholds[first:last] = find_many_thresholds(own, rows, most, team)
        elif most:
            thresholds[first:last] = _find_few_thresholds(own, rows, most, team)
    return thresholds


def _find_few_thresholds(
    X: DenseMatrix, rows: ThresholdRows, max_bins: int, team: Team
) -> list[np.ndarray]:
    """Return thresholds for bins of one byte."""
    values = DistinctValues.allocate(X.shape[1], max_bins, X.dtype, team)
    values.add(X, rows.rows, team)

    def cut(many: np.ndarray) -> Neighbors:
        return cut_quantiles(X, many, rows.sample, rows.weight, max_bins, team)

    return values.place_thresholds(cut)


class DistinctValues(NamedTuple):
    """The distinct values of columns, at most one more than bins; the rows may come in parts."""

    max_bins: int
    tables: np.ndarray
    values: np.ndarray
    n_values: np.ndarray

    @classmethod
    def allocate(
        cls, n_features: int, max_bins: int, dtype: DTypeLike, team: Team
    ) -> "DistinctValues":
        """Return empty tables for columns of a type; a byte must hold the number of bins."""
        shape, kind = (team.n_threads, n_features), find_float_type(dtype)
        tables = np.full((*shape, kernels.HASH_SIZE), np.nan, dtype=kind)
        values = np.full((*shape, max_bins + 1), np.nan, dtype=kind)
        return cls(max_bins, tables, values, np.zeros(shape, dtype=np.int64))

    def add(self, X: DenseMatrix, rows: np.ndarray, team: Team) -> None:
        """Add the values of some rows of X, which ascend."""
        for first, part, _, own in read_rows(X, rows):
            team.run(kernels.find_distinct, part, first, own, *self)

    @property
    def is_full(self) -> bool:
        """Whether every column has more values than bins: further rows change nothing."""
        return bool((self.n_values[0] > self.max_bins).all())

    def drop_tables(self) -> "DistinctValues":
        """Return the values without the hash tables, which only :meth:`add` needs."""
        return self._replace(tables=self.tables[:0].copy(), values=self.values[:1].copy())

    def unite(self, peers: Peers) -> "DistinctValues":
        """Return the values of all peers, up to one more than bins; no rows can be added to them.

        Each peer sends ``max_bins + 1`` values per column.
        """
        if peers.size == 1:
            return self
        every = np.sort(np.concatenate(peers.gather(self.values[0]), axis=1), axis=1)
        is_new = ~np.isnan(every)  # which are at the end
        is_new[:, 1:] &= every[:, 1:] != every[:, :-1]
        is_new &= is_new.cumsum(axis=1) <= self.max_bins + 1
        n_values = np.count_nonzero(is_new, axis=1)
        values = np.full_like(self.values[:1], np.nan)
        values[0, np.arange(self.max_bins + 1) < n_values[:, None]] = every[is_new]
        return self._replace(tables=self.tables[:0], values=values, n_values=n_values[None])

    def place_thresholds(self, cut: Callable[[np.ndarray], Neighbors]) -> list[np.ndarray]:
        """Return the thresholds of each column; see :func:`place_thresholds`."""
        return place_thresholds(self.values[0], self.n_values[0], self.max_bins, cut)


def find_many_thresholds(
    X: DenseMatrix, rows: ThresholdRows, max_bins: int, team: Team
) -> list[np.ndarray]:
    """Return thresholds for more bins than a byte can number: all values are sorted."""
    found = []
    # As many columns at a time as threads: distinct values may take much memory.
    for first in range(0, X.shape[1], team.n_threads):
        features = np.arange(first, min(first + team.n_threads, X.shape[1]))
        exact = cut_quantiles(X, features, rows.rows, np.empty(0), rows.rows.size, team)
        thresholds = list_thresholds(*exact)
        many = np.flatnonzero(exact[2] >= max_bins)
        if many.size:
            cut = cut_quantiles(X, features[many], rows.sample, rows.weight, max_bins, team)
            for k, own in zip(many, list_thresholds(*cut), strict=True):
                thresholds[k] = own
        found += thresholds
    return found


def cut_quantiles(
    X: DenseMatrix,
    features: np.ndarray,
    rows: np.ndarray,
    weight: np.ndarray,
    max_bins: int,
    team: Team,
) -> Neighbors:
    """Cut some columns into bins of about equal weight."""
    kind, bits = find_float_type(X.dtype), find_bits_type(X.dtype)
    groups = group_features(features.size, rows.size, team)
    n_busy = min(team.n_threads, groups[0].stop)
    keys = np.empty((groups[0].stop, rows.size), dtype=bits)
    spare_keys = np.empty((n_busy, rows.size), dtype=bits)
    weights = np.empty((n_busy, 2, rows.size))
    # The counters of the sort, then the positions of the thresholds.
    counters = np.empty((n_busy, max(N_DIGIT_VALUES, max_bins)), dtype=np.uint32)
    neighbors = np.zeros((features.size, 2, max(max_bins, 1) - 1), dtype=bits)
    n_ends = np.empty(features.size, dtype=np.int64)
    scratch = (spare_keys, weights, counters)
    for group in groups:
        gather_keys(X, features[group], rows, keys, team)
        found = (neighbors[group], n_ends[group])
        team.run(kernels.cut_columns, keys, weight, max_bins, *scratch, *found)
    values = neighbors.view(kind)
    return values[:, 0], values[:, 1], n_ends


def group_features(n_features: int, n_rows: int, team: Team) -> list[slice]:
    """Split features into groups that are sorted together, with work for every thread."""
    n_groups = -(-n_features // max(team.n_threads, _KEYS // max(1, n_rows)))
    if not n_groups:
        return []
    width = -(-n_features // n_groups)
    return [slice(first, first + width) for first in range(0, n_features, width)]


def gather_keys(
    X: Matrix, features: np.ndarray, rows: np.ndarray, keys: np.ndarray, team: Team
) -> None:
    """Write the sort keys of some columns and rows of X, one column after the other."""
    if not isinstance(X, SparseMatrix):  # convert no other columns
        X, features = X[:, features[0] : features[-1] + 1], features - features[0]
    for first, part, begin, own in read_rows(X, rows):
        team.run(kernels.gather_keys, part, first, own, begin, features, keys)
