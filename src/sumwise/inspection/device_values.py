"""Path-dependent Shapley values of rows, found on a device to the bits of the CPU's."""

from collections.abc import Iterator

import numpy as np

from sumwise.cuda.explain import EXPLAIN, MOST_POINTS, SUM_PITCH, THREADS, Outcomes, Scratch
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.device import Device
from sumwise.cuda.runtime.structs import pack_struct
from sumwise.data.device_matrix import DeviceMatrix
from sumwise.data.matrix import Matrix
from sumwise.inspection.device_walks import DeviceWalks
from sumwise.inspection.path_values import GOES_LEFT, code_outcomes, find_outcomes
from sumwise.inspection.tree_walks import TreeWalks
from sumwise.kernels.explain.outcomes import MAX_TESTS
from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.runtime.threads import Team
from sumwise.tree.device_coder import DeviceCoder

# Bytes of codes, of results and of scratch memory that are on the device at a time.
_CODE_BYTES, _RESULT_BYTES, _SCRATCH_BYTES = 1 << 26, 1 << 29, 1 << 30
# Sums are in shared memory if so many blocks of a processor have room there.
_BLOCKS_WITH_SUMS = 4
_ITEM = 8


def find_path_values(
    device: Device, walks: TreeWalks, X: Matrix | DeviceMatrix, team: Team
) -> np.ndarray:
    """Return the values of rows, (n_rows, n_features, n_outputs), in the memory of the host."""
    explainer = _Explainer(device, walks)
    shape = *X.shape, walks.trees.n_outputs
    values = np.zeros(shape)
    for first, last, codes in explainer.code_rows(X, team):
        found = explainer.launch(codes, (last - first, *shape[1:])).to_host()
        if found.shape == shape:
            return found
        values[first:last] = found
    return values


class _Explainer:
    """Explains coded rows.

    Parameters
    ----------
    device : Device
    walks : TreeWalks
    """

    def __init__(self, device: Device, walks: TreeWalks) -> None:
        self._device, self._walks, self._trees = device, walks, DeviceWalks(device, walks)
        self._outcomes = self._tabulate()
        slot_of = np.full(walks.trees.n_features, -1, dtype=np.int32)
        slot_of[walks.features] = np.arange(walks.features.size)
        self._slot_of = device.upload(slot_of)

    def code_rows(
        self, X: Matrix | DeviceMatrix, team: Team
    ) -> Iterator[tuple[int, int, DeviceArray]]:
        """Yield (first row, last row, codes of these rows); the next codes replace them."""
        trees, n_columns = self._walks.trees, max(1, self._walks.n_columns)
        row_bytes = _ITEM * X.shape[1] * trees.n_outputs
        most = min(_CODE_BYTES // n_columns, _RESULT_BYTES // row_bytes)
        n_blocks = max(1, min(most // BLOCK, -(-X.shape[0] // BLOCK)))
        codes = self._device.allocate((n_blocks, n_columns, BLOCK), np.uint8)
        if isinstance(X, DeviceMatrix):
            coder = DeviceCoder(self._device, trees.code_columns, X.dtype)
            for first in range(0, X.shape[0], n_blocks * BLOCK):
                last = min(first + n_blocks * BLOCK, X.shape[0])
                coder.code(X, first, last, codes)
                yield first, last, codes
            return
        on_host = np.zeros(codes.shape, dtype=np.uint8)
        for start, rows in trees.code_rows(X, team):
            for first in range(0, rows.n_rows, n_blocks * BLOCK):
                last = min(first + n_blocks * BLOCK, rows.n_rows)
                rows.code(first, last, on_host, team)
                n_own = -(-(last - first) // BLOCK)
                self._device.write(on_host[:n_own], codes[:n_own])
                yield start + first, start + last, codes

    def launch(self, codes: DeviceArray, shape: tuple[int, ...]) -> DeviceArray:
        """Find the values of coded rows."""
        n_slots, n_rows = self._walks.features.size, shape[0]
        kernel = self._device.load(EXPLAIN)["add_shap_values"]
        shared = _ITEM * SUM_PITCH * n_slots
        is_shared = shared * _BLOCKS_WITH_SUMS <= self._device.shared_memory
        shared = shared if is_shared else 0
        n_blocks = self._device.count_blocks(kernel, THREADS, shared)
        n_blocks = min(n_blocks, -(-n_rows // THREADS))
        n_blocks, scratch = self._allocate_scratch(n_blocks, 0 if is_shared else n_slots)
        values = self._device.allocate(shape, np.float64)
        known = codes, codes.shape[1], n_rows, self._trees.packed, pack_struct(self._outcomes)
        sizes = n_slots, *shape[1:]
        arguments = *known, pack_struct(scratch), self._slot_of, *sizes, values
        self._device.launch(kernel, n_blocks, THREADS, arguments, shared)
        return values

    def _allocate_scratch(self, n_blocks: int, n_slots: int) -> tuple[int, Scratch]:
        """Return how many blocks have room for their scratch memory, and that memory."""
        trees = self._trees
        n_high = 2 * trees.n_high_levels * MOST_POINTS
        block_bytes = _ITEM * (THREADS * (n_high + trees.n_totals) + SUM_PITCH * n_slots)
        n_blocks = max(1, min(n_blocks, _SCRATCH_BYTES // max(1, block_bytes)))
        n_threads = n_blocks * THREADS
        return n_blocks, Scratch(
            high=self._device.allocate((max(1, n_high), n_threads), np.float64),
            totals=self._device.allocate((max(1, trees.n_totals), n_threads), np.float64),
            sums=self._device.allocate((n_blocks, n_slots, SUM_PITCH), np.float64)
            if n_slots
            else 0,
        )

    def _tabulate(self) -> Outcomes:
        """Find the values of all outcomes of trees with few tests."""
        device, (found, test) = self._device, find_outcomes(self._walks)
        sent = found._replace(
            column=found.column.astype(np.int32),
            slot=found.slot.astype(np.int32),
            values=np.empty(max(1, int(found.first_value[-1]))),
        )
        outcomes = Outcomes(*(device.upload(np.ascontiguousarray(array)) for array in sent))
        if found.first_value[-1] == 0:
            return outcomes
        n_trees, n_slots = found.n_tests.size, max(1, self._walks.features.size)
        tree = np.repeat(np.arange(n_trees), self._walks.n_splits)
        tree_of_slot = np.repeat(np.arange(n_trees), np.diff(found.first_slot))
        place = np.searchsorted(
            tree_of_slot * n_slots + found.slot, tree * n_slots + self._walks.splits.slot
        )
        walks = self._trees.replace_tests(test, int(GOES_LEFT), place - found.first_slot[tree])
        codes = device.upload(code_outcomes())
        n_blocks, scratch = self._allocate_scratch(min(n_trees, 8 * device.n_processors), 0)
        arguments = codes, walks, pack_struct(outcomes), pack_struct(scratch)
        kernel = device.load(EXPLAIN)["tabulate_outcomes"]
        shared = _ITEM * SUM_PITCH * MAX_TESTS
        device.launch(kernel, n_blocks, THREADS, arguments, shared)
        return outcomes
