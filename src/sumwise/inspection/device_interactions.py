"""Path-dependent Shapley interaction values, found on a device to the bits of the CPU's."""

from typing import Any

import numpy as np

from sumwise.cuda.explain import INTERACTIONS, PAIR, THREADS, Pairs
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.device import Device
from sumwise.cuda.runtime.structs import pack_struct
from sumwise.data.device_matrix import DeviceMatrix
from sumwise.data.matrix import Matrix
from sumwise.inspection.device_rows import Explainer, explain_all
from sumwise.inspection.path_interactions import find_pairs
from sumwise.inspection.tree_walks import TreeWalks
from sumwise.kernels.runtime.threads import Team


def find_path_interactions(
    device: Device, walks: TreeWalks, X: Matrix | DeviceMatrix, team: Team
) -> np.ndarray:
    """Return the values of pairs, (n_rows, n_features, n_features, n_outputs), on the host."""
    return explain_all(PairExplainer(device, walks), X, team)


class PairExplainer(Explainer):
    """Finds the values of pairs: (n_features, n_features, n_outputs) for each row."""

    def __init__(self, device: Device, walks: TreeWalks) -> None:
        model = walks.trees
        shape = (model.n_features, model.n_features, model.n_outputs)
        super().__init__(device, walks, INTERACTIONS, shape)
        self._pairs, self._pairs_of_trees = self._send_pairs()
        self._features = device.upload(walks.features.astype(np.int32))

    def explain(self, codes: DeviceArray, n_rows: int) -> DeviceArray:
        kernel = self.device.load(INTERACTIONS)["add_shap_interactions"]
        n_blocks, shared, n_slots = self._trees.place_sums(kernel, n_rows)
        pairs = self._pairs.n_pairs, self._pairs_of_trees
        n_blocks, scratch = self._trees.allocate_scratch(n_blocks, n_slots, *pairs)
        values = self.device.zeros((n_rows, *self.row_shape), np.float64)
        known = self._trees.packed, pack_struct(self._pairs), pack_struct(scratch)
        sizes = self.walks.features.size, *self.row_shape[1:]
        arguments = codes, codes.shape[1], n_rows, *known, self._features, *sizes, values
        self.device.launch(kernel, n_blocks, THREADS, arguments, shared)
        return values

    def _send_pairs(self) -> tuple[Any, np.ndarray]:
        """Return the pairs on the device, and how many the splits of each tree have."""
        device, walks, found = self.device, self.walks, find_pairs(self.walks)
        n_trees, n_points = walks.trees.n_trees, self._trees.n_points
        first_split = np.append(0, walks.n_splits.cumsum())
        tree = np.repeat(np.arange(n_trees), walks.n_splits)[found.above]
        n_rates = (1 + 2 * walks.n_splits) * n_points
        packed = np.zeros(found.above.size, dtype=PAIR)
        packed["number"], packed["level"] = found.pair, walks.splits.level[found.above]
        side = np.where(found.is_left, 0, 1)
        packed["rates"] = (1 + 2 * (found.above - first_split[tree]) + side) * n_points[tree]
        pairs = Pairs(
            start=device.upload(found.start.astype(np.int32)),
            pairs=device.upload(packed),
            first=device.upload(found.first.astype(np.int32)),
            second=device.upload(found.second.astype(np.int32)),
            first_rate=device.upload(n_rates.cumsum() - n_rates),
            rates=device.allocate(int(n_rates.sum()), np.float64),
            n_pairs=found.first.size,
        )
        n_blocks = self._trees.count_split_blocks()
        if n_blocks:
            kernel = device.load(INTERACTIONS)["fill_rates"]
            device.launch(kernel, n_blocks, THREADS, (self._trees.packed, pack_struct(pairs)))
        return pairs, np.diff(found.start[first_split])
