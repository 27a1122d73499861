"""Path-dependent Shapley values of rows, found on a device to the bits of the CPU's."""

from typing import Any

import numpy as np

from sumwise.cuda.explain import EXPLAIN, SUM_PITCH, THREADS, Outcomes
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.device import Device
from sumwise.cuda.runtime.structs import pack_struct
from sumwise.data.device_matrix import DeviceMatrix
from sumwise.data.matrix import Matrix
from sumwise.inspection.device_rows import Explainer, explain_all
from sumwise.inspection.path_values import GOES_LEFT, code_outcomes, find_outcomes
from sumwise.inspection.tree_walks import TreeWalks
from sumwise.kernels.explain.outcomes import MAX_TESTS
from sumwise.kernels.runtime.threads import Team

_ITEM = 8
# Blocks per processor that tabulate trees.
_BLOCKS = 8


def find_path_values(
    device: Device, walks: TreeWalks, X: Matrix | DeviceMatrix, team: Team
) -> np.ndarray:
    """Return the values of rows, (n_rows, n_features, n_outputs), in the memory of the host."""
    return explain_all(ValueExplainer(device, walks), X, team)


class ValueExplainer(Explainer):
    """Finds the values of rows: (n_features, n_outputs) for each."""

    def __init__(self, device: Device, walks: TreeWalks) -> None:
        model = walks.trees
        super().__init__(device, walks, EXPLAIN, (model.n_features, model.n_outputs))
        self._outcomes = self._tabulate()
        slot_of = np.full(walks.trees.n_features, -1, dtype=np.int32)
        slot_of[walks.features] = np.arange(walks.features.size)
        self._slot_of = device.upload(slot_of)

    def explain(self, codes: DeviceArray, n_rows: int) -> DeviceArray:
        kernel = self.device.load(EXPLAIN)["add_shap_values"]
        n_blocks, shared, n_slots = self._trees.place_sums(kernel, n_rows)
        n_blocks, scratch = self._trees.allocate_scratch(n_blocks, n_slots)
        values = self.device.allocate((n_rows, *self.row_shape), np.float64)
        known = self._trees.packed, pack_struct(self._outcomes), pack_struct(scratch)
        sizes = self.walks.features.size, *self.row_shape
        arguments = codes, codes.shape[1], n_rows, *known, self._slot_of, *sizes, values
        self.device.launch(kernel, n_blocks, THREADS, arguments, shared)
        return values

    def _tabulate(self) -> Any:
        """Find the values of all outcomes of trees with few tests."""
        device, (found, test) = self.device, find_outcomes(self.walks)
        n_values, n_trees = int(found.first_value[-1]), found.n_tests.size
        sent = found._replace(
            column=found.column.astype(np.int32),
            slot=found.slot.astype(np.int32),
            values=np.empty(0),
        )
        outcomes = Outcomes(*(device.upload(np.ascontiguousarray(array)) for array in sent))
        if n_values == 0:
            return outcomes
        outcomes = outcomes._replace(values=device.allocate(n_values, np.float64))
        place = _number_features(self.walks, found.first_slot, found.slot)
        walks = self._trees.replace_tests(test, int(GOES_LEFT), place)
        n_blocks = min(n_trees, _BLOCKS * device.n_processors)
        n_blocks, scratch = self._trees.allocate_scratch(n_blocks)
        codes = device.upload(code_outcomes())
        arguments = codes, walks, pack_struct(outcomes), pack_struct(scratch)
        kernel = device.load(EXPLAIN)["tabulate_outcomes"]
        device.launch(kernel, n_blocks, THREADS, arguments, _ITEM * SUM_PITCH * MAX_TESTS)
        return outcomes


def _number_features(walks: TreeWalks, first_slot: np.ndarray, slot: np.ndarray) -> np.ndarray:
    """Return the number of each split's feature among those of its tree, if these are listed."""
    tree = np.repeat(np.arange(walks.trees.n_trees), walks.n_splits)
    tree_of_slot = np.repeat(np.arange(walks.trees.n_trees), np.diff(first_slot))
    n_slots = walks.features.size
    listed = tree_of_slot * n_slots + slot
    return np.searchsorted(listed, tree * n_slots + walks.splits.slot) - first_slot[tree]
