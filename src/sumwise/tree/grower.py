"""The grower: settings in, trees out. Owns the buffers that live as long as a fit."""

from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.data.presorted import PresortedData
from sumwise.data.quantiles import QuantileData
from sumwise.data.thresholds import threshold_between
from sumwise.errors import ParameterError, TrainingError
from sumwise.kernels.grow import layout
from sumwise.kernels.grow.constraints import Constraints
from sumwise.kernels.grow.feature_sampling import draw_tree_features
from sumwise.kernels.grow.gradients import Gradients
from sumwise.kernels.grow.histogram import WORDS_LENGTH
from sumwise.kernels.grow.isotonic import project_leaf_values
from sumwise.kernels.grow.storage.bundled import add_bundled_predictions
from sumwise.kernels.grow.storage.bundles import Bundles, BundleWork, NoBundles
from sumwise.kernels.grow.storage.categories import Categories, CategoryWork, NoCategories
from sumwise.kernels.grow.storage.presorted import BEYOND, NotSorted, Presorted, PresortedWork
from sumwise.kernels.grow.tree import grow_best_first_tree, grow_symmetric_tree
from sumwise.kernels.leaves.symmetric import find_symmetric_leaves
from sumwise.kernels.predict.category_walk import add_binned_category_predictions, make_sets
from sumwise.kernels.predict.value_walk import add_value_predictions
from sumwise.kernels.predict.walk import add_binned_predictions
from sumwise.kernels.runtime.threads import Team
from sumwise.sampling.columns import Columns
from sumwise.tree.constraints import TreeConstraints, allocate_constraints
from sumwise.tree.sampled_table import SampledTable, sampling_pays
from sumwise.tree.tree import Tree

GROWTH = {
    "leaf": layout.LEAF_WISE,
    "depth": layout.LEVEL_WISE,
    "symmetric": layout.SYMMETRIC,
}
DEFAULT_LEAVES = 31
DEFAULT_DEPTH = 6
MAX_SYMMETRIC_DEPTH = 16
_UNLIMITED_DEPTH = 1 << 30
# Of a bin: gradient, hessian, rows.
_N_STATS = 3
_KEPT = ("feature", "split_bin", "missing_left", "left", "gain", "weight")
# Histograms beyond this much memory are summed again instead of kept.
_POOL_BYTES = 1 << 29
_SYMMETRIC_POOL_BYTES = 1 << 33


