"""DeviceWalks: trees on a device, prepared for explanations."""

from typing import Any

import numpy as np

from sumwise.cuda.explain import (
    COLUMN_SHIFT,
    ENTERS_LOW,
    LEVEL_BITS,
    LOW_LEVELS,
    MOST_LEVELS,
    MOST_POINTS,
    NO_LEVEL,
    RECORD_ITEMS,
    SKIP_SHIFT,
    SPLIT,
    START,
    SUM_PITCH,
    THREADS,
    WORD_SHIFT,
    Scratch,
    Walks,
)
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.device import Device
from sumwise.cuda.runtime.program import Program
from sumwise.cuda.runtime.structs import pack_struct
from sumwise.errors import DeviceError
from sumwise.inspection.tree_walks import TreeWalks
from sumwise.kernels.explain.walks import GO_LEFT, GO_RIGHT, OPEN, Splits

_OPERATION, _SPLIT_SHIFT = 3, 2  # of words of the CPU's tape
_ITEM = 8
_SCRATCH_BYTES = 1 << 30
# Sums are in shared memory if so many blocks of a processor have room there.
_BLOCKS_WITH_SUMS = 4
_BLOCKS_FOR_SPLITS = 16  # per processor


class DeviceWalks:
    """What kernels need to know of trees, apart from the rows.

    Parameters
    ----------
    device : Device
    walks : TreeWalks
    program : Program
        Has ``fill_table``.

    Attributes
    ----------
    device : Device
    packed : bytes
        The structure that kernels take.
    n_points : ndarray of int64, shape (n_trees,)
        Points of integration.
    """

    def __init__(self, device: Device, walks: TreeWalks, program: Program) -> None:
        if walks.n_levels > MOST_LEVELS:
            raise DeviceError(
                f"a tree has {walks.n_levels} levels of splits, and a GPU explains up to "
                f"{MOST_LEVELS}: with set_params(device='cpu') the model explains any"
            )
        self.device, self._program, self._host = device, program, walks
        n_trees, n_splits, splits = walks.trees.n_trees, walks.n_splits, walks.splits
        self.n_points = n_points = np.maximum(1, (walks.tape.n_unique + 1) // 2)
        n_items = (RECORD_ITEMS + 4 * n_points) * n_splits
        words, first_word, self._n_high_levels = _list_operations(walks)
        self._walks = Walks(
            splits=self._send(_pack_splits(splits)),
            slot=self._send(splits.slot.astype(np.int32)),
            tree=self._send(np.repeat(np.arange(n_trees, dtype=np.int32), n_splits)),
            share=self._send(splits.share),
            kept=self._send(splits.kept),
            value=self._send(walks.value),
            first_split=self._send(np.append(0, n_splits.cumsum())),
            n_points=self._send(n_points),
            first_record=self._send(n_items.cumsum() - n_items),
            words=self._send(words),
            first_word=self._send(first_word),
            point=self._send(walks.rules.point),
            weight=self._send(walks.rules.weight),
            records=device.allocate(max(1, int(n_items.sum())), np.float64),
            n_splits=splits.node.size,
            n_trees=n_trees,
            n_columns=walks.value.shape[1],
            n_groups=walks.trees.n_groups,
            n_most_points=walks.rules.point.shape[1],
        )
        self.packed = self._fill_table(self._walks)

    def place_sums(self, kernel: Any, n_rows: int) -> tuple[int, int, int]:
        """Choose the launch of a kernel with a thread per row, and where sums of features are.

        Returns
        -------
        n_blocks : int
            As many as the rows need or the device holds.
        shared : int
            Bytes of shared memory for the sums, 0 if there is too little.
        n_slots : int
            Sums that other memory has, then.
        """
        n_slots, device = self._host.features.size, self.device
        shared = _ITEM * SUM_PITCH * n_slots
        if shared * _BLOCKS_WITH_SUMS > device.shared_memory:
            shared = 0
        n_blocks = min(device.count_blocks(kernel, THREADS, shared), -(-n_rows // THREADS))
        return n_blocks, shared, 0 if shared else n_slots

    def replace_tests(self, test: np.ndarray, bound: int, slot: np.ndarray) -> bytes:
        """Return the structure with other tests, ``codes[test] <= bound``, and other slots."""
        own = self._host.splits
        bounds = np.full_like(own.bound, bound)
        splits = own._replace(column=test, skip=np.zeros_like(own.skip), bound=bounds)
        self._replaced = self._walks._replace(  # kept as long as this object
            splits=self._send(_pack_splits(splits)),
            slot=self._send(slot.astype(np.int32)),
            records=self.device.allocate(self._walks.records.shape, np.float64),
        )
        return self._fill_table(self._replaced)

    def _fill_table(self, walks: Any) -> bytes:
        """Write the records of splits; return the structure with them."""
        packed, n_blocks = pack_struct(walks), self.count_split_blocks()
        if n_blocks:
            kernel = self.device.load(self._program)["fill_table"]
            self.device.launch(kernel, n_blocks, THREADS, (packed,))
        return packed

    def count_split_blocks(self) -> int:
        """Return the number of blocks of a kernel with a thread per split; 0 without splits."""
        n_splits = self._host.splits.node.size
        return min(-(-n_splits // THREADS), _BLOCKS_FOR_SPLITS * self.device.n_processors)

    def allocate_scratch(
        self, n_blocks: int, n_slots: int = 0, n_pairs: int = 0, pairs_of_trees: Any = 0
    ) -> tuple[int, Any]:
        """Return how many blocks have room for scratch memory, and that memory.

        ``n_slots`` are sums that are not in shared memory. ``pairs_of_trees`` has the number of
        pairs that the splits of each tree have.
        """
        is_long = self.n_points > MOST_POINTS  # such trees are walked more than once
        n_high = 2 * self._n_high_levels * MOST_POINTS
        n_totals = int((self._host.n_splits * is_long).max(initial=0))
        n_pair_totals = int((pairs_of_trees * is_long).max(initial=0))
        n_items = n_high + n_totals + n_pairs + n_pair_totals
        block_bytes = _ITEM * (THREADS * n_items + SUM_PITCH * n_slots)
        n_blocks = max(1, min(n_blocks, _SCRATCH_BYTES // max(1, block_bytes)))

        def allocate(n: int, n_threads: int = n_blocks * THREADS) -> Any:
            return self.device.allocate((n, n_threads), np.float64) if n else 0

        return n_blocks, Scratch(
            high=allocate(n_high),
            totals=allocate(n_totals),
            sums=allocate(n_slots, n_blocks * SUM_PITCH),
            pairs=allocate(n_pairs),
            pair_totals=allocate(n_pair_totals),
        )

    def _send(self, array: np.ndarray) -> DeviceArray:
        return self.device.upload(np.ascontiguousarray(array))


def _pack_splits(splits: Splits) -> np.ndarray:
    """Return the splits as kernels read them."""
    number = np.arange(splits.node.size)
    packed = np.empty(number.size, dtype=SPLIT)
    test = splits.column.astype(np.int64) << COLUMN_SHIFT
    packed["test"] = test | splits.skip.astype(np.int64) << SKIP_SHIFT | splits.bound
    packed["left"] = np.where(splits.left_leaf < 0, number + 1, ~splits.left_leaf)
    packed["right"] = np.where(splits.right_leaf < 0, splits.right, ~splits.right_leaf)
    same = np.where(splits.same < 0, NO_LEVEL, splits.level[splits.same])
    packed["levels"] = same << LEVEL_BITS | splits.level
    return packed


def _list_operations(walks: TreeWalks) -> tuple[np.ndarray, np.ndarray, int]:
    """List the operations on the splits above subtrees that are walked in registers.

    Returns
    -------
    words : ndarray of int32
    first : ndarray of int64, shape (n_trees + 1,)
        Where the words of each tree begin.
    n_high_levels : int
        Levels of these splits.
    """
    splits, tape = walks.splits, walks.tape
    is_low = _find_heights(splits) <= LOW_LEVELS
    words = tape.words[: tape.start[-1]]
    number, operation = words >> _SPLIT_SHIFT, words & _OPERATION
    child = np.where(operation == GO_LEFT, number + 1, splits.right[number])
    enters = (operation == GO_LEFT) | (operation == GO_RIGHT)
    enters_low = enters & is_low[np.where(enters, child, number)]
    starts = (operation == OPEN) & (splits.parent[number] < 0) & is_low[number]
    is_listed = starts | ((operation != OPEN) & ~is_low[number])
    words = number << WORD_SHIFT | np.where(starts, START, operation)
    words |= np.where(starts | enters_low, ENTERS_LOW, 0)
    first = np.append(0, is_listed.cumsum())[tape.start]
    n_high_levels = int(splits.level[~is_low].max(initial=-1)) + 1
    return words[is_listed].astype(np.int32), first, n_high_levels


def _find_heights(splits: Splits) -> np.ndarray:
    """Return the number of levels of the subtree of each split."""
    heights = np.ones(splits.node.size, dtype=np.int64)
    order = np.argsort(splits.level, kind="stable")
    ends = np.searchsorted(splits.level[order], np.arange(splits.level.max(initial=0) + 2))
    for level in range(ends.size - 2, 0, -1):
        own = order[ends[level] : ends[level + 1]]
        np.maximum.at(heights, splits.parent[own], heights[own] + 1)
    return heights
