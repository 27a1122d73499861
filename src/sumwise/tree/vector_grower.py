"""The grower of trees with vector leaves: settings in, one tree per output out."""

from dataclasses import replace

import numpy as np

from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.kernels.grow import layout
from sumwise.kernels.leaves.refit import add_leaf_values
from sumwise.kernels.predict.table_walk import add_table_predictions
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.layout import DENSE
from sumwise.kernels.vector.grow import grow_vector_tree
from sumwise.kernels.vector.layout import (
    VectorGradients,
    VectorTable,
    VectorWork,
    count_stats,
)
from sumwise.sampling.columns import Columns
from sumwise.tree.grower import prepare_walk, refuse_gradients, refuse_value
from sumwise.tree.growth import GrowthSettings
from sumwise.tree.tree import Tree
from sumwise.tree.workspace import count_slots

_LINE = 64  # bytes of a cache line


def _allocate_lines(n: int) -> np.ndarray:
    """Integers that begin with a cache line, so that few vectors lie across two lines."""
    buffer = np.empty(n + _LINE // 8, dtype=np.int64)
    first = -buffer.ctypes.data % _LINE // 8
    return buffer[first : first + n]


class VectorGrower:
    """Grows trees whose leaves hold a value for every output.

    A tree is returned as one tree per output: all have the same splits, and each has the values,
    gains and weights of its own output. So models, files and predictions know nothing of vectors.

    Parameters
    ----------
    data : BinnedData
        A table of numeric features with a column each.
    mapper : BinMapper
        Gives the thresholds of the finished trees.
    settings : GrowthSettings
        Without constraints.
    columns : Columns
        Column sampling.
    n_rows : int
        The most rows a tree is grown on.
    n_outputs : int
    n_hessians : int
        How many of the hessians differ: ``n_outputs`` for all, 1 if those of all outputs are equal,
        0 if all are 1.
    team : Team
    """

    def __init__(
        self,
        data: BinnedData,
        mapper: BinMapper,
        settings: GrowthSettings,
        columns: Columns,
        n_rows: int,
        n_outputs: int,
        n_hessians: int,
        team: Team,
    ) -> None:
        table = data.table
        assert (table.storage == DENSE).all()
        self._walked = table
        self._table = VectorTable(table.columns, table.n_value_bins, table.bin_start)
        self._thresholds, self._threshold_start = mapper.flatten()
        self._settings, self._team = settings, team
        self._options = settings.make_options(columns, n_rows, data.n_features)
        self._n_outputs, self._n_hessians = n_outputs, n_hessians
        self._n_stats = count_stats(n_outputs, n_hessians)
        self._stats = _allocate_lines(data.n_rows * self._n_stats)
        self._ranges = np.zeros((team.n_threads, 2, self._n_stats))
        self._units = np.ones(n_outputs + max(1, n_hessians))
        self._nodes = np.zeros(2 * self._options.max_leaves - 1, dtype=layout.NODE_FIELDS)
        self._work = self._allocate_workspace(data, n_rows)

    @property
    def settings(self) -> GrowthSettings:
        return self._settings

    def set_learning_rate(self, rate: float) -> None:
        """From the next tree on, values are multiplied by another rate."""
        self._settings = replace(self._settings, learning_rate=rate)

    def grow(
        self, gradient: np.ndarray, hessian: np.ndarray, rows: np.ndarray, key: np.uint64
    ) -> list[Tree]:
        """Grow a tree on gradients and hessians (n_outputs, n_rows); return one per output."""
        s = self._settings
        payload = VectorGradients(
            gradient,
            hessian,
            self._stats,
            self._units,
            self._ranges,
            self._n_stats,
            self._n_hessians,
            float(s.l1),
            float(s.l2),
            float(s.max_delta_step),
            float(s.min_child_weight),
            float(s.learning_rate),
        )
        work = self._work
        job = (self._table, payload, self._options, rows, key, work, self._nodes)
        self._team.run(grow_vector_tree, *job)
        if work.control[layout.STATUS] == layout.OUT_OF_RANGE:
            refuse_gradients()
        return self._make_trees(int(work.control[layout.N_NODES]))

    def _make_trees(self, n: int) -> list[Tree]:
        work, nodes = self._work, self._nodes[:n]
        if not np.isfinite(work.value[:, :n]).all():
            refuse_value()
        feature, split_bin = nodes["feature"].copy(), nodes["split_bin"].astype(np.uint8)
        n_rows_place = self._n_outputs + self._n_hessians
        first = Tree(
            feature=feature,
            threshold=self._thresholds[self._threshold_start[feature] + split_bin],
            split_bin=split_bin,
            missing_left=nodes["missing_left"].copy(),
            left=nodes["left"].copy(),
            value=work.value[0, :n, None].copy(),
            gain=work.gain[0, :n].copy(),
            n_rows=work.totals[:n, n_rows_place].copy(),
            weight=work.weight[0, :n].copy(),
        )
        others = (
            replace(
                first,
                value=work.value[k, :n, None].copy(),
                gain=work.gain[k, :n].copy(),
                weight=work.weight[k, :n].copy(),
            )
            for k in range(1, self._n_outputs)
        )
        return [first, *others]

    def get_leaves(self, tree: Tree) -> tuple[np.ndarray, np.ndarray]:
        """As :meth:`TreeGrower.get_leaves`."""
        return self._work.leaf, self._nodes["anchor"][: tree.n_nodes].copy()

    def constrain_values(self, value: np.ndarray) -> np.ndarray:
        """There are no constraints: return the values as they are."""
        return value

    def add_leaf_values(self, tree: Tree, rows: np.ndarray, scores: np.ndarray) -> None:
        """Add the values of the tree grown last to the scores of rows it was grown on."""
        self._team.run(add_leaf_values, rows, self._work.leaf, tree.value, scores)

    def add_to_scores(self, tree: Tree, rows: np.ndarray, scores: np.ndarray) -> None:
        """Add a tree's values to the scores of rows it was not grown on."""
        own = self._walked, prepare_walk(tree, self._walked)
        self._team.run(add_table_predictions, *own, rows, tree.value, scores)

    def _allocate_workspace(self, data: BinnedData, n_rows: int) -> VectorWork:
        n_threads, n_nodes, n_stats = self._team.n_threads, self._nodes.size, self._n_stats
        length = n_stats * int(data.table.bin_start[-1])
        n_slots = count_slots(self._options, n_rows, 8 * length)
        allowed = np.zeros((5, data.n_features), dtype=np.uint8)
        allowed[layout.USABLE] = data.usable
        by_output = (self._n_outputs, n_nodes)
        return VectorWork(
            control=np.zeros(layout.CONTROL_LENGTH, dtype=np.int64),
            records=np.empty((2, n_rows), dtype=np.uint64),
            leaf=np.empty(data.n_rows, dtype=np.uint32),
            first=np.empty((n_threads, n_nodes), dtype=np.int64),
            last=np.empty((n_threads, n_nodes), dtype=np.int64),
            totals=np.empty((n_nodes, n_stats), dtype=np.int64),
            left_totals=np.empty((n_nodes, n_stats), dtype=np.int64),
            sums=np.empty((n_threads, n_stats), dtype=np.int64),
            value=np.empty(by_output),
            weight=np.empty(by_output),
            gain=np.empty(by_output),
            heap=np.empty(self._options.max_leaves + 1, dtype=np.int32),
            # Pages that are never touched cost no memory.
            histograms=_allocate_lines((n_slots + 2) * length).reshape(n_slots + 2, length),
            free_slots=np.empty(n_slots, dtype=np.int32),
            prefix=np.empty((n_threads, n_stats, 256), dtype=np.int64),
            gains=np.empty((n_threads, 5, 256)),
            allowed=allowed,
            candidates=np.zeros((2, data.n_features), dtype=layout.CANDIDATE),
        )
