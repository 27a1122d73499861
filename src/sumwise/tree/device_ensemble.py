"""DeviceEnsemble: the trees of a model on a device, kept until the model goes."""

import threading

import numpy as np

from sumwise.cuda.predict import PREDICT
from sumwise.cuda.runtime import choosing
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.device import Device
from sumwise.cuda.runtime.team import DeviceTeam
from sumwise.data.device_matrix import DeviceMatrix
from sumwise.data.matrix import Matrix
from sumwise.errors import DeviceError
from sumwise.kernels.runtime.threads import Team
from sumwise.tree.device_predictor import DevicePredictor
from sumwise.tree.ensemble import TreeEnsemble

# Where an ensemble keeps what is on devices, by thread and by the number of the GPU.
_KEPT = "_on_devices"


class DeviceEnsemble:
    """Predicts with the trees of an ensemble on a device, to the bits of the CPU.

    Parameters
    ----------
    device : Device
    ensemble : TreeEnsemble
    """

    def __init__(self, device: Device, ensemble: TreeEnsemble) -> None:
        if not isinstance(ensemble, TreeEnsemble) or ensemble.models is not None:
            raise DeviceError(
                "only trees with constant leaves of one output predict on a GPU; with "
                "set_params(device='cpu') every model predicts rows in the memory of the host"
            )
        self._team, self.device = DeviceTeam(device), device
        columns = ensemble.code_columns
        self._predictor = DevicePredictor(device, ensemble, ensemble.output, columns)
        self._base_score = device.upload(ensemble.base_score)

    @classmethod
    def of(cls, ensemble: TreeEnsemble, number: int) -> "DeviceEnsemble":
        """Return the trees on a GPU; the first time a thread asks for them, they are sent there.

        A device serves one thread at a time, so every thread has its own.
        """
        own = ensemble.__dict__.setdefault(_KEPT, threading.local()).__dict__
        if number not in own:
            own[number] = cls(choosing.device_maker(number), ensemble)
        found: DeviceEnsemble = own[number]
        return found

    def predict_raw(self, X: Matrix | DeviceMatrix, team: Team) -> DeviceArray:
        """Return raw scores, (n_rows, n_outputs)."""
        n_rows, n_outputs = X.shape[0], self._base_score.size
        raw = self.device.allocate((n_rows, n_outputs), np.float64)
        start = (self._base_score, n_outputs, n_rows, raw)
        self._team.launch(PREDICT, "start_scores", raw.size, *start)
        self._predictor.add_values(X, raw, team)
        return raw

    def apply(self, X: Matrix | DeviceMatrix, team: Team) -> DeviceArray:
        """Return the leaf of each row in each tree, (n_rows, n_trees), numbered in the tree."""
        leaves = self.device.allocate((X.shape[0], self._predictor.n_trees), np.int32)
        self._predictor.find_leaves(X, leaves, team)
        return leaves
