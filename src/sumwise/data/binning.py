"""Where the bins of each feature end, and the mapping of values to bins."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sumwise.data.binned import BinnedData
from sumwise.data.bundling import Bundling
from sumwise.data.categories.bins import CategoryBins, check_number, collect_categories
from sumwise.data.categories.set_splits import Native
from sumwise.data.matrix import DenseMatrix, Matrix, find_float_type, read_chunks
from sumwise.data.sparse import SparseMatrix
from sumwise.data.sparse.binning import find_sparse_thresholds, map_sparse
from sumwise.data.sparse.byte_tables import map_sparse_columns, map_sparse_parts, map_sparse_rows
from sumwise.data.thresholds import find_runs, threshold_between
from sumwise.kernels.predict.coding import round_down
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.sort import N_DIGIT_VALUES
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table import binning as kernels
from sumwise.kernels.table.binning import GROUP
from sumwise.kernels.table.category_bins import count_categories, map_categories
from sumwise.kernels.table.tiles import interleave_columns

# Of tables that keep a byte of a value, and of those that keep ranks.
MAX_BINS = 255
MOST_BINS = (1 << 16) - 1
# Quantiles are taken from this many rows of a larger data set.
SAMPLE_ROWS = 200_000
# Features looked at together, and values of them sorted together: bounds for memory.
_FEATURES = 128
_KEYS = 1 << 21


@dataclass(frozen=True)
class BinMapper:
    """The thresholds of every feature; a value belongs to the first bin whose threshold is not
    below it. Bin 0 is for missing values.

    Attributes
    ----------
    thresholds : list of ndarray
        Ascending float64 thresholds, one array a feature; none of a categorical one.
    categories : dict of int to CategoryBins
        The bins of categorical features.
    native : Native
        How their splits are chosen.
    """

    thresholds: list[np.ndarray]
    categories: dict[int, CategoryBins] = field(default_factory=dict)
    native: Native = field(default_factory=Native)

    @classmethod
    def fit(
        cls,
        X: Matrix,
        max_bins: int | np.ndarray = MAX_BINS,
        sample_weight: np.ndarray | None = None,
        rows: np.ndarray | None = None,
        seed: int = 0,
        team: Team | None = None,
        n_categories: np.ndarray | None = None,
        native: Native | None = None,
        only_bytes: bool = False,
    ) -> "BinMapper":
        """Find the thresholds from ``rows`` of X, which ascend.

        A feature with at most ``max_bins`` distinct values gets a bin for each. Otherwise the
        bins hold about equal weight, measured on a sample if the data is large. ``max_bins`` is one
        number, or an array with one for each feature.

        ``n_categories`` is 0 for a numeric feature; the values of any other are codes below it.
        With ``only_bytes`` categories have bins of a byte, the most frequent ones, and ``native``
        does not matter.
        """
        team = Team(1) if team is None else team
        # Of the smallest types of NumPy there is no 255 + 1.
        max_bins = np.broadcast_to(np.asarray(max_bins, dtype=np.int64), X.shape[1])
        rows = np.arange(X.shape[0], dtype=np.uint32) if rows is None else rows
        if sample_weight is not None:
            rows = rows[sample_weight[rows] > 0]
        sample = rows
        if rows.size > SAMPLE_ROWS:
            sample = np.empty(SAMPLE_ROWS, dtype=np.uint32)
            random.choose_rows(random.make_key(seed, random.BINNING, 0), rows, sample)
        weight = np.empty(0) if sample_weight is None else sample_weight[sample]
        if n_categories is None:
            n_categories = np.zeros(X.shape[1], dtype=np.int64)
        check_number(n_categories)
        native = Native() if native is None else native
        if isinstance(X, SparseMatrix):
            found = (rows, sample, weight, max_bins, team)
            return cls(_find_sparse_thresholds(X, *found), {}, native)
        thresholds = [np.empty(0)] * X.shape[1]
        for first, last in find_runs(np.where(n_categories > 0, 0, max_bins), _FEATURES):
            if n_categories[first] == 0:
                own = (X[:, first:last], rows, sample, weight, int(max_bins[first]), team)
                thresholds[first:last] = _find_thresholds(*own)
        categories = cls.fit_categories(X, rows, n_categories, team, native, only_bytes)
        return cls(thresholds, categories, native)

    @staticmethod
    def fit_categories(
        X: Matrix,
        rows: np.ndarray,
        n_categories: np.ndarray,
        team: Team,
        native: Native | None = None,
        only_bytes: bool = False,
    ) -> dict[int, CategoryBins]:
        """Find the bins of categorical features alone; see :meth:`fit`."""
        native = Native() if native is None else native
        counts = _count_categories(X, rows, n_categories, team)
        return {
            f: CategoryBins.from_most_frequent(own)
            if only_bytes
            else CategoryBins.from_counts(own, native)
            for f, own in counts.items()
        }

    def transform(
        self,
        X: Matrix,
        team: Team,
        X_val: Matrix | None = None,
        bundling: Bundling | None = None,
        rows: np.ndarray | None = None,
        min_rows: int = 1,
        alone: np.ndarray | None = None,
    ) -> BinnedData:
        """Map all of X to bins, and after it the rows of X_val, which only get scores.

        No matrix of both is made. Features that no split parts into ``min_rows`` of the ``rows`` of
        X on both sides are in the table for nothing but their columns; None for all rows of X.
        Features that are to be ``alone`` share no byte with others; the table is dense then,
        whatever X is.
        """
        if rows is None:
            rows = np.arange(X.shape[0], dtype=np.uint32)
        if isinstance(X, SparseMatrix) and alone is None:
            matrices = [X] if X_val is None else [X, SparseMatrix.from_any(X_val, X.absent)]
            bins = map_sparse(self.thresholds, matrices, team)
            screened = (rows, min_rows)
            return BinnedData.from_sparse(bins, self.count_bins(), team, bundling, *screened)
        n_rows, n_features = X.shape
        n_val = 0 if X_val is None else X_val.shape[0]
        columns = np.empty((n_features, n_rows + n_val), dtype=np.uint8)
        n_wide = sum(bins.is_wide for bins in self.categories.values())
        wide = np.empty((n_wide, n_rows + n_val), dtype=np.uint32)
        self._write_bins(X, columns, wide, 0, team)
        if X_val is not None:
            self._write_bins(X_val, columns, wide, n_rows, team)
        categories = None
        if self.categories:
            categories = collect_categories(self.categories, wide, n_features, self.native)
        own = (rows, categories, min_rows, alone)
        return BinnedData.from_columns(columns, self.count_bins(), team, *own)

    def map_to_rows(self, X: Matrix, team: Team) -> np.ndarray:
        """Return the bins of X by row, uint8 of shape (n_rows, n_features).

        For mappers whose categories have bins of a byte.
        """
        if isinstance(X, SparseMatrix):
            return map_sparse_rows(self.thresholds, X, team)
        columns = self._fill_columns(X, team)
        rows = np.empty(X.shape, dtype=np.uint8)
        team.run(interleave_columns, columns, rows.reshape(-1))
        return rows

    def map_parts(self, X: Matrix, team: Team) -> Iterator[tuple[int, np.ndarray]]:
        """Yield (first row, bins by row): all at once; of a sparse matrix, some rows at a time."""
        if isinstance(X, SparseMatrix):
            return map_sparse_parts(self.thresholds, X, team)
        return iter([(0, self.map_to_rows(X, team))])

    def map_to_columns(self, X: Matrix, team: Team) -> tuple[np.ndarray, np.ndarray]:
        """Return the bins of X by column, uint8, and which features the columns are of.

        Features whose rows all lie in one bin may be left out. For mappers without categories.
        """
        if isinstance(X, SparseMatrix):
            return map_sparse_columns(self.thresholds, X, team)
        return self._fill_columns(X, team), np.arange(X.shape[1])

    def _fill_columns(self, X: DenseMatrix, team: Team) -> np.ndarray:
        """Return the bins by column, of features that have bins of a byte."""
        n_rows, n_features = X.shape
        columns = np.empty((n_features, n_rows), dtype=np.uint8)
        self._write_bins(X, columns, np.empty((0, n_rows), dtype=np.uint32), 0, team)
        return columns

    @property
    def has_many_bins(self) -> bool:
        """Whether a numeric feature has more bins than a byte can tell apart."""
        return any(ends.size >= MAX_BINS for ends in self.thresholds)

    def count_bins(self) -> np.ndarray:
        """Return the bins of each feature beyond bin 0 (int64)."""
        n_value_bins = np.array([t.size + 1 for t in self.thresholds], dtype=np.int64)
        for f, bins in self.categories.items():
            n_value_bins[f] = bins.n_summed
        return n_value_bins

    def _write_bins(
        self, X: Matrix, columns: np.ndarray, wide: np.ndarray, begin: int, team: Team
    ) -> None:
        """Write the bins of X, from row ``begin`` on: to the columns, or to ``wide``."""
        padded = np.full((X.shape[1], GROUP + GROUP**2), np.inf)
        for f, ends in enumerate(self.thresholds):
            padded[f, GROUP : GROUP + ends.size] = ends
        padded[:, :GROUP] = padded[:, 2 * GROUP - 1 :: GROUP]
        rounded = round_down(padded, np.dtype(find_float_type(X.dtype)))
        for first, part in read_chunks(X):
            team.run(kernels.map_to_bins, *part, begin + first, rounded, columns)
        narrow_features = [f for f, bins in self.categories.items() if not bins.is_wide]
        wide_features = [f for f, bins in self.categories.items() if bins.is_wide]
        self._map_categories(X, narrow_features, narrow_features, columns, begin, team)
        self._map_categories(X, wide_features, range(len(wide_features)), wide, begin, team)

    def write_categories(self, X: Matrix, columns: np.ndarray, begin: int, team: Team) -> None:
        """Write the bins of all categorical features to their rows of ``columns`` (uint32)."""
        features = sorted(self.categories)
        self._map_categories(X, features, features, columns, begin, team)

    def _map_categories(
        self,
        X: Matrix,
        features: Sequence[int],
        target: Sequence[int],
        columns: np.ndarray,
        begin: int,
        team: Team,
    ) -> None:
        """Write the bins of categorical features to rows ``target`` of ``columns``.

        Rows of X are columns of the table from ``begin`` on.
        """
        if not features:
            return
        bins = [self.categories[f].bin_of_code for f in features]
        start = np.cumsum([0, *(b.size for b in bins)])
        which = np.array(features, dtype=np.int64), np.array(target, dtype=np.int64)
        for first, part in read_chunks(X):
            team.run(
                map_categories,
                *part,
                begin + first,
                which[0],
                start,
                np.concatenate(bins),
                which[1],
                columns,
            )

    def threshold(self, feature: int, split_bin: int) -> float:
        """The largest value that goes left in a split after a bin; inf after the last."""
        ends = self.thresholds[feature]
        return float(ends[split_bin - 1]) if split_bin <= ends.size else np.inf

    def flatten(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all thresholds in one array, and the place before the first of each feature.

        Entry ``place + b`` is the threshold of a split after bin b. Leaves, which have feature -1
        and bin 0, find 0.
        """
        sizes = np.array([ends.size for ends in self.thresholds], dtype=np.int64)
        last = (sizes + 1).cumsum()
        flat = np.full(1 + int((sizes + 1).sum()), np.inf)
        is_threshold = np.ones(flat.size, dtype=np.bool_)
        is_threshold[0] = is_threshold[last] = False
        flat[0], flat[is_threshold] = 0.0, np.concatenate([np.empty(0), *self.thresholds])
        return flat, np.append(last - sizes - 1, 0)