@dataclass(frozen=True)
class GrowthSettings:
    """How trees grow and how their leaves are regularized."""

    growth: str = "leaf"
    max_leaves: int | None = None
    max_depth: int | None = None
    min_samples_leaf: int = 20
    min_child_weight: float = 1e-3
    min_gain: float = 0.0
    l1: float = 0.0
    l2: float = 1.0
    max_delta_step: float = 0.0
    learning_rate: float = 0.1
    path_smooth: float = 0.0
    extra_trees: bool = False
    constraints: TreeConstraints | None = None

    @property
    def leaf_rule(self) -> tuple[float, float, float, float]:
        """What makes values of sums, as kernels take it: l1, l2, largest step, learning rate."""
        rule = (self.l1, self.l2, self.max_delta_step, self.learning_rate)
        return float(rule[0]), float(rule[1]), float(rule[2]), float(rule[3])

    def limits(self, n_rows: int) -> tuple[int, int]:
        """Return (max_leaves, max_depth) for a number of rows, defaults filled in."""
        leaves, depth = self.max_leaves, self.max_depth
        if leaves is None and self.growth == "leaf":
            leaves = DEFAULT_LEAVES
        if leaves is None and depth is None:
            depth = DEFAULT_DEPTH
        most = max(1, n_rows // max(1, self.min_samples_leaf))
        if self.growth == "symmetric":
            if leaves is not None:
                by_leaves = leaves.bit_length() - 1
                depth = by_leaves if depth is None else min(depth, by_leaves)
            assert depth is not None
            if depth > MAX_SYMMETRIC_DEPTH:
                raise ParameterError(
                    f"symmetric trees have 2**depth leaves: max_depth={self.max_depth}, "
                    f"max_leaves={self.max_leaves}; give max_depth of at most "
                    f"{MAX_SYMMETRIC_DEPTH} or max_leaves of at most {1 << MAX_SYMMETRIC_DEPTH}"
                )
            return 1 << depth, depth
        leaves = most if leaves is None else min(leaves, most)
        if depth is not None and depth < 31:
            leaves = min(leaves, 1 << depth)
        return leaves, _UNLIMITED_DEPTH if depth is None else depth

    def make_options(self, columns: Columns, n_rows: int, n_features: int) -> layout.GrowthOptions:
        """Return what the policy allows for a number of rows, as kernels take it."""
        max_leaves, max_depth = self.limits(n_rows)
        weights = columns.weigh_features(n_features)
        return layout.GrowthOptions(
            growth=GROWTH[self.growth],
            max_leaves=max_leaves,
            max_depth=max_depth,
            min_samples_leaf=max(1, self.min_samples_leaf),
            min_gain=float(self.min_gain),
            columns_by_tree=float(columns.by_tree),
            columns_by_level=float(columns.by_level),
            columns_by_node=float(columns.by_node),
            column_weights=weights,
            column_times=np.empty_like(weights),
            random_splits=bool(self.extra_trees),
        )


def count_slots(options: layout.GrowthOptions, n_rows: int, n_bytes: int) -> int:
    """Histograms that may be alive at once: one for each leaf that can still be split."""
    alive = min(options.max_leaves, n_rows // (2 * options.min_samples_leaf)) + 1
    if options.growth == layout.SYMMETRIC:
        if alive * n_bytes > _SYMMETRIC_POOL_BYTES:
            raise ParameterError(
                f"symmetric growth to max_depth={options.max_depth} would keep "
                f"{alive * n_bytes / 2**30:.1f} GiB of histograms; lower max_depth or "
                "max_bins, or raise min_samples_leaf"
            )
        return alive
    return min(alive, max(1, _POOL_BYTES // max(1, n_bytes)))


def refuse_gradients() -> NoReturn:
    """Raise the error of gradients that cannot be summed."""
    raise TrainingError(
        f"gradients are not finite or beyond {layout.LARGEST_GRADIENT:g}: targets, weights "
        "or scores are too large in magnitude; scale them down, or lower learning_rate"
    )


def refuse_value() -> NoReturn:
    """Raise the error of a leaf without a value."""
    raise TrainingError("a leaf's value is not finite: lower learning_rate or raise l2")


class TreeGrower:
    """Grows trees on one binned table.

    Parameters
    ----------
    data : BinnedData
    mapper : BinMapper
        Gives the thresholds of the finished trees.
    settings : GrowthSettings
    columns : Columns
        Column sampling.
    n_rows : int
        The most rows a tree is grown on.
    team : Team
    exact_rows : int
        Up to this many rows histograms sum exact values, beyond it packed ones. On a presorted
        table they always do.
    """

    def __init__(
        self,
        data: BinnedData,
        mapper: BinMapper,
        settings: GrowthSettings,
        columns: Columns,
        n_rows: int,
        team: Team,
        exact_rows: int = layout.EXACT_ROWS,
    ) -> None:
        self._data = data
        # Thresholds of all features end to end; entry ``start + b`` is that of a split after bin b.
        self._thresholds, self._threshold_start = mapper.flatten()
        self._settings = settings
        self._team = team
        self._options = settings.make_options(columns, n_rows, data.n_features)
        # Other kinds of tables have more than bins: they stay as they are.
        is_plain = type(data) is BinnedData
        self._samples = is_plain and sampling_pays(data, columns.by_tree, n_rows)
        self._n_rows = n_rows
        self._work = self._allocate_workspace(n_rows)
        self._nodes = np.zeros(2 * self._options.max_leaves - 1, dtype=layout.NODE_FIELDS)
        depth = self._options.max_depth if settings.growth == "symmetric" else 0
        self._constraints = allocate_constraints(
            settings.constraints, data.n_features, self._nodes.size, depth
        )
        n_threads = team.n_threads
        self._exact_gradient = np.empty(data.n_rows, dtype=np.int64)
        self._exact_hessian = np.empty_like(self._exact_gradient)
        self._ranges = np.zeros((n_threads, 8))
        self._sums = np.zeros((n_threads, 8), dtype=np.int64)
        self._units = np.ones(4)
        self._values = np.zeros(self._nodes.size)
        is_presorted = isinstance(data.table.presorted, Presorted)
        self._exact_rows = data.n_rows if is_presorted else exact_rows
        self._shares: dict[int, tuple[BinnedData, dict[str, np.ndarray]]] = {}
        self._sampled_tables: dict[int, SampledTable] = {}

    def grow_on_gradients(
        self,
        gradient: np.ndarray,
        hessian: np.ndarray,
        rows: np.ndarray,
        key: np.uint64,
        scores: np.ndarray,
    ) -> Tree:
        """Grow a tree on gradients and add its values to the scores of ``rows``."""
        if isinstance(self._data, QuantileData):
            self._data.refresh(rows, hessian, self._team)
        s = self._settings
        payload = Gradients(
            gradient,
            hessian,
            self._exact_gradient,
            self._exact_hessian,
            self._ranges,
            self._sums,
            self._units,
            self._exact_rows,
            float(s.l1),
            float(s.l2),
            float(s.max_delta_step),
            float(s.min_child_weight),
            float(s.learning_rate),
            float(s.path_smooth),
            self._values,
        )
        return self._grow(payload, rows, key, scores)

    def add_to_scores(self, tree: Tree, rows: np.ndarray, scores: np.ndarray) -> None:
        """Add a tree's values to the scores of rows it was not grown on.

        If the table has new bins for each tree, it must be the last one.
        """
        if isinstance(self._data, QuantileData):
            self._data.catch_up(self._team)
        arrays = (rows, tree.feature, tree.split_bin, tree.missing_left, tree.left, tree.value)
        table = self._data.table
        of_nodes = (tree.n_nodes, tree.set_node, tree.set_size, tree.set_categories)
        if isinstance(self._data, PresortedData):
            splits = (tree.feature, tree.threshold, tree.missing_left, tree.left)
            own = (self._data.values, rows, splits, tree.value, make_sets(*of_nodes))
            self._team.run(add_value_predictions, *own, scores)
        elif isinstance(table.categories, Categories):
            sets = make_sets(*of_nodes)
            self._team.run(add_binned_category_predictions, table, *arrays, sets, scores)
        elif isinstance(table.bundles, Bundles):
            self._team.run(add_bundled_predictions, table, *arrays, scores)
        else:
            self._team.run(add_binned_predictions, table.columns, *arrays, scores)

    @property
    def settings(self) -> GrowthSettings:
        return self._settings

    def set_learning_rate(self, rate: float) -> None:
        """From the next tree on, values are multiplied by another rate."""
        self._settings = replace(self._settings, learning_rate=rate)

    def turn_to(self, data: BinnedData) -> None:
        """From now on use another table, which has the same rows and the same bins (or ranks of its
        own, which trees do not depend on).
        """
        if data is self._data:
            return
        # A table seen once more is the same object: it is kept here.
        self._shares.setdefault(id(self._data), (self._data, self._get_shares()))
        self._data = data
        if id(data) not in self._shares:
            self._shares[id(data)] = (data, self._share_features(data))
        self._work = self._work._replace(**self._shares[id(data)][1])
        if self._count_sums() > self._work.histograms.shape[1]:  # more features are usable
            self._work = self._work._replace(**self._allocate_histograms(self._n_rows))

    def find_leaves(self, tree: Tree, rows: np.ndarray) -> np.ndarray:
        """Return the leaf of each of ``rows``, among all rows of the table.

        As after growth, :meth:`get_leaves` has them, too, and the rules of the tree grown last.
        """
        if isinstance(self._data, QuantileData):
            self._data.catch_up(self._team)
        leaf = self._work.leaf
        if self._options.growth == layout.SYMMETRIC and self._find_symmetric_leaves(tree, leaf):
            return leaf
        found = np.zeros(self._data.n_rows)
        numbers = np.arange(tree.n_nodes, dtype=np.float64)[:, None]
        self.add_to_scores(replace(tree, value=numbers), rows, found)
        leaf[:] = found
        return leaf

    def _find_symmetric_leaves(self, tree: Tree, leaf: np.ndarray) -> bool:
        """Write the leaves of all rows; False if a feature without a column is in the way."""
        is_bundled = isinstance(self._data.table.bundles, Bundles)
        if is_bundled or isinstance(self._data, PresortedData):
            return False
        depth = (tree.n_nodes + 1).bit_length() - 2
        nodes = (1 << np.arange(depth)) - 1  # the first of each level
        feature, categories = tree.feature[nodes], self._data.table.categories
        is_set = np.zeros(depth, dtype=np.uint8)
        in_set = np.zeros((depth, 256), dtype=np.uint8)
        if isinstance(categories, Categories):
            place = categories.place[feature]
            if (categories.wide_place[place[place >= 0]] >= 0).any():
                return False
            ends = np.cumsum(tree.set_size)
            for level in np.flatnonzero(place >= 0):
                k = int(np.searchsorted(tree.set_node, nodes[level]))
                members = tree.set_categories[ends[k] - tree.set_size[k] : ends[k]]
                first = categories.code_start[place[level]]
                codes = categories.codes[first : first + categories.n_bins[place[level]]]
                is_set[level] = 1
                in_set[level, : codes.size] = np.isin(codes, members)
                in_set[level, 0] = tree.missing_left[nodes[level]]
        splits = (tree.split_bin[nodes], tree.missing_left[nodes], is_set, in_set)
        self._team.run(find_symmetric_leaves, self._data.table.columns, feature, *splits, leaf)
        return True

    def get_leaves(self, tree: Tree) -> tuple[np.ndarray, np.ndarray]:
        """Of the tree grown last: the leaf of each of its rows, and the node whose rows decide the
        value of each node.
        """
        return self._work.leaf, self._nodes["anchor"][: tree.n_nodes].copy()

    def constrain_values(self, value: np.ndarray) -> np.ndarray:
        """Return values for the nodes of the tree just grown that obey the monotone constraints.

        ``value`` has shape (n_nodes,), the learning rate in it. Values outside the bounds of their
        nodes are clipped to these; the leaves of a symmetric tree are projected.
        """
        limits = self._constraints
        if not isinstance(limits, Constraints) or not limits.any_direction:
            return value
        n = value.size
        if self._options.growth != layout.SYMMETRIC:
            rate = self._settings.learning_rate
            return np.clip(value, rate * limits.lower[:n], rate * limits.upper[:n])
        value = value.copy()
        buffers = limits.chains, limits.pools, limits.scratch
        n_value_bins = self._data.table.n_value_bins
        project_leaf_values(limits.direction, n_value_bins, self._nodes, n, *buffers, value)
        return value

    def _grow(self, payload: Any, rows: np.ndarray, key: np.uint64, scores: np.ndarray) -> Tree:
        data, work = self._data, self._work
        self._mark_rows(rows)
        if self._samples and rows.size:
            data = self._take_features(rows, key)
            work = work._replace(**self._share_features(data) | {"allowed": work.allowed})
        is_symmetric = self._options.growth == layout.SYMMETRIC
        self._team.run(
            grow_symmetric_tree if is_symmetric else grow_best_first_tree,
            data.table,
            payload,
            self._constraints,
            self._options,
            rows,
            key,
            work,
            self._nodes,
            scores,
        )
        if work.control[layout.STATUS] == layout.OUT_OF_RANGE:
            refuse_gradients()
        n = int(work.control[layout.N_NODES])
        nodes = self._nodes[:n]
        if not np.isfinite(work.value[:n]).all():
            refuse_value()
        by_node: dict[str, Any] = {name: nodes[name].copy() for name in _KEPT}
        sets: dict[str, Any] = self._collect_sets(by_node)
        threshold = self._find_thresholds(by_node, rows)
        if sets:
            threshold[sets["set_node"]] = 0.0
        return Tree(
            **by_node,
            threshold=threshold,
            value=work.value[:n].copy(),
            n_rows=work.sums[0, :n, -1].copy(),
            **sets,
        )

    def _take_features(self, rows: np.ndarray, key: np.uint64) -> BinnedData:
        """Return the table of the features that the tree of a key will draw."""
        allowed, number = self._work.allowed, id(self._data)
        draw_tree_features(allowed, self._options, key)
        if number not in self._sampled_tables:
            self._sampled_tables[number] = SampledTable(self._data, self._team)
        table = self._sampled_tables[number]
        return table.take(allowed[layout.TREE], int(rows[0]), int(rows[-1]) + 1)

    def _mark_rows(self, rows: np.ndarray) -> None:
        """Tell kernels which of the rows in order belong to the tree."""
        presorted, scratch = self._data.table.presorted, self._work.presorted
        if isinstance(presorted, Presorted) and rows.size < presorted.order.shape[1]:
            scratch.in_tree[:] = 0
            scratch.in_tree[rows] = 1

    def _find_thresholds(self, by_node: dict[str, np.ndarray], rows: np.ndarray) -> np.ndarray:
        """Return the thresholds of the last tree, 0 for leaves."""
        feature, split_bin = by_node["feature"], by_node["split_bin"]
        data = self._data
        if not isinstance(data, PresortedData):
            by_node["split_bin"] = split_bin.astype(np.uint8)
            threshold = self._thresholds[self._threshold_start[feature] + split_bin]
            if isinstance(data, QuantileData):
                data.write_thresholds(feature, by_node["split_bin"], threshold)
            return threshold
        presorted = data.table.presorted
        is_split = (feature >= 0) & (presorted.is_ranked[feature] != 0)
        threshold = np.where(is_split, np.inf, 0.0)
        node = np.flatnonzero(is_split & (split_bin < BEYOND))
        own, low = feature[node], split_bin[node].astype(np.int64)
        if data.has_bins:
            threshold[node] = self._thresholds[self._threshold_start[own] + low]
            return threshold
        high = self._work.presorted.upper[node].astype(np.int64)
        if self._options.growth == layout.SYMMETRIC:  # neighbors among all rows of the tree
            for f in np.unique(own):
                occurring = np.unique(presorted.ranks[f, rows])
                above = np.searchsorted(occurring, low[own == f], side="right")
                high[own == f] = occurring[above]
        values = data.find_values(own, low), data.find_values(own, high)
        threshold[node] = threshold_between(*values)
        return threshold

    def _collect_sets(self, by_node: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Return the sets of categories of the last tree; its bins are not needed any more."""
        categories, scratch = self._data.table.categories, self._work.categories
        if not isinstance(categories, Categories):
            return {}
        feature = by_node["feature"]
        node = np.flatnonzero((feature >= 0) & (categories.place[feature] >= 0))
        by_node["split_bin"][node] = 0
        size = scratch.node_size[node]
        owner = np.repeat(np.arange(node.size), size)
        place_in_set = np.arange(owner.size) - np.repeat(size.cumsum() - size, size)
        start = categories.code_start[categories.place[feature[node]]]
        codes = categories.codes[start[owner] + scratch.node_set[node[owner], place_in_set]]
        return {
            "set_node": node.astype(np.int32),
            "set_size": size,
            "set_categories": codes[np.lexsort((codes, owner))],
        }

    def _allocate_workspace(self, n_rows: int) -> layout.Workspace:
        n_threads, options = self._team.n_threads, self._options
        n_features = self._data.n_features
        n_nodes = 2 * options.max_leaves - 1
        return layout.Workspace(
            control=np.zeros(layout.CONTROL_LENGTH, dtype=np.int64),
            records=np.empty((2, n_rows), dtype=np.uint64),
            leaf=np.empty(self._data.n_rows, np.uint16 if n_nodes <= 1 << 16 else np.uint32),
            first=np.empty((n_threads, n_nodes), dtype=np.int64),
            last=np.empty((n_threads, n_nodes), dtype=np.int64),
            totals=np.empty((n_nodes, _N_STATS), dtype=np.int64),
            left_totals=np.empty((n_nodes, _N_STATS), dtype=np.int64),
            sums=np.empty((n_threads, n_nodes, _N_STATS), dtype=np.int64),
            value=np.empty((n_nodes, 1)),
            heap=np.empty(options.max_leaves + 1, dtype=np.int32),
            **self._allocate_histograms(n_rows),
            packed=np.zeros((n_threads, WORDS_LENGTH), dtype=np.int64),
            prefix=np.empty((n_threads, _N_STATS, 256), dtype=np.int64),
            gains=np.empty((n_threads, 4, 256)),
            candidates=np.zeros((2, n_features), dtype=layout.CANDIDATE),
            **self._share_features(self._data),
            categories=self._allocate_category_work(n_nodes),
            bundles=self._allocate_bundle_work(),
            presorted=self._allocate_presorted_work(n_rows, n_nodes),
        )

    def _count_sums(self) -> int:
        """Integers of a histogram: those of the most bins that a tree can have."""
        table = self._data.table
        n_bins = np.diff(table.bin_start)
        if self._samples:
            n_usable = np.count_nonzero(self._data.usable)
            n_chosen = max(1, int(self._options.columns_by_tree * n_usable + 0.5))
            n_bins = np.sort(n_bins)[max(0, n_bins.size - n_chosen) :]
        return _N_STATS * int(n_bins.sum())

    def _allocate_histograms(self, n_rows: int) -> dict[str, np.ndarray]:
        length = self._count_sums()
        n_slots = count_slots(self._options, n_rows, 8 * length)
        return {
            # Pages that are never touched cost no memory.
            "histograms": np.empty((n_slots + 2, length), dtype=np.int64),
            "free_slots": np.empty(n_slots, dtype=np.int32),
            "partial": np.empty((2 * self._team.n_threads, length), dtype=np.int64),
        }

    def _get_shares(self) -> dict[str, np.ndarray]:
        names = ("allowed", "tile_owner", "n_shared", "feature_owner")
        return {name: getattr(self._work, name) for name in names}

    def _share_features(self, data: BinnedData) -> dict[str, np.ndarray]:
        """Say which features can be split on, and which thread sums and scores them."""
        n_threads, n_features = self._team.n_threads, data.n_features
        n_tiles = data.table.tile_start.size
        # Tiles that do not divide evenly among the threads are summed by all, a part of rows each.
        n_whole = n_tiles - n_tiles % n_threads
        tile_owner = np.where(np.arange(n_tiles) < n_whole, np.arange(n_tiles) % n_threads, -1)
        feature = np.arange(n_features)
        tile = data.find_tiles()
        # Wide features are in no tile: the threads take turns.
        owner = np.cumsum(tile < 0) % n_threads
        owner[tile >= 0] = tile_owner[tile[tile >= 0]]
        bundles = data.table.bundles
        n_shared = n_tiles - n_whole
        if isinstance(bundles, Bundles) and bundles.members.size:  # all share the rows of entries
            n_stored = bundles.members.size
            owner[bundles.members] = np.arange(n_stored) * n_threads // n_stored
            n_shared += 1
        allowed = np.zeros((5, n_features), dtype=np.uint8)
        allowed[layout.USABLE] = data.usable
        return {
            "allowed": allowed,
            "tile_owner": tile_owner.astype(np.int64),
            "n_shared": np.array([n_shared]),
            "feature_owner": np.where(owner < 0, feature % n_threads, owner).astype(np.int64),
        }

    def _allocate_bundle_work(self) -> BundleWork | NoBundles:
        bundles, n_threads = self._data.table.bundles, self._team.n_threads
        if not isinstance(bundles, Bundles):
            return NoBundles()
        n_sums = 3 * int((self._data.table.n_value_bins[bundles.members] + 1).sum()) + 3
        return BundleWork(
            column=np.zeros(self._data.n_rows, dtype=np.uint8),
            sums=np.zeros((2 * n_threads, n_sums), dtype=np.int64),
        )

    def _allocate_presorted_work(self, n_rows: int, n_nodes: int) -> PresortedWork | NotSorted:
        presorted, n_threads = self._data.table.presorted, self._team.n_threads
        if not isinstance(presorted, Presorted):
            return NotSorted()
        n_features, n_sorted = presorted.order.shape
        is_symmetric = self._options.growth == layout.SYMMETRIC
        return PresortedWork(
            lists=np.empty((2, n_features, n_rows + 1), dtype=np.uint64),
            in_tree=np.empty(self._data.n_rows, dtype=np.uint8),
            goes_left=np.empty(self._data.n_rows, dtype=np.uint8),
            first=np.zeros(n_nodes, dtype=np.int64),
            parent=np.zeros(n_nodes, dtype=np.int32),
            upper=np.zeros(n_nodes, dtype=np.uint32),
            left_sums=np.zeros((2, n_features, _N_STATS), dtype=np.int64),
            rank_at=np.empty((n_threads, 256), dtype=np.int64),
            level_gains=np.empty((n_threads, 2, n_sorted if is_symmetric else 0)),
        )

    def _allocate_category_work(self, n_nodes: int) -> CategoryWork | NoCategories:
        categories, n_threads = self._data.table.categories, self._team.n_threads
        if not isinstance(categories, Categories):
            return NoCategories()
        n_bins, n_categorical = int(categories.n_bins.max()), categories.n_bins.size
        longest = np.minimum(categories.max_categories, (categories.n_choices + 1) // 2)
        n_set = max(1, int(longest.max()))
        of_one = categories.n_choices[categories.one_hot != 0]
        n_candidates = max(2 * n_set, int(of_one.max(initial=0)))
        return CategoryWork(
            sums=np.zeros((n_threads, 3 * n_bins), dtype=np.int64),
            words=np.zeros((n_threads, n_bins), dtype=np.int64),
            touched=np.empty((n_threads, n_bins + 1), dtype=np.int64),
            present=np.empty((n_threads, n_bins), dtype=np.int64),
            order=np.empty((n_threads, 2, n_bins), dtype=np.int64),
            ratio=np.empty((n_threads, 2, n_bins)),
            prefix=np.empty((n_threads, 3, n_bins + 1), dtype=np.int64),
            candidates=np.empty((n_threads, 3, n_candidates), dtype=np.int64),
            gains=np.empty((n_threads, n_candidates)),
            member=np.zeros((n_threads, n_bins), dtype=np.uint8),
            left_sums=np.empty((2, n_categorical, 3), dtype=np.int64),
            sets=np.empty((2, n_categorical, n_set), dtype=np.int32),
            node_size=np.zeros(n_nodes, dtype=np.int32),
            node_set=np.empty((n_nodes, n_set), dtype=np.int32),
        )
