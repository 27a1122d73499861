"""Settings in, trees of a forest out. Each thread has its own grower."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from sumwise.kernels.forest import layout
from sumwise.kernels.forest.grow import copy_nodes, grow_forest_tree
from sumwise.kernels.forest.many_outputs import Labels, MultiLabels, Vectors
from sumwise.kernels.forest.one_output import Numbers
from sumwise.kernels.grow.layout import CONTROL_LENGTH
from sumwise.tree.encoded_table import EncodedTable, TableEncoder
from sumwise.tree.forest import ForestTree
from sumwise.tree.forest_table import EntryTable, RowTable

_UNLIMITED = 1 << 30
# The size of the histograms that a large node sums at once.
_HISTOGRAM_BYTES = 1 << 18
# Both sides of a split must have positive weight, despite rounding.
_SMALLEST_WEIGHT = np.finfo(np.float64).tiny
# A table is stored by column if it has more features than this, and nodes draw fewer than one in so
# many of them: stored by row, each drawn feature would touch its own cache line.
_LONG_ROW, _FEATURES_PER_DRAW = 512, 16
# Sums of squares of whole numbers up to this are exact.
_LARGEST_EXACT = 1 << 26
# A node whose rows have at most this many entries per drawn feature reads them by row, ...
_ENTRIES_PER_DRAW = 1.0
# ... but in any case if it has at most so few, and never if it has more.
_FEW_ENTRIES, _MANY_ENTRIES = 256, 1 << 20
# Up to this ratio of weights, sums cannot lose a row of a small node: the rounding error of CHUNK
# rows is less than the smallest weight.
_LARGEST_DRAWN_RATIO = 1e9
# What is kept of the nodes of a grown tree, in the order of copy_nodes.
_KEPT = {
    "feature": np.int32,
    "split_bin": np.uint8,
    "missing_left": np.uint8,
    "left": np.int32,
    "gain": np.float64,
    "weight": np.float64,
    "n_rows": np.int64,
}

Target: TypeAlias = Numbers | Labels | Vectors | MultiLabels


@dataclass(frozen=True)
class ForestSettings:
    """How the trees of a forest grow.

    ``criterion`` is one of ``kernels.forest.layout``; ``is_class`` says that targets are classes.
    Every node draws ``n_drawn`` features; None means all. ``min_decrease`` is the smallest allowed
    decrease of the weighted impurity. With ``by_share``, it and ``min_weight_leaf`` are multiplied
    by the weight of all rows of a tree. ``directions`` has 1 or -1 for features along which values
    must rise or fall, 0 for others. ``careful`` is for weights that differ so much that a side may
    be lost to rounding; a tree whose drawn weights differ that much is grown so in any case.
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


Table: TypeAlias = RowTable | EntryTable  # or EncodedTable, which is a RowTable


def _is_wide(table: Table, settings: ForestSettings) -> bool:
    """Whether trees read a table of bytes by column."""
    if isinstance(table, EncodedTable):  # rewritten for each tree
        return False
    n_drawn = table.n_features if settings.n_drawn is None else settings.n_drawn
    return table.n_features > _LONG_ROW and _FEATURES_PER_DRAW * n_drawn < table.n_features


def sums_exactly(settings: ForestSettings, weight: np.ndarray) -> bool:
    """Whether the sums of trees are exact: counts of classes, with whole weights."""
    is_whole = settings.is_class and weight.sum() <= _LARGEST_EXACT
    return is_whole and bool((weight == np.floor(weight)).all())


def prepare_table(table: Table, settings: ForestSettings, weight: np.ndarray) -> Table:
    """Return the table to grow trees on, given the weights of one of them.

    What the growers of all threads share is computed, before they need it at the same time.
    """
    if isinstance(table, EntryTable):
        if sums_exactly(settings, weight):
            _ = table.by_row
        else:
            table = table.as_rows
    if isinstance(table, RowTable) and _is_wide(table, settings):
        _ = table.by_column
    _ = table.has_missing, table.centers if settings.random_cuts else None
    return table