def _count_categories(
    X: Matrix, rows: np.ndarray, n_categories: np.ndarray, team: Team
) -> dict[int, np.ndarray]:
    """Return how many rows each category of the categorical features has."""
    features = np.flatnonzero(n_categories)
    if features.size == 0:
        return {}
    start = np.append(0, n_categories[features].cumsum())
    counts = np.zeros(start[-1], dtype=np.int64)
    for first, part in read_chunks(X):
        begin, end = _find_part(rows, first, part.n_rows)
        team.run(count_categories, *part, first, rows[begin:end], features, start, counts)
    return {int(f): counts[start[k] : start[k + 1]] for k, f in enumerate(features)}


def _find_thresholds(
    X: DenseMatrix,
    rows: np.ndarray,
    sample: np.ndarray,
    weight: np.ndarray,
    max_bins: int,
    team: Team,
) -> list[np.ndarray]:
    """Return the thresholds of each column."""
    if max_bins > MAX_BINS:
        return _find_many_thresholds(X, rows, sample, weight, max_bins, team)
    distinct, n_distinct = _find_distinct(X, rows, max_bins, team)
    low = np.full((X.shape[1], MAX_BINS - 1), np.nan)
    high = low.copy()
    low[:, : max_bins - 1], high[:, : max_bins - 1] = distinct[:, :-2], distinct[:, 1:-1]
    n_thresholds = np.maximum(n_distinct - 1, 0)
    many = np.flatnonzero(n_distinct > max_bins)
    if many.size:
        low[many], high[many], n_thresholds[many] = _cut_quantiles(
            X, many, sample, weight, max_bins, team
        )
    ends = threshold_between(low, high)
    return [own[:n] for own, n in zip(ends, n_thresholds, strict=True)]


