"""The grower: settings in, trees out. It owns the buffers that live as long as a fit."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import numpy as np

from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.data.presorted import PresortedData
from sumwise.data.quantiles import QuantileData
from sumwise.data.thresholds import threshold_between
from sumwise.errors import TrainingError
from sumwise.kernels.grow import layout
from sumwise.kernels.grow.feature_sampling import draw_tree_features
from sumwise.kernels.grow.isotonic import project_leaf_values
from sumwise.kernels.grow.linking import bind_jobs, list_storages
from sumwise.kernels.grow.sets import collect_sets
from sumwise.kernels.grow.tree import grow_best_first_tree, grow_symmetric_tree
from sumwise.kernels.leaves.symmetric import find_symmetric_leaves
from sumwise.kernels.predict.table_walk import TableTree, add_table_predictions, mark_sets
from sumwise.kernels.runtime.arguments import TupleMemory
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.layout import BEYOND, Table
from sumwise.sampling.columns import Columns
from sumwise.tree.constraints import allocate_constraints
from sumwise.tree.growth import GrowthSettings
from sumwise.tree.sampled_table import SampledTable, sampling_pays
from sumwise.tree.tree import Tree
from sumwise.tree.workspace import (
    allocate_histograms,
    allocate_workspace,
    count_families,
    count_nodes,
    share_features,
)

# Passes over at most this many rows end before other threads would have woken up.
_FEW_ROWS = 50_000
_KEPT = ("feature", "split_bin", "missing_left", "left", "gain", "weight")


def refuse_gradients() -> NoReturn:
    """Raise the error of gradients that cannot be summed."""
    raise TrainingError(
        f"gradients are not finite or beyond {layout.LARGEST_GRADIENT:g}: targets, weights "
        "or scores are too large in magnitude; scale them down, or lower learning_rate"
    )


def refuse_value() -> NoReturn:
    """Raise the error of a leaf without a value."""
    raise TrainingError("a leaf's value is not finite: lower learning_rate or raise l2")


def keep_fields(nodes: np.ndarray) -> dict[str, Any]:
    """Return copies of those fields of nodes that a finished tree has, too."""
    return {name: nodes[name].copy() for name in _KEPT}


def choose_run(team: Team, n_rows: int) -> Callable[..., None]:
    """Return how to run a kernel that visits rows a few times: by the team, or alone."""
    return team.run if n_rows > _FEW_ROWS else team.run_alone


def prepare_walk(tree: Tree, table: Table) -> TableTree:
    """Make a finished tree ready for rows of a table."""
    # Ranks of a presorted feature are not bytes; but its rows go by threshold.
    split_bin = tree.split_bin.astype(np.uint8, copy=False)
    sets = (tree.set_node, tree.set_size, tree.set_categories)
    in_sets = mark_sets(table.categories, tree.feature, tree.missing_left, *sets)
    feature = np.maximum(tree.feature, 0).astype(np.uint32)
    return TableTree(feature, split_bin, tree.threshold, tree.missing_left, tree.left, *in_sets)


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
        Up to this many rows, histograms sum exact values; beyond it, packed ones. On a presorted
        table, sums are always exact.
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
        self._shape = team.n_threads, self._count_families(data)
        sizes = (n_rows, self._count_sums(), *self._shape)
        self._work = allocate_workspace(data, self._options, *sizes)
        n_nodes = sum(count_nodes(self._options, self._shape[1]))
        self._nodes = np.zeros(n_nodes, dtype=layout.NODE_FIELDS)
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
        self._exact_rows = data.n_rows if isinstance(data, PresortedData) else exact_rows
        # By table: its buffers, and what the threads work with.
        self._works: dict[int, tuple[BinnedData, layout.Workspace]] = {}
        self._jobs: dict[int, TupleMemory] = {}
        self._payload: layout.Gradients | None = None
        self._sampled_tables: dict[int, SampledTable] = {}

    def grow_on_gradients(
        self,
        gradient: np.ndarray,
        hessian: np.ndarray,
        rows: np.ndarray,
        key: np.uint64,
        scores: np.ndarray,
    ) -> Tree:
        """Grow a tree on gradients and add its values to the scores of ``rows``.

        A table with new bins for each tree makes them first.
        """
        if isinstance(self._data, QuantileData):
            self._data.refresh(rows, hessian, self._team)
        self._mark_rows(rows)
        jobs, control = self._prepare_jobs(gradient, hessian, rows, key), self._work.control
        is_symmetric = self._options.growth == layout.SYMMETRIC
        kernel = grow_symmetric_tree if is_symmetric else grow_best_first_tree
        self._team.run(kernel, jobs, gradient, hessian, rows, key, scores)
        if control[layout.STATUS] == layout.OUT_OF_RANGE:
            refuse_gradients()
        return self._finish_tree(int(control[layout.N_NODES]), rows)

    def _prepare_jobs(
        self, gradient: np.ndarray, hessian: np.ndarray, rows: np.ndarray, key: np.uint64
    ) -> TupleMemory:
        """Return what the threads work with. All trees share it, as long as the table stays."""
        data, work = self._data, self._work
        is_sampled = self._samples and rows.size > 0
        if is_sampled:
            data = self._take_features(rows, key)
            shares = share_features(data, self._options, *self._shape)
            work = work._replace(**shares | {"allowed": work.allowed})
        number = id(self._data)  # which lives as long as its jobs: see turn_to
        if number not in self._jobs:
            payload = self._payload = self._make_payload(gradient, hessian)
            fixed = (self._constraints, self._options, work, self._nodes, self._team.n_threads)
            storages = list_storages(self._data.table)
            self._jobs[number] = bind_jobs(storages, data.table, payload, *fixed)
        elif is_sampled:
            self._jobs[number].replace(table=data.table, work=work)
        return self._jobs[number]

    def _make_payload(self, gradient: np.ndarray, hessian: np.ndarray) -> layout.Gradients:
        s = self._settings
        return layout.Gradients(
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

    def add_to_scores(self, tree: Tree, rows: np.ndarray, scores: np.ndarray) -> None:
        """Add a tree's values to the scores of rows it was not grown on.

        If the table has new bins for each tree, this must be the tree grown last.
        """
        if isinstance(self._data, QuantileData):
            self._data.catch_up(self._team)
        own = self._data.table, prepare_walk(tree, self._data.table)
        self._team.run(add_table_predictions, *own, rows, tree.value, scores)

    @property
    def settings(self) -> GrowthSettings:
        return self._settings

    def set_learning_rate(self, rate: float) -> None:
        """From the next tree on, values are multiplied by another rate."""
        if rate == self._settings.learning_rate:
            return
        self._settings = replace(self._settings, learning_rate=rate)
        if self._payload is not None:
            self._payload = self._payload._replace(learning_rate=float(rate))
            for jobs in self._jobs.values():
                jobs.replace(payload=self._payload)

    def turn_to(self, data: BinnedData) -> None:
        """From now on use another table.

        It has the same rows and the same bins. Ranks may differ, since trees do not depend on them.
        """
        if data is self._data:
            return
        # A table seen once more is the same object: it is kept here.
        self._works[id(self._data)] = self._data, self._work
        self._data = data
        if id(data) in self._works:
            self._work = self._works[id(data)][1]
            return
        self._work = self._work._replace(**share_features(data, self._options, *self._shape))
        if self._count_sums() > self._work.histograms.shape[1]:  # more features are usable
            sizes = (self._n_rows, self._count_sums(), *self._shape)
            own = allocate_histograms(data, self._options, *sizes)
            self._work = self._work._replace(**own)
            self._works, self._jobs = {}, {}  # all share the larger histograms from now on

    def find_leaves(self, tree: Tree, rows: np.ndarray) -> np.ndarray:
        """Return the leaf of each of ``rows``, among all rows of the table.

        As after growth, :meth:`get_leaves` returns them, too, with the anchors of the tree grown
        last.
        """
        if isinstance(self._data, QuantileData):
            self._data.catch_up(self._team)
        leaf = self._work.leaf
        if self._options.growth == layout.SYMMETRIC:
            own = self._data.table, prepare_walk(tree, self._data.table)
            n_levels = (tree.n_nodes + 1).bit_length() - 2
            run = choose_run(self._team, leaf.size)
            run(find_symmetric_leaves, *own, n_levels, leaf)
        else:
            found = np.zeros(self._data.n_rows)
            numbers = np.arange(tree.n_nodes, dtype=np.float64)[:, None]
            self.add_to_scores(replace(tree, value=numbers), rows, found)
            leaf[:] = found
        return leaf

    def get_leaves(self, tree: Tree) -> tuple[np.ndarray, np.ndarray]:
        """Return the leaf of each row of the last tree, and the anchor of each node.

        The rows of its anchor determine the value of a node.
        """
        return self._work.leaf, self._nodes["anchor"][: tree.n_nodes].copy()

    def constrain_values(self, value: np.ndarray) -> np.ndarray:
        """Return values for the nodes of the tree just grown that obey the monotone constraints.

        All code that changes leaf values after growth must call this. ``value`` has shape
        (n_nodes,) and includes the learning rate. Values are clipped to the bounds of their nodes;
        the leaves of a symmetric tree are projected.
        """
        limits = self._constraints
        if not limits.any_direction:
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

    def _finish_tree(self, n: int, rows: np.ndarray) -> Tree:
        """Return the tree just grown, of ``n`` nodes."""
        work = self._work
        nodes = self._nodes[:n]
        if not np.isfinite(work.value[:n]).all():
            refuse_value()
        by_node = keep_fields(nodes)
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
        if rows.size < presorted.order.shape[1]:
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
        """Return the sets of categories of the last tree, which replace the bins of its splits."""
        categories, scratch = self._data.table.categories, self._work.categories
        if not categories.n_bins.size:
            return {}
        feature = by_node["feature"]
        node, size = np.empty((2, feature.size), dtype=np.int32)
        codes = np.empty(feature.size * scratch.node_set.shape[1], dtype=np.int32)
        of_table = categories.place, categories.code_start, categories.codes
        of_nodes = scratch.node_size, scratch.node_set
        n_sets = collect_sets(feature, *of_table, *of_nodes, node, size, codes)
        node, size = node[:n_sets].copy(), size[:n_sets].copy()
        by_node["split_bin"][node] = 0
        n_listed = int(size.sum())
        return {"set_node": node, "set_size": size, "set_categories": codes[:n_listed].copy()}

    def _count_families(self, data: BinnedData) -> int:
        """Return the number of nodes that may be split in one round."""
        return count_families(data, self._options, self._team.n_threads)

    def _count_sums(self) -> int:
        """Return the number of integers in a histogram, for the most bins that a tree can have."""
        table = self._data.table
        n_bins = np.diff(table.bin_start)
        if self._samples:
            n_usable = np.count_nonzero(self._data.usable)
            n_chosen = max(1, int(self._options.columns_by_tree * n_usable + 0.5))
            n_bins = np.sort(n_bins)[max(0, n_bins.size - n_chosen) :]
        return layout.N_STATS * int(n_bins.sum())