class ForestGrower:
    """Grows trees on one table, one after another.

    Parameters
    ----------
    table : RowTable or EntryTable
    target : Numbers, Labels, Vectors or MultiLabels
        One item per row of the table.
    n_columns : int
        Number of columns of the trees' values: classes, or numbers to predict.
    settings : ForestSettings
    """

    def __init__(
        self,
        table: Table,
        target: Target,
        n_columns: int,
        settings: ForestSettings,
    ) -> None:
        self._encoder = None
        if isinstance(table, EncodedTable):
            self._encoder = TableEncoder(table)
            table = self._encoder.table
        self._source, self._n_columns = table, n_columns
        self._target = target
        self._settings = settings
        self._usable = table.usable
        self._options = self._make_options()
        self._table = self._arrange(table)
        self._n_nodes = 2 * min(table.n_rows, self._options.max_leaves) - 1
        if self._options.max_depth < 30:
            self._n_nodes = min(self._n_nodes, (2 << self._options.max_depth) - 1)
        self._nodes = np.empty(self._n_nodes, dtype=layout.FOREST_NODE)
        self._values = np.empty((self._n_nodes, n_columns))
        self._work = self._allocate(table.n_rows, n_columns + 1, bool(table.mapper.categories))

    @property
    def table(self) -> Table:
        """The table that the last tree was grown on."""
        return self._source

    @property
    def weight(self) -> np.ndarray:
        """Weights of the rows, to be filled before a tree is grown; 0 leaves a row out."""
        return self._work.weight

    def grow(self, key: np.uint64) -> ForestTree:
        """Grow a tree on the rows that have weight."""
        table, is_exact = self._source, sums_exactly(self._settings, self.weight)
        if self._encoder is not None:
            self._encoder.encode(self.weight > 0, key)
        if isinstance(table, EntryTable) and not is_exact:
            return self._grow_on_bytes(table.as_rows, key)
        options = self._scale_limits()._replace(is_exact=is_exact)
        if (
            options.is_plain
            and not is_exact
            and find_weight_ratio(self.weight) > _LARGEST_DRAWN_RATIO
        ):
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
        by_node = {name: np.empty(n, dtype) for name, dtype in _KEPT.items()}
        copy_nodes(self._nodes, *by_node.values())
        sets = {}
        if self._work.sets.size:
            feature = by_node["feature"]
            is_set = (feature >= 0) & (self._table.is_category[feature] > 0)
            sets["sets"] = self._work.sets[:n][is_set]
        return ForestTree(**by_node, value=self._values[:n].copy(), **sets)

    def _grow_on_bytes(self, table: RowTable, key: np.uint64) -> ForestTree:
        """Grow a tree whose sums depend on the order of rows, which entries do not keep."""
        other = ForestGrower(table, self._target, self._n_columns, self._settings)
        other.use_features(self._table.features)
        other.weight[:] = self.weight
        return other.grow(key)

    def _arrange(self, table: Table) -> layout.ByteRows | layout.SparseRows:
        """Return the table as kernels read it."""
        directions = self._settings.directions
        is_category = np.zeros(table.n_features, dtype=np.uint8)
        is_category[list(table.mapper.categories)] = 1
        shared = {
            "n_bins": table.n_bins,
            "is_category": is_category,
            "is_plain": ~table.has_missing & (is_category == 0),
            "features": self._usable,
            "centers": table.centers if self._settings.random_cuts else np.empty((0, 0)),
            "direction": np.empty(0, np.int8) if directions is None else directions.astype(np.int8),
        }
        if isinstance(table, EntryTable):
            entries = table.entries
            return layout.SparseRows(
                entries.default_bin.astype(np.uint8),
                entries.start,
                entries.rows,
                entries.bins,
                *table.by_row,
                **shared,
            )
        is_wide = _is_wide(table, self._settings)
        return layout.ByteRows(
            bins=table.by_column if is_wide else table.bins.reshape(-1),
            stride=1 if is_wide else table.n_features,
            step=table.n_rows if is_wide else 1,
            **shared,
        )

    def use_features(self, features: np.ndarray) -> None:
        """Let the next trees split only on those of these features that are usable."""
        kept = np.intersect1d(features, self._usable).astype(np.int32)
        self._table = self._table._replace(features=kept)
        self._work = self._work._replace(order=np.empty(kept.size, dtype=np.int32))

    def _scale_limits(self) -> layout.TreeOptions:
        """Return the options with limits in units of this tree's weights."""
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
            is_exact=False,
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
            packed=_allocate_packed(n_stats),
            next_row=np.empty(layout.CHUNK, dtype=np.int32),
            bin_row=np.empty(layout.N_BINS, dtype=np.int32),
            histograms=np.zeros(n_slots * layout.N_BINS * n_stats),
            touched=np.zeros(layout.SET_WORDS, dtype=np.uint64),
            present=np.zeros(layout.N_BINS, dtype=np.int64),
            prefix=np.zeros(2 * layout.N_BINS),
            best_cut=np.zeros(3),
            counts=np.zeros(layout.N_BINS, dtype=np.int64),
            ratio=np.zeros(layout.N_BINS),
            control=np.zeros(CONTROL_LENGTH, dtype=np.int64),
            waiting=np.empty(self._n_nodes, dtype=np.int32),
            sets=np.zeros((self._n_nodes if has_categories else 0, layout.SET_WORDS), np.uint64),
            best_set=np.zeros(layout.SET_WORDS, dtype=np.uint64),
            entries=self._allocate_entries(n_rows),
        )

    def _allocate_entries(self, n_rows: int) -> layout.NodeEntries:
        n_features, n_chained = 0, 0
        if isinstance(self._table, layout.SparseRows):
            n_features, n_entries = self._table.default.size, self._table.rows.size
            n_drawn = min(self._options.n_drawn, n_features)
            wanted = int(_ENTRIES_PER_DRAW * n_drawn * n_entries / n_features)
            n_chained = min(max(_FEW_ENTRIES, wanted), _MANY_ENTRIES)
        else:
            n_rows = -1
        return layout.NodeEntries(
            place=np.empty(max(n_rows, 0), dtype=np.uint32),
            head=np.full(n_features, -1, dtype=np.int32),
            chain=np.empty(n_chained, dtype=np.int32),
            chain_row=np.empty(n_chained, dtype=np.uint32),
            chain_bin=np.empty(n_chained, dtype=np.uint8),
            own_row=np.empty(n_rows + 1, dtype=np.uint32),
            own_bin=np.empty(n_rows + 1, dtype=np.uint8),
            best_row=np.empty(n_rows + 1, dtype=np.uint32),
            best_bin=np.empty(n_rows + 1, dtype=np.uint8),
            n_best=np.zeros(1, dtype=np.int64),
        )


def find_weight_ratio(weight: np.ndarray) -> float:
    """Return the ratio of the largest to the smallest of 1 and all positive weights."""
    smallest, largest = weight.min(initial=1.0, where=weight > 0), weight.max(initial=1.0)
    with np.errstate(over="ignore"):
        return float(largest / smallest)


def _allocate_packed(n_stats: int) -> layout.PackedCounts:
    return layout.PackedCounts(
        words=np.zeros(layout.CHUNK, dtype=np.uint64),
        word_of_row=np.zeros(layout.CHUNK, dtype=np.uint8),
        word_of_class=np.zeros(n_stats, dtype=np.uint8),
        shift=np.zeros(n_stats, dtype=np.uint8),
        histogram=np.zeros(layout.N_BINS * layout.MOST_WORDS, dtype=np.uint64),
        total=np.zeros(layout.MOST_WORDS, dtype=np.uint64),
        left=np.zeros(layout.MOST_WORDS, dtype=np.uint64),
    )