def _find_sparse_thresholds(
    X: SparseMatrix,
    rows: np.ndarray,
    sample: np.ndarray,
    weight: np.ndarray,
    max_bins: np.ndarray,
    team: Team,
) -> list[np.ndarray]:
    """Return the thresholds of each column; those that may have many are read as dense ones."""
    found = (rows, sample, weight)
    thresholds = find_sparse_thresholds(X, *found, np.minimum(max_bins, MAX_BINS), team)
    if max_bins.max(initial=0) > MAX_BINS:
        n_stored = np.diff(X.read_columns(team).start)
        for f in np.flatnonzero((max_bins > MAX_BINS) & (n_stored >= MAX_BINS)):
            column = X.convert(0, X.shape[0], np.array([f]))
            thresholds[f] = _find_many_thresholds(column, *found, int(max_bins[f]), team)[0]
    return thresholds


def _find_many_thresholds(
    X: DenseMatrix,
    rows: np.ndarray,
    sample: np.ndarray,
    weight: np.ndarray,
    max_bins: int,
    team: Team,
) -> list[np.ndarray]:
    """The same for bins that take more than a byte: all values are sorted to find the distinct."""
    found, no_weight = [], np.empty(0)
    # As many columns at a time as there are threads: distinct values may take much memory.
    for first in range(0, X.shape[1], team.n_threads):
        features = np.arange(first, min(first + team.n_threads, X.shape[1]))
        *neighbors, n_ends = _cut_quantiles(X, features, rows, no_weight, rows.size, team)
        ends = [own[:n] for own, n in zip(threshold_between(*neighbors), n_ends, strict=True)]
        many = np.flatnonzero(n_ends >= max_bins)
        if many.size:
            *neighbors, n_ends = _cut_quantiles(X, features[many], sample, weight, max_bins, team)
            for k, own, n in zip(many, threshold_between(*neighbors), n_ends, strict=True):
                ends[k] = own[:n]
        found += [own.copy() for own in ends]
    return found


