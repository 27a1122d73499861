"""DevicePredictor: the trees of boosting on a device, for many rows.

Rows are coded to bytes as on the CPU, see :mod:`sumwise.tree.predictor`: those of the host by the
host, those of the device by the device. Scores have the bits of the CPU: they are sums of the same
values in the same order.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sumwise.cuda.predict import COLUMN_BITS, LEFT_BITS, PREDICT, QUAD, CodedTrees
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.device import Device
from sumwise.cuda.runtime.structs import pack_struct
from sumwise.data.matrix import Matrix
from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.runtime.threads import Team
from sumwise.tree.trees import Trees

# Bytes of codes that are made at a time.
_CODE_BYTES = 1 << 24
_MOST_THREADS, _FEWEST_THREADS = 512, 32
# What a tree and a node need in shared memory, besides the word of the node.
_TREE_BYTES, _VALUE_BYTES = 12, 8
# A block has this much shared memory for its own: two blocks share a processor.
_BLOCKS_PER_PROCESSOR, _RESERVED = 2, 1024


class _Launch(NamedTuple):
    """Trees [first, last), and the shared memory that they need."""

    first: int
    last: int
    shared: int


class DevicePredictor:
    """Adds the values of trees, or finds their leaves, on a device.

    Parameters
    ----------
    device : Device
    trees : Trees
        Trees that add to one output each.
    output : ndarray of int32, shape (n_trees,)
        The output that a tree adds to.
    in_order : bool
        Whether trees are kept in their order, so that their values can be added tree by tree.
        Otherwise those of an output follow one another, which takes less time.
    """

    def __init__(
        self, device: Device, trees: Trees, output: np.ndarray, in_order: bool = False
    ) -> None:
        self.device = device
        tests, depth = trees.find_tests(), trees.find_depths()
        sizes, tree = np.diff(trees.start), np.repeat(np.arange(trees.n_trees), np.diff(trees.start))
        number = np.arange(trees.n_trees) if in_order else np.argsort(output, kind="stable")
        rank = np.argsort(number)
        # By depth, so that children still lie side by side.
        order = np.lexsort((depth, rank[tree]))
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        start = np.append(0, sizes[number].cumsum())
        nodes = np.arange(order.size)
        left = trees.find_children()
        left = place[np.where(left < 0, nodes, left)] - start[rank[tree]]

        self.n_columns = tests.n_columns
        self._plan(sizes.max(initial=0))
        word = np.uint32 if self._is_narrow else np.uint64
        shift = 8 + (COLUMN_BITS if self._is_narrow else 24)
        skip, column = tests.skip.astype(np.uint64), tests.column.astype(np.uint64)
        words = left.astype(np.uint64) << np.uint64(shift + 1) | skip << np.uint64(shift)
        words |= column << np.uint64(8) | tests.bound
        own_depth = np.zeros(trees.n_trees, dtype=np.int32)
        np.maximum.at(own_depth, tree, depth.astype(np.int32))
        leaf_node = nodes - trees.start[tree]
        values = trees.node_values()[:, 0]
        self._arrays = [
            device.upload(np.ascontiguousarray(array))
            for array in (
                words[order].astype(word),
                values[order],
                leaf_node[order].astype(np.int32),
                start.astype(np.int32),
                own_depth[number],
                output[number].astype(np.int32),
                number.astype(np.int32),
            )
        ]
        self._coded = pack_struct(CodedTrees(*self._arrays, self.n_columns))
        self._start = start

    def _plan(self, n_most_nodes: int) -> None:
        """Choose how trees are stored, and the threads of a block."""
        n_words = -(-self.n_columns // QUAD)
        room = self.device.shared_memory // _BLOCKS_PER_PROCESSOR - _RESERVED
        threads = _MOST_THREADS
        while threads > _FEWEST_THREADS and 4 * n_words * threads > room // 4:
            threads //= 2
        self._codes_shared = 4 * n_words * threads
        self._tree_room = room - self._codes_shared
        largest = _TREE_BYTES + (_VALUE_BYTES + 4) * n_most_nodes
        self._is_narrow = (
            self.n_columns <= 1 << COLUMN_BITS
            and n_most_nodes <= 1 << LEFT_BITS
            and largest <= self._tree_room
        )
        self._threads = threads if self._is_narrow else _MOST_THREADS // 2

    @property
    def n_trees(self) -> int:
        return self._start.size - 1

    def add_values(
        self, codes: DeviceArray, n_rows: int, out: DeviceArray, trees: slice = slice(None)
    ) -> None:
        """Add the values of the leaves that coded rows reach to ``out`` (n_rows, n_outputs)."""
        name = "add_narrow_predictions" if self._is_narrow else "add_wide_predictions"
        self._launch(name, codes, n_rows, out, trees)

    def find_leaves(self, codes: DeviceArray, n_rows: int, out: DeviceArray) -> None:
        """Write the leaves that coded rows reach to ``out`` (n_rows, n_trees)."""
        name = "find_narrow_leaves" if self._is_narrow else "find_wide_leaves"
        self._launch(name, codes, n_rows, out, slice(None))

    def _launch(
        self, name: str, codes: DeviceArray, n_rows: int, out: DeviceArray, trees: slice
    ) -> None:
        kernel = self.device.load(PREDICT)[name]
        first, last, _ = trees.indices(self.n_trees)
        for part in self._divide(first, last):
            n_blocks = min(
                self.device.count_blocks(kernel, self._threads, part.shared),
                -(-n_rows // self._threads),
            )
            rows = (codes, n_rows, self._coded, part.first, part.last, out, out.shape[1])
            self.device.launch(kernel, n_blocks, self._threads, rows, part.shared)

    def _divide(self, first: int, last: int) -> Iterator[_Launch]:
        """Yield parts of trees [first, last) whose nodes fit in shared memory."""
        if not self._is_narrow:
            yield _Launch(first, last, 0)
            return
        ends = (_VALUE_BYTES + 4) * self._start + _TREE_BYTES * np.arange(self._start.size)
        while first < last:
            end = int(np.searchsorted(ends, ends[first] + self._tree_room, side="right")) - 1
            end = min(end, last)
            yield _Launch(first, end, int(ends[end] - ends[first]) + self._codes_shared)
            first = end

    # --- rows ---

    def code_host_rows(
        self, trees: Trees, X: Matrix, team: Team
    ) -> Iterator[tuple[int, int, DeviceArray]]:
        """Yield (first row, last row, codes on the device) for parts of a matrix of the host."""
        n_blocks = max(1, _CODE_BYTES // (BLOCK * max(1, self.n_columns)))
        n_blocks = max(1, min(n_blocks, -(-X.shape[0] // BLOCK)))
        host = np.empty((n_blocks, self.n_columns, BLOCK), dtype=np.uint8)
        codes = self.device.allocate(host.shape, np.uint8)
        for start, rows in trees.code_rows(X, team):
            for first in range(0, rows.n_rows, n_blocks * BLOCK):
                last = min(first + n_blocks * BLOCK, rows.n_rows)
                rows.code(first, last, host, team)
                own = -(-(last - first) // BLOCK)
                self.device.write(host[:own], codes[:own])
                yield start + first, start + last, codes
