"""Raw scores on a device, and the predictions made of them there."""

from typing import Any, NamedTuple

import numpy as np

from sumwise.cuda.losses.links import apply_link, find_classes
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.choosing import parse_devices
from sumwise.data.device_matrix import DeviceMatrix
from sumwise.data.matrix import Matrix
from sumwise.data.on_device import give, is_on_device
from sumwise.kernels.runtime.threads import Team
from sumwise.tree import TreeEnsemble
from sumwise.tree.device_ensemble import DeviceEnsemble


class DeviceScores(NamedTuple):
    """Raw scores of rows, (n_rows, n_outputs), on a device.

    Attributes
    ----------
    raw : DeviceArray
    like : object
        The rows as they were given: predictions are given as arrays of their kind, in the memory
        that they are in.
    """

    raw: DeviceArray
    like: Any

    @classmethod
    def predict(
        cls, ensemble: TreeEnsemble, device: str, X: Matrix | DeviceMatrix, like: Any, team: Team
    ) -> "DeviceScores":
        """Predict rows on the GPU that they are on, or on the first of those that are named."""
        on_device = DeviceEnsemble.of(ensemble, choose_number(device, X))
        return cls(on_device.predict_raw(X, team), like)

    def give(self, predictions: Any) -> Any:
        """Return predictions, of the device or of the host, where the rows are."""
        given = give(predictions, self.like)
        if not is_on_device(given):
            _release(self.raw, predictions)
        return given

    def to_host(self) -> np.ndarray:
        """Return raw scores in the memory of the host, and forget them on the device."""
        raw = self.raw.to_host()
        _release(self.raw)
        return raw

    def give_raw(self) -> Any:
        """Return raw scores; a single output has no axis."""
        return self.give(_drop_axis(self.raw))

    def give_mean(self, link: str) -> Any:
        """Return means or class probabilities."""
        return self.give(_drop_axis(apply_link(link, self.raw)))

    def give_labels(self, classes: np.ndarray) -> Any:
        """Return the most probable class of each row."""
        indices = find_classes(self.raw)
        if classes.dtype == np.int64 and np.array_equal(classes, np.arange(classes.size)):
            return self.give(indices)
        return self.give(classes[indices.to_host()])


def apply_on_device(
    ensemble: TreeEnsemble, device: str, X: Matrix | DeviceMatrix, like: Any, team: Team
) -> Any:
    """Return the leaf of each row in each tree, where the rows are."""
    leaves = DeviceEnsemble.of(ensemble, choose_number(device, X)).apply(X, team)
    given = give(leaves, like)
    if not is_on_device(given):
        _release(leaves)
    return given


def choose_number(device: str, X: Matrix | DeviceMatrix) -> int:
    """Return the GPU to predict rows on."""
    return X.number if isinstance(X, DeviceMatrix) else parse_devices(device)[0]


def _release(*arrays: Any) -> None:
    """Give the memory of arrays back to the GPU now: the device lives as long as the model."""
    roots = {}
    for array in arrays:
        if isinstance(array, DeviceArray):
            while isinstance(array.owner, DeviceArray):
                array = array.owner
            roots[array.address] = array
    for root in roots.values():
        root.device.free(root)


def _drop_axis(columns: DeviceArray) -> DeviceArray:
    """Return a single column as an array of one dimension."""
    if columns.shape[1] > 1:
        return columns
    return DeviceArray(columns.device, columns.address, columns.shape[:1], columns.dtype, columns)