def _find_distinct(
    X: DenseMatrix, rows: np.ndarray, max_bins: int, team: Team
) -> tuple[np.ndarray, np.ndarray]:
    """Return distinct values of each column, sorted, and their number: all if at most max_bins."""
    shape, kind = (team.n_threads, X.shape[1]), find_float_type(X.dtype)
    tables = np.full((*shape, kernels.HASH_SIZE), np.nan, dtype=kind)
    distinct = np.full((*shape, max_bins + 1), np.nan, dtype=kind)
    n_distinct = np.zeros(shape, dtype=np.int64)
    for first, part in read_chunks(X):
        begin, end = _find_part(rows, first, part.n_rows)
        team.run(
            kernels.find_distinct,
            *part,
            first,
            rows[begin:end],
            max_bins,
            tables,
            distinct,
            n_distinct,
        )
    return np.sort(distinct[0], axis=1), n_distinct[0]


def _cut_quantiles(
    X: DenseMatrix,
    features: np.ndarray,
    sample: np.ndarray,
    weight: np.ndarray,
    max_bins: int,
    team: Team,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the values below and above each threshold of some columns, and how many there are."""
    kind = find_float_type(X.dtype)
    bits = np.uint32 if kind == np.float32 else np.uint64
    n_groups = -(-features.size // max(team.n_threads, _KEYS // sample.size))
    width = -(-features.size // n_groups)
    keys = np.empty((width, sample.size), dtype=bits)
    n_busy = min(team.n_threads, width)
    spare_keys = np.empty((n_busy, sample.size), dtype=bits)
    weights = np.empty((n_busy, 2, sample.size))
    # Counters of a sort, and then the places of thresholds.
    counters = np.empty((n_busy, max(N_DIGIT_VALUES, max_bins)), dtype=np.uint32)
    n_most = max(max_bins, MAX_BINS) - 1
    neighbors = np.zeros((features.size, 2, n_most), dtype=bits)
    n_ends = np.empty(features.size, dtype=np.int64)
    for start in range(0, features.size, width):
        group = slice(start, start + width)
        _gather_keys(X, features[group], sample, keys, team)
        team.run(
            kernels.cut_columns,
            keys,
            weight,
            max_bins,
            spare_keys,
            weights,
            counters,
            neighbors[group],
            n_ends[group],
        )
    values = neighbors.view(kind)
    return values[:, 0], values[:, 1], n_ends


def _gather_keys(
    X: DenseMatrix, features: np.ndarray, rows: np.ndarray, keys: np.ndarray, team: Team
) -> None:
    """Write the sort keys of some columns and rows of X, one column after the other."""
    left, right = features[0], features[-1] + 1
    for first, part in read_chunks(X[:, left:right]):
        begin, end = _find_part(rows, first, part.n_rows)
        team.run(kernels.gather_keys, *part, first, rows[begin:end], begin, features - left, keys)


def _find_part(rows: np.ndarray, first: int, n_rows: int) -> tuple[int, int]:
    """Return which of the rows lie in a chunk, as (begin, end)."""
    begin, end = np.searchsorted(rows, np.array([first, first + n_rows], dtype=rows.dtype))
    return int(begin), int(end)
