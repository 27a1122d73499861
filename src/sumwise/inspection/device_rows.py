"""Rows that a device explains: coded, and explained batch by batch."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from math import prod
from typing import NamedTuple

import numpy as np

from sumwise.cuda.explain import THREADS
from sumwise.cuda.runtime import choosing
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.device import Device, Mark, Program
from sumwise.data.device_matrix import DeviceMatrix
from sumwise.data.matrix import Matrix
from sumwise.inspection.device_walks import DeviceWalks
from sumwise.inspection.tree_walks import TreeWalks
from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.runtime.threads import Team
from sumwise.tree.device_coder import DeviceCoder
from sumwise.tree.threshold_splits import ThresholdSplits

_ITEM = 8
# Bytes of the codes that are made at a time, and of the results that are copied at a time: while
# they travel, the device explains the next rows.
_CODE_BYTES, _RESULT_BYTES = 1 << 26, 1 << 25
# A batch has more rows if it would not keep so many threads per processor busy, but no more bytes
# than these, or than a share of the memory that is free.
_BUSY_THREADS, _MOST_BYTES, _SHARE_OF_FREE = 16 * THREADS, 1 << 30, 4


class Explainer(ABC):
    """Explains coded rows.

    Parameters
    ----------
    device : Device
    walks : TreeWalks
    program : Program
        Has the kernels that explain.
    row_shape : tuple of int
        Of the results of a row.
    """

    def __init__(
        self, device: Device, walks: TreeWalks, program: Program, row_shape: tuple[int, ...]
    ) -> None:
        self.device, self.walks, self.row_shape = device, walks, row_shape
        self._trees = DeviceWalks(device, walks, program)

    @abstractmethod
    def explain(self, codes: DeviceArray, n_rows: int) -> DeviceArray:
        """Queue finding the results of rows, (n_rows, *row_shape)."""


class _Batch(NamedTuple):
    """Results on the device, when the mark is reached."""

    first: int
    results: DeviceArray
    mark: Mark


def explain_all(explainer: Explainer, X: Matrix | DeviceMatrix, team: Team) -> np.ndarray:
    """Return the results of all rows in the memory of the host."""
    found = np.zeros((X.shape[0], *explainer.row_shape))
    device, before = explainer.device, None
    # Another queue of the same GPU copies what is found.
    with choosing.device_maker(device.number) as copier:

        def fetch(batch: _Batch) -> None:
            copier.wait_for(batch.mark)
            last = batch.first + len(batch.results)
            copier.read(batch.results, found[batch.first : last])

        for first, last, codes in _code_batches(explainer, X, team):
            batch = _Batch(first, explainer.explain(codes, last - first), device.mark())
            if before is not None:
                fetch(before)
            before = batch
        if before is not None:
            fetch(before)
    return found


def _code_batches(
    explainer: Explainer, X: Matrix | DeviceMatrix, team: Team
) -> Iterator[tuple[int, int, DeviceArray]]:
    """Yield (first row, last row, codes) of the rows that are explained at a time."""
    n_blocks = _choose_batch(explainer) // BLOCK
    for start, end, codes in _code_rows(explainer, X, team):
        for block in range(0, len(codes), n_blocks):
            first = start + block * BLOCK
            if first < end:
                yield first, min(first + n_blocks * BLOCK, end), codes[block : block + n_blocks]


def _choose_batch(explainer: Explainer) -> int:
    """Return how many rows are explained at a time."""
    row_bytes = _ITEM * max(1, prod(explainer.row_shape))
    n_rows = max(_RESULT_BYTES // row_bytes, _BUSY_THREADS * explainer.device.n_processors)
    most_bytes = min(_MOST_BYTES, explainer.device.count_free() // _SHARE_OF_FREE)
    return max(BLOCK, min(n_rows, most_bytes // row_bytes))


def _code_rows(
    explainer: Explainer, X: Matrix | DeviceMatrix, team: Team
) -> Iterator[tuple[int, int, DeviceArray]]:
    """Yield (first row, last row, codes of these rows); the next codes replace them."""
    device, trees = explainer.device, explainer.walks.trees
    n_columns = max(1, explainer.walks.n_columns)
    n_blocks = max(1, _CODE_BYTES // (BLOCK * n_columns))
    n_blocks = max(1, min(n_blocks, -(-X.shape[0] // BLOCK)))
    codes = device.allocate((n_blocks, n_columns, BLOCK), np.uint8)
    if isinstance(X, DeviceMatrix):
        assert isinstance(trees, ThresholdSplits)  # no other model reads the memory of a GPU
        coder = DeviceCoder(device, trees.code_columns, X.dtype)
        for first in range(0, X.shape[0], n_blocks * BLOCK):
            last = min(first + n_blocks * BLOCK, X.shape[0])
            coder.code(X.values, first, last, codes)
            yield first, last, codes
        return
    on_host = np.zeros(codes.shape, dtype=np.uint8)
    for start, rows in trees.code_rows(X, team):
        for first in range(0, rows.n_rows, n_blocks * BLOCK):
            last = min(first + n_blocks * BLOCK, rows.n_rows)
            rows.code(first, last, on_host, team)
            n_own = -(-(last - first) // BLOCK)
            device.write(on_host[:n_own], codes[:n_own])
            yield start + first, start + last, codes
