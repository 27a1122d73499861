"""CudaGrower: grows trees on a device, with the methods and the bytes of :class:`TreeGrower`.

A tree is a fixed sequence of kernels (see cuda/grow/layout.py). They are recorded once as a graph;
for each tree, the host writes what is asked for and queues the graph. It waits for nothing: what
:meth:`CudaGrower.grow_on_gradients` returns is a :class:`PendingTree`.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sumwise.cuda.grow.deciding import NodeKernels
from sumwise.cuda.grow.launching import RowKernels, Rows, pack_tree
from sumwise.cuda.grow.layout import LANES, Request
from sumwise.cuda.runtime.arrays import DeviceArray, RowRange
from sumwise.cuda.runtime.device import Graph
from sumwise.cuda.runtime.structs import pack_struct
from sumwise.data.binning import BinMapper
from sumwise.data.device_table import DeviceTable
from sumwise.kernels.grow import layout
from sumwise.kernels.grow.feature_sampling import draw_tree_features
from sumwise.sampling.columns import Columns
from sumwise.tree.cuda_memory import (
    Constants,
    Result,
    Sizes,
    allocate_buffers,
    count_bytes,
    make_job,
    plan_buffers,
)
from sumwise.tree.grower import keep_fields, refuse_gradients, refuse_value
from sumwise.tree.growth import GrowthSettings
from sumwise.tree.pending_tree import PendingTree, finish_tree
from sumwise.tree.tree import Tree

# Steps of a graph. Trees that may need more of them are asked in between whether they grow.
_MOST_STEPS = 64
# Trees that are not finished: more would only take memory.
_MOST_PENDING = 64


class CudaGrower:
    """Grows trees on one binned table on a device.

    Parameters
    ----------
    table : DeviceTable
    mapper : BinMapper
        Gives the thresholds of the finished trees.
    settings : GrowthSettings
    columns : Columns
        Column sampling.
    n_rows : int
        The most rows a tree is grown on.
    exact_rows : int
        As in :class:`TreeGrower`.
    """

    def __init__(
        self,
        table: DeviceTable,
        mapper: BinMapper,
        settings: GrowthSettings,
        columns: Columns,
        n_rows: int,
        exact_rows: int = layout.EXACT_ROWS,
    ) -> None:
        self._table, self._device, self._settings = table, table.device, settings
        self._thresholds, self._threshold_start = mapper.flatten()
        self._options = settings.make_options(columns, n_rows, table.n_features)
        self._sizes = Sizes.count(self._options, n_rows)
        self._buffers = allocate_buffers(self._device, self._plan_buffers(), n_rows)
        self._result = Result(self._buffers["result"], self._sizes.n_nodes)
        self._write_constants()
        self._job = pack_struct(self._make_job(exact_rows))
        self._rows = RowKernels(self._device, n_rows, table.host_tile_bins)
        n_lanes = int(np.count_nonzero(table.usable))
        self._nodes = NodeKernels(self._device, n_lanes, table.host_tile_bins)
        self._graphs: dict[str, Graph] = {}
        self._last: PendingTree | None = None
        self._pending: deque[PendingTree] = deque()

    # --- memory ---

    @classmethod
    def count_bytes(
        cls, table: DeviceTable, settings: GrowthSettings, columns: Columns, n_rows: int
    ) -> int:
        """Return how many bytes of the device's memory a grower will need."""
        options = settings.make_options(columns, n_rows, table.n_features)
        sizes = Sizes.count(options, n_rows)
        needs = settings.constraints is not None, settings.path_smooth > 0.0
        return count_bytes(plan_buffers(table, options, sizes, *needs, n_peers=1))

    def _plan_buffers(self) -> dict[str, tuple[Any, Any]]:
        s = self._settings
        needs = s.constraints is not None, s.path_smooth > 0.0
        return plan_buffers(self._table, self._options, self._sizes, *needs, n_peers=1)

    def _write_constants(self) -> None:
        """Write what stays the same for all trees."""
        device, buffers, table = self._device, self._buffers, self._table
        n_sums = 3 * LANES * table.host_tile_bins
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(n_sums)])
        device.write(starts[: buffers["tile_start"].size], buffers["tile_start"])
        device.write(np.array([buffers["exchange"].address], np.uint64), buffers["peers"])
        self._allowed = np.zeros((int(layout.CHILD), table.n_features), dtype=np.uint8)
        self._allowed[layout.USABLE] = table.usable
        self._draw_features(np.uint64(0))

    def _make_job(self, exact_rows: int) -> Any:
        s, options = self._settings, self._options
        payload = {
            "l1": float(s.l1),
            "l2": float(s.l2),
            "max_delta_step": float(s.max_delta_step),
            "min_child_weight": float(s.min_child_weight),
            "path_smooth": float(s.path_smooth),
            "exact_rows": exact_rows,
        }
        constants = Constants.upload(self._device, options, s.constraints)
        self._constants = constants  # kernels know only addresses
        own = s.constraints, self._sizes, self._buffers
        return make_job(self._table, options, payload, constants, *own)

    # --- growing ---

    def grow_on_gradients(
        self,
        gradient: DeviceArray,
        hessian: DeviceArray,
        rows: "DeviceArray | range | None",
        key: np.uint64,
        scores: DeviceArray | None,
    ) -> PendingTree:
        """Queue growing a tree on gradients, and adding its values to the scores of ``rows``.

        ``rows`` ascend; None for all rows of the table. ``scores`` may be None or empty.
        """
        own = self._find_rows(rows)
        target: Any = 0 if scores is None or scores.size == 0 else scores
        request = Request(
            key=key,
            gradient=gradient,
            hessian=hessian,
            rows=own.numbers,
            first_row=own.first,
            n_rows=own.n_rows,
            all_rows=own.n_rows,
            scores=target,
            learning_rate=float(self._settings.learning_rate),
        )
        words = np.frombuffer(pack_struct(request), dtype=np.uint64)
        self._device.write(words, self._buffers["request"])
        if self._options.columns_by_tree < 1.0:
            self._draw_features(key)
        self._queue_tree()
        self._last = PendingTree(self._device.download_later(self._result.memory), self._make_tree)
        self._pending.append(self._last)
        if len(self._pending) > _MOST_PENDING:
            self._pending.popleft().finish()
        return self._last

    def _find_rows(self, rows: "DeviceArray | range | None") -> Rows:
        if rows is None or len(rows) == self._table.n_rows:  # rows ascend: these are all
            rows = range(self._table.n_rows)
        if isinstance(rows, range):
            return Rows(0, rows.start, len(rows))
        if isinstance(rows, RowRange):
            return Rows(0, rows.first, len(rows))
        return Rows(rows, 0, rows.size)

    def _draw_features(self, key: np.uint64) -> None:
        """Draw the features of a tree, and tell the device."""
        draw_tree_features(self._allowed, self._options, key)
        tree = self._allowed[int(layout.TREE)]
        self._device.write(tree, self._buffers["allowed"][int(layout.TREE)])

    def _queue_tree(self) -> None:
        """Queue the kernels of a tree."""
        n_steps = self._sizes.n_steps
        if n_steps <= _MOST_STEPS:
            self._play("tree", lambda: (self._begin(), self._grow(0, n_steps), self._end()))
            return
        self._play("begin", self._begin)
        for first in range(0, n_steps, _MOST_STEPS):
            if first and not self._is_growing():
                break
            self._play("steps", lambda: self._grow(_MOST_STEPS, 2 * _MOST_STEPS))
        self._play("end", self._end)

    def _play(self, name: str, queue: Callable[[], Any]) -> None:
        """Queue recorded kernels; record them at the first time."""
        if name not in self._graphs:
            with self._device.record() as graph:
                queue()
            self._graphs[name] = graph
        self._graphs[name].launch()

    def _begin(self) -> None:
        job = self._job
        self._nodes.begin_tree(job)
        self._rows.find_maxima(job)
        self._rows.quantize_rows(job)
        self._nodes.plan_root(job)

    def _grow(self, first: int, last: int) -> None:
        """Queue steps [first, last)."""
        job = self._job
        for step in range(first, last):
            self._rows.build_histograms(job)
            if self._options.growth == layout.SYMMETRIC:
                self._nodes.score_level(job)
                self._nodes.choose_level_split(job)
            else:
                n_families = min(self._sizes.n_families, 1 << max(0, min(step - 1, 40)))
                self._nodes.score_nodes(job, n_families)
                self._nodes.choose_splits(job)
            self._rows.partition_rows(job)

    def _end(self) -> None:
        job = self._job
        self._rows.sum_leaves(job)
        self._nodes.set_values(job)
        self._rows.add_leaf_values(job)

    def _is_growing(self) -> bool:
        status = self._device.download(self._result.memory[:8]).view(np.int64)
        return int(status[0]) == layout.GROWING

    def _make_tree(self, copied: np.ndarray) -> Tree:
        """Return the tree of a copy of the device's result."""
        status, nodes, value, n_rows = self._result.read(copied)
        if status == layout.OUT_OF_RANGE:
            refuse_gradients()
        if not np.isfinite(value).all():
            refuse_value()
        by_node = keep_fields(nodes)
        by_node["split_bin"] = by_node["split_bin"].astype(np.uint8)
        place = self._threshold_start[by_node["feature"]] + by_node["split_bin"]
        return Tree(
            **by_node,
            threshold=self._thresholds[place],
            value=value[:, None].copy(),
            n_rows=n_rows.copy(),
        )

    # --- other rows ---

    def add_to_scores(
        self,
        tree: "Tree | PendingTree",
        rows: "DeviceArray | range | None",
        scores: DeviceArray,
    ) -> None:
        """Queue adding a tree's values to the scores of rows it was not grown on."""
        own = self._find_rows(rows)
        if tree is self._last:
            self._rows.add_grown_values(self._job, own, scores)
            return
        finished = finish_tree(tree)
        value = self._device.upload(finished.value[:, 0])
        steps = self._device.upload(_pack_steps(finished))
        self._rows.add_tree_values(self._table.columns, steps, value, own, scores)

    def find_leaves(
        self, tree: "Tree | PendingTree", rows: "DeviceArray | range | None"
    ) -> DeviceArray:
        """Return the leaf of each of ``rows``, among all rows of the table.

        As after growth, :meth:`get_leaves` returns them, too, with the anchors of the tree grown
        last.
        """
        leaf = self._buffers["leaf"]
        if self._options.growth == layout.SYMMETRIC:
            rows = None
        else:
            self._device.clear(leaf)
        steps = self._device.upload(_pack_steps(finish_tree(tree)))
        self._rows.find_leaves(self._table.columns, steps, self._find_rows(rows), leaf)
        return leaf

    # --- settings, and the tree grown last ---

    @property
    def settings(self) -> GrowthSettings:
        return self._settings

    def set_learning_rate(self, rate: float) -> None:
        """From the next tree on, values are multiplied by another rate."""
        self._settings = replace(self._settings, learning_rate=rate)

    def get_leaves(self, tree: "Tree | PendingTree") -> tuple[DeviceArray, np.ndarray]:
        """Return the leaf of each row of the last tree, and the anchor of each node."""
        assert self._last is not None
        _, nodes, _, _ = self._result.read(self._last.get_copy())
        return self._buffers["leaf"], nodes["anchor"].copy()


def _pack_steps(tree: Tree) -> np.ndarray:
    return pack_tree(tree.feature, tree.split_bin, tree.missing_left, tree.left)
