"""DevicePredictor: the trees of boosting on a device, for many rows.

Rows are coded to bytes as on the CPU, see :mod:`sumwise.tree.predictor`: by the device, or by the
host if that is quicker; the codes are the same. Scores have the bits of the CPU: they are sums of
the same values in the same order.
"""

from collections.abc import Iterator
from itertools import cycle
from typing import NamedTuple

import numpy as np

from sumwise.cuda.predict import MOST_NODES, PREDICT, CodedTrees
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.device import Device
from sumwise.cuda.runtime.structs import pack_struct
from sumwise.cuda.table import QUAD
from sumwise.data.device_matrix import DenseValues, DeviceMatrix
from sumwise.data.device_sending import count_rows_sent, is_better_sent, send_rows
from sumwise.data.matrix import Matrix, read_chunks
from sumwise.errors import DeviceError
from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.predict.coding import CodeColumns
from sumwise.kernels.runtime.threads import Team
from sumwise.tree.device_coder import DeviceCoder
from sumwise.tree.split_tests import SplitTests
from sumwise.tree.trees import Trees

# Bytes of codes that are made at a time: fewer of those that travel.
_HOST_CODE_BYTES, _DEVICE_CODE_BYTES = 1 << 23, 1 << 26
_MOST_THREADS, _FEWEST_THREADS = 512, 32
# What a tree and a node need in shared memory.
_TREE_BYTES, _NODE_BYTES = 12, 16
# Two blocks share a processor, which keeps some of its memory.
_BLOCKS_PER_PROCESSOR, _RESERVED = 2, 1024


class _Launch(NamedTuple):
    """Trees [first, last), and the shared memory that they need."""

    first: int
    last: int
    shared: int


