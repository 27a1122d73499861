"""DeviceWalks: trees on a device, prepared for explanations."""

from typing import Any

import numpy as np

from sumwise.cuda.explain import (
    COLUMN_SHIFT,
    ENTERS_LOW,
    EXPLAIN,
    LEVEL_BITS,
    LOW_LEVELS,
    MOST_LEVELS,
    MOST_POINTS,
    NO_LEVEL,
    RECORD_ITEMS,
    SKIP_SHIFT,
    SPLIT,
    START,
    THREADS,
    WORD_SHIFT,
    Walks,
)
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.device import Device
from sumwise.cuda.runtime.structs import pack_struct
from sumwise.errors import DeviceError
from sumwise.inspection.tree_walks import TreeWalks
from sumwise.kernels.explain.walks import GO_LEFT, GO_RIGHT, OPEN, Splits

_OPERATION, _SPLIT_SHIFT = 3, 2  # of words of the CPU's tape


class DeviceWalks:
    """What kernels need to know of trees, apart from the rows.

    Parameters
    ----------
    device : Device
    walks : TreeWalks

    Attributes
    ----------
    packed : bytes
        The structure that kernels take.
    n_high_levels : int
        Levels whose state is in memory.
    n_totals : int
        Splits of the largest tree that is walked more than once.
    """

    def __init__(self, device: Device, walks: TreeWalks) -> None:
        if walks.n_levels > MOST_LEVELS:
            raise DeviceError(
                f"a tree has {walks.n_levels} levels of splits, and a GPU explains up to "
                f"{MOST_LEVELS}: with set_params(device='cpu') the model explains any"
            )
        self._device, self._splits = device, walks.splits
        n_trees, n_splits, splits = walks.trees.n_trees, walks.n_splits, walks.splits
        n_points = np.maximum(1, (walks.tape.n_unique + 1) // 2)
        n_items = (RECORD_ITEMS + 4 * n_points) * n_splits
        words, first_word, self.n_high_levels = _list_operations(walks)
        self.n_totals = int(n_splits[n_points > MOST_POINTS].max(initial=0))
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

    def replace_tests(self, test: np.ndarray, bound: int, slot: np.ndarray) -> bytes:
        """Return the structure with other tests, ``codes[test] <= bound``, and other slots."""
        skip, bounds = np.zeros_like(self._splits.skip), np.full_like(self._splits.bound, bound)
        splits = self._splits._replace(column=test, skip=skip, bound=bounds)
        self._replaced = self._walks._replace(  # kept as long as this object
            splits=self._send(_pack_splits(splits)),
            slot=self._send(slot.astype(np.int32)),
            records=self._device.allocate(self._walks.records.shape, np.float64),
        )
        return self._fill_table(self._replaced)

    def _fill_table(self, walks: Any) -> bytes:
        """Write the records of splits; return the structure with them."""
        packed, n_splits = pack_struct(walks), walks.n_splits
        n_blocks = min(-(-n_splits // THREADS), 16 * self._device.n_processors)
        if n_blocks:
            kernel = self._device.load(EXPLAIN)["fill_table"]
            self._device.launch(kernel, n_blocks, THREADS, (packed,))
        return packed

    def _send(self, array: np.ndarray) -> DeviceArray:
        return self._device.upload(np.ascontiguousarray(array))


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
