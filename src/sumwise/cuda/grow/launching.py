"""RowKernels: queue the kernels of a growing tree that visit rows.

======================  ======================  =======  ==============================
kernel                  blocks                  threads  shared memory
======================  ======================  =======  ==============================
find_maxima             that fill the device    256
quantize_rows           that fill the device    256
build_histograms        see ``_divide_tiles``   1,024    sums of the widest tile
partition_rows          that fill the device    256
sum_leaves              that fill the device    512      steps and sums of the tree
add_leaf_values         that fill the device    256
add_tree_values, ...    that fill the device    256      steps of the tree
======================  ======================  =======  ==============================

Where rows may be split by sets of categories, kernels that ask for their side have the suffix
``_by_set``.

Kernels with shared memory are told how much they have got, and do with less if need be.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.cuda.grow.program import GROW
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.device import Device
from sumwise.cuda.table import LANES

_THREADS, _BUILD_THREADS, _SUM_THREADS = 256, 1024, 512
# Bytes of a bin in shared memory: 3 words of 32 lanes if values are packed, 5 if they are exact.
_PACKED_BIN, _EXACT_BIN = 3 * 4 * LANES, 5 * 4 * LANES
_SUM_BYTES, _WALK_BYTES = 48 << 10, 16 << 10
# Blocks sum slices of tiles if they would have no more rows than this; see histogram.cu.
_SLICED_ROWS = 1024
_BY_SET, _SET_SKIP = "_by_set", np.uint64(2)
# The cost of a block that sums rows of a tile, in units of the cost of all its rows.
_BLOCK_COST = 0.002


class Rows(NamedTuple):
    """Rows that kernels visit."""

    numbers: Any  # DeviceArray of uint32, ascending; 0 for neighbors
    first: int  # the first one, if they are neighbors
    n_rows: int


class RowKernels:
    """The kernels that visit rows, with their grids; ``job`` is a packed :class:`~layout.Job`.

    Parameters
    ----------
    device : Device
    n_rows : int
        Most rows of a tree on this device.
    tile_bins : ndarray of int64
        Bins of each tile.
    has_sets : bool
        Whether trees may have splits by sets of categories.
    """

    def __init__(
        self, device: Device, n_rows: int, tile_bins: np.ndarray, has_sets: bool = False
    ) -> None:
        self._device, self._kernels = device, device.load(GROW)
        self._suffix = _BY_SET if has_sets else ""
        self._n_rows = n_rows
        largest = int(tile_bins.max(initial=0))
        # Packed sums are the rule; memory that exact sums would need is no more use to others.
        self._build_bytes = min(device.shared_memory, largest * _EXACT_BIN)
        n_tiles = tile_bins.size
        self._build_blocks = (_divide_tiles(max(1, n_tiles), device.n_processors), n_tiles)

    # --- before the tree grows ---

    def find_maxima(self, job: bytes) -> None:
        self._launch("find_maxima", (job,), self._n_rows)

    def quantize_rows(self, job: bytes) -> None:
        self._launch("quantize_rows", (job,), self._n_rows)

    # --- while it grows ---

    def build_histograms(self, job: bytes) -> None:
        if self._build_blocks[1] == 0:  # no feature can be split
            return
        kernel, shared = self._kernels["build_histograms"], self._build_bytes
        arguments = (job, shared, _SLICED_ROWS * self._build_blocks[0])
        self._device.launch(kernel, self._build_blocks, _BUILD_THREADS, arguments, shared)

    def partition_rows(self, job: bytes) -> None:
        self._launch("partition_rows" + self._suffix, (job,), self._n_rows)

    # --- when it is complete ---

    def sum_leaves(self, job: bytes) -> None:
        arguments = (job, _SUM_BYTES)
        name = "sum_leaves" + self._suffix
        self._launch(name, arguments, self._n_rows, _SUM_THREADS, _SUM_BYTES)

    def add_leaf_values(self, job: bytes) -> None:
        self._launch("add_leaf_values", (job,), self._n_rows)

    # --- other rows, other trees ---

    def add_grown_values(self, job: bytes, rows: Rows, scores: DeviceArray) -> None:
        """Add the values of the tree that was grown last to the scores of other rows."""
        arguments = (job, *rows, scores, _WALK_BYTES)
        name = "add_grown_values" + self._suffix
        self._launch(name, arguments, rows.n_rows, shared=_WALK_BYTES)

    def pack_steps(self, job: bytes, n_nodes: int, steps: DeviceArray) -> None:
        """Write the steps of the tree that was grown last; of ``n_nodes`` at most."""
        self._launch("pack_steps", (job, steps), n_nodes)

    def add_tree_values(
        self,
        columns: DeviceArray,
        steps: DeviceArray,
        value: DeviceArray,
        rows: Rows,
        scores: DeviceArray,
        sets: DeviceArray | None = None,
    ) -> None:
        """Add the values of a finished tree to the scores of rows; see :func:`pack_tree`.

        ``sets`` has the bins that go left by node, 256 bits each; None for a tree without sets.
        """
        tree = (columns, columns.shape[1], steps, steps.size, value)
        self._walk("add_tree_values", tree, rows, scores, sets)

    def find_leaves(
        self,
        columns: DeviceArray,
        steps: DeviceArray,
        rows: Rows,
        leaves: DeviceArray,
        sets: DeviceArray | None = None,
    ) -> None:
        """Write the leaves of rows in a finished tree, by row of the table."""
        tree = (columns, columns.shape[1], steps, steps.size)
        self._walk("find_leaves", tree, rows, leaves, sets)

    def _walk(
        self,
        name: str,
        tree: tuple[Any, ...],
        rows: Rows,
        target: DeviceArray,
        sets: DeviceArray | None,
    ) -> None:
        """Queue a kernel whose rows walk through a finished tree."""
        arguments: tuple[Any, ...] = (*tree, *rows, target, _WALK_BYTES)
        if sets is not None:
            name, arguments = name + _BY_SET, (*arguments, sets)
        self._launch(name, arguments, rows.n_rows, shared=_WALK_BYTES)

    def _launch(
        self,
        name: str,
        arguments: tuple[Any, ...],
        n_items: int,
        n_threads: int = _THREADS,
        shared: int = 0,
    ) -> None:
        """Queue a kernel with as many blocks as the device holds, or fewer if these suffice."""
        kernel = self._kernels[name]
        most = self._device.count_blocks(kernel, n_threads, shared)
        n_blocks = max(1, min(most, -(-n_items // n_threads)))
        self._device.launch(kernel, n_blocks, n_threads, arguments, shared)


def pack_tree(
    feature: np.ndarray,
    split_bin: np.ndarray,
    missing_left: np.ndarray,
    left: np.ndarray,
    set_node: np.ndarray | None = None,
) -> np.ndarray:
    """Return the steps of a finished tree, one word per node: see split_test.cuh.

    ``set_node`` lists the nodes that split by sets.
    """
    skip = (missing_left == 0).astype(np.uint64)
    if set_node is not None:
        skip[set_node] = _SET_SKIP
    bound = (split_bin.astype(np.uint64) - skip) & np.uint64(255)
    words = left.astype(np.uint64) << np.uint64(40) | feature.astype(np.uint64) << np.uint64(16)
    return np.where(left < 0, np.uint64(0), words | skip << np.uint64(8) | bound)


def _divide_tiles(n_tiles: int, n_processors: int) -> int:
    """Return how many blocks sum the rows of a tile: one block runs on a processor at a time."""

    def estimate_time(n_blocks: int) -> float:
        n_waves = -(-n_blocks * n_tiles // n_processors)
        return n_waves * (1.0 / n_blocks + _BLOCK_COST)

    return min(range(1, n_processors + 1), key=estimate_time)