class _Format(NamedTuple):
    """Where trees and codes are read from: near or far; see scoring.cu."""

    is_near: bool
    n_threads: int
    code_bytes: int  # of the rows of a block, in shared memory
    tree_bytes: int  # room for trees

    @classmethod
    def choose(cls, device: Device, n_columns: int, n_most_nodes: int) -> "_Format":
        """Choose the format for trees of so many columns of codes, and of nodes in a tree."""
        room = device.shared_memory // _BLOCKS_PER_PROCESSOR - _RESERVED
        row_bytes = QUAD * -(-n_columns // QUAD)
        n_threads = _MOST_THREADS
        while n_threads > _FEWEST_THREADS and row_bytes * n_threads > room // 4:
            n_threads //= 2
        tree_bytes = room - row_bytes * n_threads
        if _TREE_BYTES + _NODE_BYTES * n_most_nodes > tree_bytes:
            return cls(False, _MOST_THREADS // 2, 0, 0)
        return cls(True, n_threads, row_bytes * n_threads, tree_bytes)

    def pack_nodes(self, left: np.ndarray, tests: SplitTests) -> np.ndarray:
        """Return the words of nodes; ``left`` counts within the tree, and a leaf is its own."""
        column = tests.column.astype(np.uint64)
        if self.is_near:
            quad, byte = np.divmod(column, np.uint64(QUAD))
            offset = quad * np.uint64(QUAD * self.n_threads) + byte
        else:
            offset = column * np.uint64(BLOCK)
        skip, bound = tests.skip.astype(np.uint64), tests.bound.astype(np.uint64)
        high = left.astype(np.uint64) << np.uint64(8) | bound
        return high << np.uint64(32) | skip << np.uint64(31) | offset


class DevicePredictor:
    """Adds the values of trees, or finds their leaves, on a device.

    Parameters
    ----------
    device : Device
    trees : Trees
        Trees that add to one output each.
    output : ndarray of int32, shape (n_trees,)
        The output that a tree adds to.
    columns : CodeColumns
        What codes values on the device.
    """

    def __init__(
        self, device: Device, trees: Trees, output: np.ndarray, columns: CodeColumns
    ) -> None:
        self.device, self._trees, self._columns = device, trees, columns
        self._coders: dict[np.dtype, DeviceCoder] = {}
        tests = trees.find_tests()
        self.n_columns = tests.n_columns
        sizes = np.diff(trees.start)
        if sizes.max(initial=0) > MOST_NODES:
            raise DeviceError(f"a tree of more than {MOST_NODES} nodes cannot predict on a GPU")
        self._format = _Format.choose(device, self.n_columns, int(sizes.max(initial=0)))
        # The trees of an output follow one another: a sum stays in a register.
        number = np.argsort(output, kind="stable")
        rank = np.argsort(number)
        self._start = start = np.append(0, sizes[number].cumsum())
        tree, depth = np.repeat(np.arange(trees.n_trees), sizes), trees.find_depths()
        # By depth: both children of a node still lie side by side.
        order = np.lexsort((depth, rank[tree]))
        place = np.empty_like(order)
        place[order] = np.arange(order.size)
        nodes, left = np.arange(order.size), trees.find_children()
        left = place[np.where(left < 0, nodes, left)] - start[rank[tree]]
        depths = np.zeros(trees.n_trees, dtype=np.int32)
        np.maximum.at(depths, tree, depth.astype(np.int32))
        self._arrays = [
            device.upload(np.ascontiguousarray(array))
            for array in (
                self._format.pack_nodes(left, tests)[order],
                trees.node_values()[order, 0],
                (nodes - trees.start[tree])[order].astype(np.int32),
                start.astype(np.int32),
                depths[number],
                output[number].astype(np.int32),
                number.astype(np.int32),
            )
        ]
        self._coded = pack_struct(CodedTrees(*self._arrays, self.n_columns))

    @property
    def n_trees(self) -> int:
        return self._start.size - 1

    def add_values(self, X: Matrix | DeviceMatrix, out: DeviceArray, team: Team) -> None:
        """Add the values of the leaves that rows reach to ``out`` (n_rows, n_outputs)."""
        self._code_and_walk(X, "add", "predictions", out, team)

    def find_leaves(self, X: Matrix | DeviceMatrix, out: DeviceArray, team: Team) -> None:
        """Write the leaves that rows reach to ``out`` (n_rows, n_trees), int32."""
        self._code_and_walk(X, "find", "leaves", out, team)

    def _code_and_walk(
        self, X: Matrix | DeviceMatrix, verb: str, what: str, out: DeviceArray, team: Team
    ) -> None:
        """Code a batch of rows, launch a kernel for them, then the next."""
        if isinstance(X, DeviceMatrix):
            codes = self._allocate_codes(X.n_rows, _DEVICE_CODE_BYTES)
            batches = self._code_there(X.values, slice(0, X.n_rows), codes)
        elif self._is_better_sent(X, team):
            batches = self._send_and_code(X, team)
        else:
            batches = self._code_on_host(X, team)
        for rows, codes in batches:
            self._walk(verb, what, codes, out[rows])

    def _allocate_codes(self, n_rows: int, most_bytes: int) -> DeviceArray:
        """Return room for the codes of so many rows, or fewer if they need too many bytes."""
        n_blocks = min(most_bytes // (BLOCK * max(1, self.n_columns)), -(-n_rows // BLOCK))
        return self.device.allocate((max(1, n_blocks), self.n_columns, BLOCK), np.uint8)

    def _is_better_sent(self, X: Matrix, team: Team) -> bool:
        """Whether the device should code rows of the host: not a few, and not categories."""
        has_sets = self._columns.memberships is not None
        return X.shape[0] >= BLOCK and not has_sets and is_better_sent(X, self.n_columns, team)

    def _code_there(
        self, values: DenseValues, rows: slice, codes: DeviceArray
    ) -> Iterator[tuple[slice, DeviceArray]]:
        """Code values that are on the device, those of some rows; yield which ones."""
        coder, n_together = self._find_coder(values.dtype), len(codes) * BLOCK
        for first in range(0, rows.stop - rows.start, n_together):
            last = min(first + n_together, rows.stop - rows.start)
            coder.code(values, first, last, codes)
            yield slice(rows.start + first, rows.start + last), codes

    def _send_and_code(self, X: Matrix, team: Team) -> Iterator[tuple[slice, DeviceArray]]:
        """Send rows of the host, and code them on the device; yield which ones."""
        for start, part in read_chunks(X):
            dtype, n_features = part.values.dtype, X.shape[1]
            self._find_coder(dtype)  # it needs pinned memory too: not at the same time
            n_rows = min(part.n_rows, count_rows_sent(n_features, dtype))
            codes = self._allocate_codes(n_rows, _DEVICE_CODE_BYTES)
            for rows, values in send_rows(self.device, part, n_features, team):
                own = slice(start + rows.start, start + rows.stop)
                yield from self._code_there(values, own, codes)

    def _code_on_host(self, X: Matrix, team: Team) -> Iterator[tuple[slice, DeviceArray]]:
        """Code rows of the host and send the codes, while those before are walked on."""
        codes = self._allocate_codes(X.shape[0], _HOST_CODE_BYTES)
        n_together = len(codes) * BLOCK
        with self.device.lend_slots(codes.nbytes) as slots:
            turns = cycle(slots)
            for start, part in self._trees.code_rows(X, team):
                for first in range(0, part.n_rows, n_together):
                    last = min(first + n_together, part.n_rows)
                    own, slot = codes[: -(-(last - first) // BLOCK)], next(turns)
                    slot.wait()
                    on_host = slot.memory[: own.nbytes].reshape(own.shape)
                    part.code(first, last, on_host, team)
                    self.device.write_from(slot, on_host, own)
                    yield slice(start + first, start + last), codes

    def _find_coder(self, dtype: np.dtype) -> DeviceCoder:
        if dtype not in self._coders:
            self._coders[dtype] = DeviceCoder(self.device, self._columns, dtype)
        return self._coders[dtype]

    def _walk(self, verb: str, what: str, codes: DeviceArray, out: DeviceArray) -> None:
        """Launch a kernel for parts of the trees, in their order."""
        where = "near" if self._format.is_near else "far"
        kernel = self.device.load(PREDICT)[f"{verb}_{where}_{what}"]
        n_rows, n_threads = len(out), self._format.n_threads
        for part in self._divide_trees():
            most = self.device.count_blocks(kernel, n_threads, part.shared)
            n_blocks = min(most, -(-n_rows // n_threads))
            trees = (self._coded, part.first, part.last)
            arguments = (codes, n_rows, *trees, out, out.shape[1])
            self.device.launch(kernel, n_blocks, n_threads, arguments, part.shared)

    def _divide_trees(self) -> Iterator[_Launch]:
        """Yield parts of the trees whose nodes fit in shared memory."""
        first, n_trees = 0, self.n_trees
        if not self._format.is_near:
            yield _Launch(0, n_trees, 0)
            return
        ends = _NODE_BYTES * self._start + _TREE_BYTES * np.arange(n_trees + 1)
        while first < n_trees:
            last = np.searchsorted(ends, ends[first] + self._format.tree_bytes, side="right") - 1
            yield _Launch(first, int(last), int(ends[last] - ends[first]) + self._format.code_bytes)
            first = int(last)
