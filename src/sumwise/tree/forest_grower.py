"""Settings in, trees of a forest out. Each thread has a grower of its own."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sumwise.data.binning import BinMapper
from sumwise.data.matrix import Matrix, find_ranges
from sumwise.kernels.forest import layout as layout
from sumwise.kernels.forest.grow import grow_forest_tree
from sumwise.kernels.forest.many_outputs import Labels, MultiLabels, Vectors
from sumwise.kernels.forest.one_output import Numbers
from sumwise.kernels.runtime.threads import Team
from sumwise.lazy import lazy
from sumwise.tree.forest import ForestTree

_UNLIMITED = 1 << 30
# Histograms of a large node that are summed at once.
_HISTOGRAM_BYTES = 1 << 18
# A side must have some weight, whatever rounding leaves of it.
_SMALLEST_WEIGHT = np.finfo(np.float64).tiny
# Infinities are values of features, but nothing can be drawn between them.
_LARGEST_CENTER = np.finfo(np.float64).max
# A table lies by column if a row is longer than this, and nodes draw fewer features than one of so
# many: most of what they look at would lie in cache lines of its own.
_LONG_ROW, _FEATURES_PER_DRAW = 512, 16
_BLOCK = 64
# Up to this ratio of weights, the sums of a small node cannot lose a row: CHUNK rows are rounded by
# less than the smallest of them.
_LARGEST_DRAWN_RATIO = 1e9
_KEPT = ("feature", "split_bin", "missing_left", "left", "gain", "weight")

Target: TypeAlias = Numbers | Labels | Vectors | MultiLabels


@dataclass(frozen=True)
class ForestSettings:
    """How the trees of a forest grow.

    ``criterion`` is one of ``kernels.forest_layout``; ``is_class`` says that targets are classes.
    ``n_drawn`` features are drawn in every node; None means all. ``min_decrease`` is that of the
    criterion, weight included. With ``by_share``, it and ``min_weight_leaf`` are multiplied by the
    weight of all rows of a tree. ``directions`` has 1 or -1 for features along which values must
    rise or fall, 0 for others. ``careful`` is for weights that differ so much that rounding may
    leave nothing of a side; trees whose drawn weights differ much are grown so in any case.
    """

    criterion: int = layout.QUADRATIC
    is_class: bool = False
    n_drawn: int | None = None
    random_cuts: bool = False
    max_leaves: int | None = None
    max_depth: int | None = None
    min_samples_split: int = 2
    min_samples_leaf: int = 1
    min_weight_leaf: float = 0.0
    min_decrease: float = 0.0
    by_share: bool = False
    directions: np.ndarray | None = None
    careful: bool = False


@dataclass(frozen=True)
class RowTable:
    """The binned table by row, which all trees share.

    Attributes
    ----------
    bins : ndarray of uint8, shape (n_rows, n_features)
    n_bins : ndarray of int64
        Bins of each feature, bin 0 included.
    usable : ndarray of int32
        Features whose rows do not all lie in one bin.
    low, high : ndarray of float64
        Smallest and largest value of each feature, which random cuts are drawn between.
    mapper : BinMapper
        Where the bins come from.
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
        """Bin a matrix; rows of weight zero say nothing of features."""
        bins = mapper.map_to_rows(X, team)
        is_used = None if weight is None or weight.all() else weight > 0
        seen = bins if is_used is None else bins[is_used]
        usable = np.flatnonzero(seen.min(axis=0) < seen.max(axis=0)).astype(np.int32)
        return cls(bins, mapper.count_bins() + 1, usable, *find_ranges(X, is_used), mapper)

    @property
    def n_rows(self) -> int:
        return int(self.bins.shape[0])

    @lazy
    def by_column(self) -> np.ndarray:
        """All bins, column after column."""
        columns = np.empty((self.n_features, self.n_rows), dtype=np.uint8)
        for first in range(0, self.n_rows, _BLOCK):  # which stays in the cache
            columns[:, first : first + _BLOCK] = self.bins[first : first + _BLOCK].T
        return columns.reshape(-1)

    @property
    def n_features(self) -> int:
        return int(self.bins.shape[1])


