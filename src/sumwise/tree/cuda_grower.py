"""CudaGrower: grows trees on devices, with the methods and the bytes of :class:`TreeGrower`.

A tree is a fixed sequence of kernels (see cuda/grow/layout.py). They are recorded once as a graph;
for each tree, the host writes what is asked for and queues the graph. It waits for nothing: what
:meth:`CudaGrower.grow_on_gradients` returns is a :class:`PendingTree`.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from sumwise.cuda.grow.launching import pack_tree
from sumwise.cuda.grow.layout import Request
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.structs import pack_struct
from sumwise.data.binning import BinMapper
from sumwise.data.device_table import DeviceTable
from sumwise.kernels.grow import layout
from sumwise.kernels.grow.feature_sampling import draw_tree_features
from sumwise.kernels.grow.isotonic import project_leaf_values
from sumwise.sampling.columns import Columns
from sumwise.tree.constraints import allocate_constraints
from sumwise.tree.cuda_categories import list_sets, pack_sets
from sumwise.tree.cuda_result import GrownTree
from sumwise.tree.cuda_rows import DeviceRows, DividedRows, meet
from sumwise.tree.cuda_sequence import MEET, Launch, list_begin, list_end, list_steps
from sumwise.tree.cuda_share import DeviceShare
from sumwise.tree.grower import keep_fields, refuse_gradients, refuse_value
from sumwise.tree.growth import GrowthSettings
from sumwise.tree.pending_tree import PendingTree, finish_tree
from sumwise.tree.tree import Tree

# Steps of a graph. Trees that may need more of them are asked in between whether they grow.
# Several devices have no common graph: a step takes the host some time.
_MOST_STEPS, _FEW_STEPS = 64, 8
# Trees that are not finished. More would take memory, and time in the end, when the device has
# nothing to do; fewer would let it wait for the host.
_MOST_PENDING = 16


class CudaGrower:
    """Grows trees on one binned table on a device, or on several ones that share the rows.

    Gradients, scores and row numbers are those of all rows, on the first device.

    Parameters
    ----------
    table : DeviceTable or sequence of DeviceTable
        Several: parts of the rows in their order, with the same features.
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
        table: DeviceTable | Sequence[DeviceTable],
        mapper: BinMapper,
        settings: GrowthSettings,
        columns: Columns,
        n_rows: int,
        exact_rows: int = layout.EXACT_ROWS,
    ) -> None:
        tables = _list_tables(table)
        n_features = tables[0].n_features
        self._settings, self._exact_rows, self._n_rows = settings, exact_rows, n_rows
        self._thresholds, self._threshold_start = mapper.flatten()
        self._options = settings.make_options(columns, n_rows, n_features)
        self._is_symmetric = self._options.growth == layout.SYMMETRIC
        self._rows, self._devices = DividedRows(tables), [table.device for table in tables]
        # By the first table; a table seen once more is the same object.
        self._known: dict[int, list[DeviceShare]] = {}
        self._shares: list[DeviceShare] = []
        self._open_shares(tables)
        self._allowed = np.zeros((int(layout.CHILD), n_features), dtype=np.uint8)
        self._has_drawn = False
        self._last: PendingTree | None = None
        self._pending: deque[PendingTree] = deque()
        depth = self._options.max_depth if self._is_symmetric else 0
        self._constraints = allocate_constraints(
            settings.constraints, n_features, self._share.sizes.n_nodes, depth
        )
        # The leaves of symmetric trees are projected on the host.
        self._projects = self._is_symmetric and self._constraints.any_direction
        self._all_leaves: DeviceArray | None = None

    # --- tables ---

    def _open_shares(self, tables: Sequence[DeviceTable]) -> None:
        """Use what grows trees on tables; make it at the first time."""
        number = id(tables[0])
        older: Sequence[DeviceShare | None] = self._shares or [None] * len(tables)
        if number not in self._known:
            options = (self._settings, self._options)
            shares = [
                DeviceShare(
                    table,
                    *options,
                    min(self._n_rows, table.n_rows),
                    self._exact_rows,
                    len(tables),
                    old,
                )
                for table, old in zip(tables, older, strict=True)
            ]
            for share in shares:
                share.connect(shares)
            if any(share.has_new_buffers for share in shares):
                self._known = {}  # all use the larger ones from now on
            self._known[number] = shares
        self._shares = self._known[number]

    @property
    def _share(self) -> DeviceShare:
        """What grows trees on the first device."""
        return self._shares[0]

    def turn_to(self, table: DeviceTable | Sequence[DeviceTable]) -> None:
        """From now on use another table with the same rows and the same bins."""
        tables = _list_tables(table)
        if tables[0] is not self._share.table:
            self._open_shares(tables)
            self._has_drawn = False

    # --- growing ---

    def grow_on_gradients(
        self,
        gradient: DeviceArray,
        hessian: DeviceArray,
        rows: DeviceRows,
        key: np.uint64,
        scores: DeviceArray | None,
    ) -> PendingTree:
        """Queue growing a tree on gradients, and adding its values to the scores of ``rows``.

        ``scores`` may be None or empty.
        """
        added_to = scores if scores is not None and scores.size else None
        self._write_requests(gradient, hessian, rows, key, added_to)
        self._draw_features(key)
        self._queue_tree()
        if self._projects:
            self._project_values()
        if added_to is not None:
            self._rows.collect("scores", added_to)
        self._last = self._read_later(self._make_tree)
        return self._last

    def _read_later(self, make_tree: Callable[[np.ndarray], Tree]) -> PendingTree:
        """Return the tree on the device, when it will be there."""
        later = self._share.device.download_later(self._share.result.memory)
        pending = PendingTree(later, make_tree)
        self._pending.append(pending)
        if len(self._pending) > _MOST_PENDING:
            self._pending.popleft().finish()
        return pending

    def _write_requests(
        self,
        gradient: DeviceArray,
        hessian: DeviceArray,
        rows: DeviceRows,
        key: np.uint64,
        scores: DeviceArray | None,
    ) -> None:
        """Tell each device what tree is asked for."""
        own_rows = self._rows.divide(rows)
        no_scores: list[Any] = [0] * len(self._shares)
        by_device: list[Any] = [
            self._rows.spread("gradient", gradient),
            self._rows.spread("hessian", hessian),
            no_scores if scores is None else self._rows.spread("scores", scores),
        ]
        for share, own, g, h, target in zip(self._shares, own_rows, *by_device, strict=True):
            request = Request(
                key=key,
                gradient=g,
                hessian=h,
                rows=own.numbers,
                first_row=own.first,
                n_rows=own.n_rows,
                all_rows=sum(part.n_rows for part in own_rows),
                scores=target,
                learning_rate=float(self._settings.learning_rate),
            )
            share.write_request(pack_struct(request))

    def _draw_features(self, key: np.uint64) -> None:
        """Draw the features of a tree, and tell the device."""
        if self._has_drawn and self._options.columns_by_tree >= 1.0:
            return
        self._allowed[layout.USABLE] = self._share.table.usable
        draw_tree_features(self._allowed, self._options, key)
        for share in self._shares:
            share.write_features(self._allowed)
        self._has_drawn = True

    def _queue_tree(self) -> None:
        """Queue the kernels of a tree."""
        begin, end = list_begin(), list_end(not self._projects)
        n_steps = self._share.sizes.n_steps
        meet(self._devices)
        at_once = _MOST_STEPS if len(self._shares) == 1 else _FEW_STEPS
        if n_steps <= at_once:
            self._play([*begin, *self._list_steps(0, n_steps), *end])
            return
        self._play(begin)
        for first in range(0, n_steps, at_once):
            if first and not self._is_growing():
                break
            self._play(self._list_steps(first, first + at_once))
        self._play(end)

    def _list_steps(self, first: int, last: int) -> list[Launch]:
        return list_steps(self._options.growth, self._share.sizes.n_families, first, last)

    def _play(self, launches: list[Launch]) -> None:
        """Queue kernels on all devices; these meet where one reads what others have written."""
        if len(self._shares) == 1:
            self._share.play([launch for launch in launches if launch is not MEET])
            return
        begin = 0
        for end in [*(i for i, launch in enumerate(launches) if launch is MEET), len(launches)]:
            if end > begin:
                for share in self._shares:
                    share.play(launches[begin:end])
                meet(self._devices)
            begin = end + 1

    def _is_growing(self) -> bool:
        status = self._share.device.download(self._share.result.memory[:8]).view(np.int64)
        return int(status[0]) == layout.GROWING

    def _make_tree(
        self, copied: np.ndarray, refuse_value: Callable[[], object] = refuse_value
    ) -> Tree:
        """Return the tree of a copy of the device's result."""
        status, nodes, value, n_rows = self._share.result.read(copied)
        if status == layout.OUT_OF_RANGE:
            refuse_gradients()
        if not np.isfinite(value).all():
            refuse_value()
        by_node = keep_fields(nodes)
        by_node["split_bin"] = by_node["split_bin"].astype(np.uint8)  # of a set 0
        place = self._threshold_start[by_node["feature"]] + by_node["split_bin"]
        threshold = self._thresholds[place]
        sets: dict[str, Any] = {}
        categories = self._share.table.categories
        if categories is not None:
            bits = self._share.result.read_sets(copied, nodes.size)
            sets = list_sets(nodes, bits, categories.known)
            threshold[sets["set_node"]] = 0.0
        return Tree(
            **by_node,
            threshold=threshold,
            value=value[:, None].copy(),
            n_rows=n_rows.copy(),
            **sets,
        )

    # --- new values ---

    @property
    def grown_tree(self) -> GrownTree:
        """The tree that was grown last, on the first device."""
        return self._share.result.grown

    def replace_values(self, value: DeviceArray, refuse_value: Callable[[], object]) -> PendingTree:
        """Return the tree that was grown last with other values, one for each node it may have.

        ``refuse_value`` raises the error of a value that is not finite.
        """
        meet(self._devices)
        for share in self._shares:
            share.device.copy(value, share.result.find_values(value.size))
        self._last = self._read_later(partial(self._make_tree, refuse_value=refuse_value))
        return self._last

    # --- constraints ---

    @property
    def has_directions(self) -> bool:
        """Whether values must obey monotone constraints."""
        return bool(self._constraints.any_direction)

    def _project_values(self) -> None:
        """Project the leaves of a symmetric tree; then add their values to the scores."""
        first = self._share
        status, nodes, value, _ = first.result.read(first.device.download(first.result.memory))
        if status != layout.OUT_OF_RANGE:
            projected = self._project(nodes, value)
            for share in self._shares:
                share.write_values(projected)
        self._play([("add_leaf_values",)])

    def _project(self, nodes: np.ndarray, value: np.ndarray) -> np.ndarray:
        limits, projected = self._constraints, value.copy()
        buffers = limits.chains, limits.pools, limits.scratch
        n_value_bins = self._share.table.n_value_bins.to_host()
        own = nodes.copy(), nodes.size
        project_leaf_values(limits.direction, n_value_bins, *own, *buffers, projected)
        return projected

    def constrain_values(self, value: np.ndarray) -> np.ndarray:
        """Return values for the nodes of the tree just grown that obey the monotone constraints.

        As :meth:`TreeGrower.constrain_values`; ``value`` is on the host.
        """
        if not self._constraints.any_direction:
            return value
        if self._is_symmetric:
            return self._project(self._read_nodes(), value)
        lower, upper = self._share.get_bounds(value.size)
        rate = self._settings.learning_rate
        return np.clip(value, rate * lower, rate * upper)

    # --- rows and leaves ---

    def add_to_scores(
        self, tree: Tree | PendingTree, rows: DeviceRows, scores: DeviceArray
    ) -> None:
        """Queue adding a tree's values to the scores of rows it was not grown on."""
        own_rows, own_scores = self._rows.divide(rows), self._rows.spread("scores", scores)
        finished = None if tree is self._last else finish_tree(tree)
        for share, own, target in zip(self._shares, own_rows, own_scores, strict=True):
            if own.n_rows == 0:
                continue
            if finished is None:
                share.row_kernels.add_grown_values(share.job, own, target)
            else:
                value = share.device.upload(finished.value[:, 0])
                steps, sets = _upload_splits(finished, share)
                columns = share.table.columns
                share.row_kernels.add_tree_values(columns, steps, value, own, target, sets)
        self._rows.collect("scores", scores)

    def find_leaves(self, tree: Tree | PendingTree, rows: DeviceRows) -> DeviceArray:
        """Return the leaf of each of ``rows``, among all rows of the table.

        As after growth, :meth:`get_leaves` returns them, too, with the anchors of the tree grown
        last.
        """
        finished = finish_tree(tree)
        own_rows = self._rows.divide(None if self._is_symmetric else rows)
        for share, own in zip(self._shares, own_rows, strict=True):
            if not self._is_symmetric:
                share.device.clear(share.leaf)
            if own.n_rows:
                uploaded, sets = _upload_splits(finished, share)
                columns = share.table.columns
                share.row_kernels.find_leaves(columns, uploaded, own, share.leaf, sets)
        return self.gather_leaves()

    def get_leaves(self, tree: Tree | PendingTree) -> tuple[DeviceArray, np.ndarray]:
        """Return the leaf of each row of the last tree, and the anchor of each node.

        The rows of its anchor determine the value of a node.
        """
        return self.gather_leaves(), self._read_nodes()["anchor"].copy()

    def gather_leaves(self) -> DeviceArray:
        """Return the leaf of each row of the last tree, on the first device."""
        if len(self._shares) == 1:
            return self._share.leaf
        if self._all_leaves is None:
            self._all_leaves = self._share.device.allocate(self._rows.n_rows, np.uint32)
        self._rows.gather([share.leaf for share in self._shares], self._all_leaves)
        return self._all_leaves

    def _read_nodes(self) -> np.ndarray:
        """Return the nodes of the tree that was grown last; wait for them."""
        assert self._last is not None
        return self._share.result.read(self._last.get_copy())[1]

    # --- settings ---

    @property
    def settings(self) -> GrowthSettings:
        return self._settings

    def set_learning_rate(self, rate: float) -> None:
        """From the next tree on, values are multiplied by another rate."""
        self._settings = replace(self._settings, learning_rate=rate)


def _list_tables(table: DeviceTable | Sequence[DeviceTable]) -> Sequence[DeviceTable]:
    return [table] if isinstance(table, DeviceTable) else table


def _upload_splits(tree: Tree, share: DeviceShare) -> tuple[DeviceArray, DeviceArray | None]:
    """Upload the steps of a finished tree, and its sets if it has any."""
    own = (tree.feature, tree.split_bin, tree.missing_left, tree.left, tree.set_node)
    categories = share.table.categories
    sets = pack_sets(tree, None if categories is None else categories.known)
    upload = share.device.upload
    return upload(pack_tree(*own)), None if sets is None else upload(sets)
