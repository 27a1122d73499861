"""BinMapper: the thresholds of all features, and the mapping of values to bins."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from sumwise.data.binned import BinnedData
from sumwise.data.bundling import Bundling
from sumwise.data.categories.bins import CategoryBins, check_number, collect_categories
from sumwise.data.categories.set_splits import Native
from sumwise.data.device_matrix import DeviceMatrix
from sumwise.data.dtypes import find_float_type
from sumwise.data.matrix import DenseMatrix, Matrix, read_chunks, read_rows
from sumwise.data.sparse import SparseMatrix
from sumwise.data.sparse.binning import find_sparse_thresholds, map_sparse
from sumwise.data.sparse.byte_tables import map_sparse_columns, map_sparse_parts, map_sparse_rows
from sumwise.data.thresholds import (
    MAX_BINS,
    ThresholdRows,
    find_dense_thresholds,
    find_many_thresholds,
)
from sumwise.kernels.predict.coding import round_down
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.binning import GROUP, map_to_bins
from sumwise.kernels.table.category_bins import count_categories, map_categories
from sumwise.kernels.table.tiles import interleave_columns
from sumwise.peers import Peers


@dataclass(frozen=True)
class BinMapper:
    """Maps values to bins: a value goes into the first bin whose threshold is at least the value.

    Bin 0 holds missing values.

    Attributes
    ----------
    thresholds : list of ndarray
        Ascending float64 thresholds, one array per feature, empty for categorical features.
    categories : dict of int to CategoryBins
        The bins of categorical features.
    native : Native
        How splits of categorical features are chosen.
    """

    thresholds: list[np.ndarray]
    categories: dict[int, CategoryBins] = field(default_factory=dict)
    native: Native = field(default_factory=Native)

    @classmethod
    def fit(
        cls,
        X: Matrix | DeviceMatrix,
        max_bins: int | np.ndarray = MAX_BINS,
        sample_weight: np.ndarray | None = None,
        rows: np.ndarray | None = None,
        seed: int = 0,
        team: Team | None = None,
        n_categories: np.ndarray | None = None,
        native: Native | None = None,
        only_bytes: bool = False,
    ) -> "BinMapper":
        """Find the bins from ``rows`` of X, which ascend.

        A feature with at most ``max_bins`` distinct values gets one bin per value. Otherwise bins
        hold about equal weight, measured on a sample if the data is large. ``max_bins`` is one
        number, or one per feature.

        ``n_categories`` is 0 for numeric features. The values of a categorical feature are codes
        below its number of categories. With ``only_bytes``, only the most frequent categories get
        bins, as many as one byte can number, and ``native`` is not used.
        """
        team = Team(1) if team is None else team
        # int64: max_bins may come in a small integer type, which cannot hold 255 + 1.
        max_bins = np.broadcast_to(np.asarray(max_bins, dtype=np.int64), X.shape[1])
        rows = np.arange(X.shape[0], dtype=np.uint32) if rows is None else rows
        found_from = ThresholdRows.draw(rows, sample_weight, seed, team)
        if n_categories is None:
            n_categories = np.zeros(X.shape[1], dtype=np.int64)
        check_number(n_categories)
        native = native or Native()
        if isinstance(X, SparseMatrix):
            return cls(_find_sparse_thresholds(X, found_from, max_bins, team), {}, native)
        if isinstance(X, DeviceMatrix):
            from sumwise.data.device_thresholds import find_device_thresholds  # needs a GPU

            return cls(find_device_thresholds(X, found_from, max_bins, team), {}, native)
        most = np.where(n_categories > 0, 0, max_bins)
        thresholds = find_dense_thresholds(X, found_from, most, team)
        own = (X, found_from.rows, n_categories, team)
        return cls(thresholds, cls.fit_categories(*own, native, only_bytes), native)

    def with_thresholds(self, given: Mapping[int, np.ndarray]) -> "BinMapper":
        """Return the same bins, but for the features whose thresholds are given."""
        if not given:
            return self
        thresholds = [given.get(f, own) for f, own in enumerate(self.thresholds)]
        return BinMapper(thresholds, self.categories, self.native)

    @staticmethod
    def fit_categories(
        X: Matrix,
        rows: np.ndarray,
        n_categories: np.ndarray,
        team: Team,
        native: Native,
        only_bytes: bool = False,
    ) -> dict[int, CategoryBins]:
        """Find the bins of the categorical features only; see :meth:`fit`."""
        counts = CategoryCounts.allocate(n_categories)
        counts.add(X, rows, team)
        return counts.make_bins(native, only_bytes)

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
        """Map all rows of X to bins, followed by the rows of X_val, which are only scored.

        X and X_val are not stacked. A feature is usable if a split can leave ``min_rows`` of the
        training ``rows`` (None for all of X) on both sides; other features are kept as columns,
        but not in the tiles. Features listed in ``alone`` share no byte with other features; the
        table is then dense even if X is sparse.
        """
        if rows is None:
            rows = np.arange(X.shape[0], dtype=np.uint32)
        if isinstance(X, SparseMatrix) and alone is None:
            matrices = [X] if X_val is None else [X, SparseMatrix.from_any(X_val, X.absent)]
            bins = map_sparse(self.thresholds, matrices, team)
            own = (self.count_bins(), team, bundling, rows, min_rows)
            return BinnedData.from_sparse(bins, *own)
        n_rows, n_features = X.shape
        n_val = 0 if X_val is None else X_val.shape[0]
        columns = np.empty((n_features, n_rows + n_val), dtype=np.uint8)
        n_wide = sum(bins.is_wide for bins in self.categories.values())
        wide = np.empty((n_wide, n_rows + n_val), dtype=np.uint32)
        self.write_bins(X, columns, wide, 0, team)
        if X_val is not None:
            self.write_bins(X_val, columns, wide, n_rows, team)
        categories = None
        if self.categories:
            categories = collect_categories(self.categories, wide, n_features, self.native)
        screened = (rows, categories, min_rows, alone)
        return BinnedData.from_columns(columns, self.count_bins(), team, *screened)

    def map_to_rows(self, X: Matrix, team: Team) -> np.ndarray:
        """Return the bins of X by row, uint8 of shape (n_rows, n_features).

        Every feature must have bins of one byte.
        """
        if isinstance(X, SparseMatrix):
            return map_sparse_rows(self.thresholds, X, team)
        columns = self._fill_columns(X, team)
        rows = np.empty(X.shape, dtype=np.uint8)
        team.run(interleave_columns, columns, rows.reshape(-1))
        return rows

    def map_parts(self, X: Matrix, team: Team) -> Iterator[tuple[int, np.ndarray]]:
        """Yield (first row, bins by row): all at once, or some rows at a time if X is sparse."""
        if isinstance(X, SparseMatrix):
            return map_sparse_parts(self.thresholds, X, team)
        return iter([(0, self.map_to_rows(X, team))])

    def map_to_columns(self, X: Matrix, team: Team) -> tuple[np.ndarray, np.ndarray]:
        """Return the bins of X by column, uint8, and the feature of each column.

        Features whose rows all lie in one bin may be omitted. The mapper must not have categories.
        """
        if isinstance(X, SparseMatrix):
            return map_sparse_columns(self.thresholds, X, team)
        return self._fill_columns(X, team), np.arange(X.shape[1])

    def _fill_columns(self, X: DenseMatrix, team: Team) -> np.ndarray:
        """Return the bins of a dense matrix by column; every feature must have bins of one byte."""
        n_rows, n_features = X.shape
        columns = np.empty((n_features, n_rows), dtype=np.uint8)
        self.write_bins(X, columns, np.empty((0, n_rows), dtype=np.uint32), 0, team)
        return columns

    @property
    def has_many_bins(self) -> bool:
        """Whether a numeric feature has more bins than one byte can number."""
        return any(ends.size >= MAX_BINS for ends in self.thresholds)

    def count_bins(self) -> np.ndarray:
        """Return the number of bins of each feature, without bin 0 (int64)."""
        n_value_bins = np.array([t.size + 1 for t in self.thresholds], dtype=np.int64)
        for f, bins in self.categories.items():
            n_value_bins[f] = bins.n_summed
        return n_value_bins

    def map_chunks(
        self, X: Matrix, team: Team, n_together: int, memory: Iterator[np.ndarray]
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Yield (first row, bins by column) of up to ``n_together`` rows at a time.

        ``memory`` gives the bytes that the bins of each chunk are written to. Every feature must
        have bins of one byte.
        """
        thresholds = self._pad_thresholds(X.dtype)
        features = sorted(self.categories)
        for first, whole in read_chunks(X):
            for begin in range(0, whole.n_rows, n_together):
                part = whole.take(begin, min(begin + n_together, whole.n_rows))
                own = next(memory)[: X.shape[1] * part.n_rows]
                columns = own.reshape(X.shape[1], part.n_rows)
                team.run(map_to_bins, part, 0, thresholds, columns)
                if features:
                    known = self._list_categories(features)
                    team.run(map_categories, part, 0, *known, known[0], columns)
                yield first + begin, columns

    def write_bins(
        self, X: Matrix, columns: np.ndarray, wide: np.ndarray, begin: int, team: Team
    ) -> None:
        """Write the bins of X to ``columns`` (uint8), starting at row ``begin``.

        Those of wide categorical features go to ``wide`` (uint32).
        """
        thresholds = self._pad_thresholds(X.dtype)
        for first, part in read_chunks(X):
            team.run(map_to_bins, part, begin + first, thresholds, columns)
        narrow_features = [f for f, bins in self.categories.items() if not bins.is_wide]
        wide_features = [f for f, bins in self.categories.items() if bins.is_wide]
        self._map_categories(X, narrow_features, narrow_features, columns, begin, team)
        self._map_categories(X, wide_features, range(len(wide_features)), wide, begin, team)

    def _pad_thresholds(self, dtype: DTypeLike) -> np.ndarray:
        """Return the thresholds as :func:`map_to_bins` searches values of a type in them."""
        padded = np.full((len(self.thresholds), GROUP + GROUP**2), np.inf)
        for f, ends in enumerate(self.thresholds):
            padded[f, GROUP : GROUP + ends.size] = ends
        padded[:, :GROUP] = padded[:, 2 * GROUP - 1 :: GROUP]
        kind = np.dtype(find_float_type(dtype))
        return padded if kind == padded.dtype else round_down(padded, kind)

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
        """Write the bins of categorical features to ``columns[target]``, starting at ``begin``."""
        if not features:
            return
        known = self._list_categories(features)
        to = (np.array(target, dtype=np.int64), columns)
        for first, part in read_chunks(X):
            team.run(map_categories, part, begin + first, *known, *to)

    def _list_categories(self, features: Sequence[int]) -> tuple[np.ndarray, ...]:
        """Return features, where their categories begin, and the bins of all categories."""
        bins = [self.categories[f].bin_of_code for f in features]
        start = np.cumsum([0, *(b.size for b in bins)])
        return np.array(features, dtype=np.int64), start, np.concatenate(bins)

    def threshold(self, feature: int, split_bin: int) -> float:
        """Return the largest value that goes left in a split after a bin; inf after the last."""
        ends = self.thresholds[feature]
        return float(ends[split_bin - 1]) if split_bin <= ends.size else np.inf

    def flatten(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all thresholds in one array, and an offset for each feature.

        The threshold of a split after bin b is at ``offset + b``. Leaves, with feature -1 and
        bin 0, find the value 0.
        """
        sizes = np.array([ends.size for ends in self.thresholds], dtype=np.int64)
        last = (sizes + 1).cumsum()
        flat = np.full(1 + int((sizes + 1).sum()), np.inf)
        is_threshold = np.ones(flat.size, dtype=np.bool_)
        is_threshold[0] = is_threshold[last] = False
        flat[0], flat[is_threshold] = 0.0, np.concatenate([np.empty(0), *self.thresholds])
        return flat, np.append(last - sizes - 1, 0)


class CategoryCounts(NamedTuple):
    """The number of rows in each category of each feature; the rows may come in parts."""

    features: np.ndarray
    start: np.ndarray
    counts: np.ndarray

    @classmethod
    def allocate(cls, n_categories: np.ndarray) -> "CategoryCounts":
        """Return counts of zero; features with ``n_categories`` 0 are not counted."""
        features = np.flatnonzero(n_categories)
        start = np.append(0, n_categories[features].cumsum())
        return cls(features, start, np.zeros(start[-1], dtype=np.int64))

    def add(self, X: Matrix, rows: np.ndarray, team: Team) -> None:
        """Count some rows of X, which ascend."""
        if self.features.size:
            for first, part, _, own in read_rows(X, rows):
                team.run(count_categories, part, first, own, *self)

    def unite(self, peers: Peers) -> None:
        """Add the counts of all peers: 8 bytes per category."""
        if self.features.size:
            peers.add(self.counts)

    def make_bins(self, native: Native, only_bytes: bool = False) -> dict[int, CategoryBins]:
        """Return the bins of each feature; see :meth:`BinMapper.fit`."""
        own = {
            int(f): self.counts[self.start[k] : self.start[k + 1]]
            for k, f in enumerate(self.features)
        }
        if only_bytes:
            return {f: CategoryBins.from_most_frequent(counts) for f, counts in own.items()}
        return {f: CategoryBins.from_counts(counts, native) for f, counts in own.items()}


def _find_sparse_thresholds(
    X: SparseMatrix, rows: ThresholdRows, max_bins: np.ndarray, team: Team
) -> list[np.ndarray]:
    """Return the thresholds of each column; columns that may have many are read as dense ones."""
    thresholds = find_sparse_thresholds(X, rows, np.minimum(max_bins, MAX_BINS), team)
    if max_bins.max(initial=0) > MAX_BINS:
        n_stored = np.diff(X.read_columns(team).start)
        for f in np.flatnonzero((max_bins > MAX_BINS) & (n_stored >= MAX_BINS)):
            column = X.convert(0, X.shape[0], np.array([f]))
            (thresholds[f],) = find_many_thresholds(column, rows, int(max_bins[f]), team)
    return thresholds