def _is_wide(table: RowTable, settings: ForestSettings) -> bool:
    """Whether trees read the table by column."""
    n_drawn = table.n_features if settings.n_drawn is None else settings.n_drawn
    return table.n_features > _LONG_ROW and _FEATURES_PER_DRAW * n_drawn < table.n_features


def prepare_table(table: RowTable, settings: ForestSettings) -> None:
    """Make what the growers of all threads share, before they ask for it at the same time."""
    if _is_wide(table, settings):
        _ = table.by_column


class ForestGrower:
    """Grows trees on one table, one after the other.

    Parameters
    ----------
    table : RowTable
    target : Numbers, Labels, Vectors or MultiLabels
        One entry per row of the table.
    n_columns : int
        Columns of the trees' values: classes, or numbers to predict.
    settings : ForestSettings
    """

    def __init__(
        self,
        table: RowTable,
        target: Target,
        n_columns: int,
        settings: ForestSettings,
    ) -> None:
        self._target = target
        self._settings = settings
        self._usable = table.usable
        is_category = np.zeros(table.n_features, dtype=np.uint8)
        is_category[list(table.mapper.categories)] = 1
        directions = settings.directions
        self._options = self._make_options()
        is_wide = _is_wide(table, settings)
        self._table = layout.ByteRows(
            bins=table.by_column if is_wide else table.bins.reshape(-1),
            stride=1 if is_wide else table.n_features,
            step=table.n_rows if is_wide else 1,
            n_bins=table.n_bins,
            is_category=is_category,
            is_plain=(table.bins.min(axis=0) > 0) & (is_category == 0),
            features=self._usable,
            centers=_find_centers(table) if settings.random_cuts else np.empty((0, 0)),
            direction=np.empty(0, np.int8) if directions is None else directions.astype(np.int8),
        )
        self._n_nodes = 2 * min(table.n_rows, self._options.max_leaves) - 1
        if self._options.max_depth < 30:
            self._n_nodes = min(self._n_nodes, (2 << self._options.max_depth) - 1)
        self._nodes = np.empty(self._n_nodes, dtype=layout.FOREST_NODE)
        self._values = np.empty((self._n_nodes, n_columns))
        self._work = self._allocate(table.n_rows, n_columns + 1, bool(is_category.any()))

    @property
    def weight(self) -> np.ndarray:
        """Weights of the rows, to be filled before a tree is grown; rows of weight 0 are out."""
        return self._work.weight

    def grow(self, key: np.uint64) -> ForestTree:
        """Grow a tree on the rows that have weight."""
        options = self._scale_limits()
        if options.is_plain and find_weight_ratio(self.weight) > _LARGEST_DRAWN_RATIO:
            options = options._replace(is_plain=False)
        n = grow_forest_tree(
            self._table,
            self._target,
            options,
            key,
            self._work,
            self._nodes,
            self._values,
        )
        nodes = self._nodes[:n]
        by_node = {name: nodes[name].copy() for name in _KEPT}
        sets = {}
        if self._work.sets.size:
            feature = by_node["feature"]
            is_set = (feature >= 0) & (self._table.is_category[feature] > 0)
            sets["sets"] = self._work.sets[:n][is_set]
        n_rows = nodes["last"] - nodes["first"]
        return ForestTree(**by_node, n_rows=n_rows, value=self._values[:n].copy(), **sets)

    def use_features(self, features: np.ndarray) -> None:
        """Let the next trees split on these features alone, as far as they are not constant."""
        kept = np.intersect1d(features, self._usable).astype(np.int32)
        self._table = self._table._replace(features=kept)
        self._work = self._work._replace(order=np.empty(kept.size, dtype=np.int32))

    def _scale_limits(self) -> layout.TreeOptions:
        """The options with limits in weights of this tree."""
        options, s = self._options, self._settings
        if not s.by_share or s.min_weight_leaf == s.min_decrease == 0:
            return options
        total = float(self.weight.sum())
        return options._replace(
            min_weight_leaf=max(s.min_weight_leaf * total, _SMALLEST_WEIGHT),
            min_decrease=options.min_decrease * total,
        )

    def _make_options(self) -> layout.TreeOptions:
        s = self._settings
        is_limited = s.min_samples_leaf > 1 or s.min_weight_leaf > 0 or s.directions is not None
        is_limited |= s.careful
        return layout.TreeOptions(
            criterion=s.criterion,
            is_plain=s.criterion == layout.QUADRATIC
            and not is_limited
            and not isinstance(self._target, Vectors | MultiLabels),
            is_class=s.is_class,
            n_drawn=_UNLIMITED if s.n_drawn is None else s.n_drawn,
            random_cuts=s.random_cuts,
            best_first=s.max_leaves is not None,
            max_leaves=_UNLIMITED if s.max_leaves is None else s.max_leaves,
            max_depth=_UNLIMITED if s.max_depth is None else s.max_depth,
            min_rows_split=s.min_samples_split,
            min_rows_leaf=s.min_samples_leaf,
            min_weight_leaf=max(s.min_weight_leaf, _SMALLEST_WEIGHT),
            min_decrease=s.min_decrease if s.min_decrease > 0 else -np.inf,
        )

    def _allocate(self, n_rows: int, n_stats: int, has_categories: bool) -> layout.TreeWork:
        n_slots = max(1, _HISTOGRAM_BYTES // (8 * layout.N_BINS * n_stats))
        n_slots = min(n_slots, self._options.n_drawn, max(1, self._usable.size))
        return layout.TreeWork(
            weight=np.empty(n_rows),
            rows=np.empty(n_rows, dtype=np.uint32),
            spare=np.empty(n_rows, dtype=np.uint32),
            order=np.empty(self._usable.size, dtype=np.int32),
            swaps=np.empty(self._usable.size, dtype=np.int32),
            drawn=np.empty(self._usable.size + 1, dtype=np.int32),
            constant=np.empty(self._usable.size, dtype=np.int32),
            n_constant=np.zeros(1, dtype=np.int64),
            is_constant=np.zeros(self._table.n_bins.size, dtype=np.uint8),
            totals=np.zeros(n_stats),
            left=np.zeros(n_stats),
            chunk=np.empty(2 * layout.CHUNK),
            chunk_label=np.empty(layout.CHUNK, dtype=np.int64),
            codes=np.empty(layout.CHUNK, dtype=np.uint8),
            next_row=np.empty(layout.CHUNK, dtype=np.int32),
            bin_row=np.empty(layout.N_BINS, dtype=np.int32),
            histograms=np.zeros(n_slots * layout.N_BINS * n_stats),
            touched=np.zeros(layout.SET_WORDS, dtype=np.uint64),
            present=np.zeros(layout.N_BINS, dtype=np.int64),
            prefix=np.zeros(2 * layout.N_BINS),
            counts=np.zeros(layout.N_BINS, dtype=np.int64),
            ratio=np.zeros(layout.N_BINS),
            waiting=np.empty(self._n_nodes, dtype=np.int32),
            sets=np.zeros((self._n_nodes if has_categories else 0, layout.SET_WORDS), np.uint64),
            best_set=np.zeros(layout.SET_WORDS, dtype=np.uint64),
        )


def find_weight_ratio(weight: np.ndarray) -> float:
    """Return the ratio of the largest to the smallest of 1 and the weights that are not zero."""
    smallest, largest = weight.min(initial=1.0, where=weight > 0), weight.max(initial=1.0)
    with np.errstate(over="ignore"):
        return float(largest / smallest)


def _find_centers(table: RowTable) -> np.ndarray:
    """Return a value of each bin, (n_features, N_BINS): half way between its thresholds.

    The first and the last bin have but one threshold: their values are the ends of the range.
    Values ascend. Neighboring floats have none between them: then they are the numbers of bins.
    """
    centers = np.zeros((table.n_features, layout.N_BINS))
    for f, ends in enumerate(table.mapper.thresholds):
        if ends.size:
            halves = np.clip(ends, -_LARGEST_CENTER, _LARGEST_CENTER) / 2  # no sum overflows
            between = halves[:-1] + halves[1:]
            low, high = min(table.low[f], ends[0]), max(table.high[f], ends[-1])
            own = np.clip([low, *between, high], -_LARGEST_CENTER, _LARGEST_CENTER)
            if (own[1:] <= own[:-1]).any():
                own = np.arange(own.size)
            centers[f, 1 : own.size + 1] = own
    return centers
