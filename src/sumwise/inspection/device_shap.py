"""Shapley values found on a device, to the bits of the CPU's; see shap.py."""

import numpy as np

from sumwise.cuda.runtime import choosing
from sumwise.data.device_matrix import DeviceMatrix
from sumwise.data.matrix import Matrix
from sumwise.errors import DeviceError
from sumwise.inspection.device_interactions import find_path_interactions
from sumwise.inspection.device_values import find_path_values
from sumwise.inspection.shap import check_leaves, shap_interactions, shap_values
from sumwise.inspection.tree_walks import TreeWalks
from sumwise.kernels.runtime.threads import Team
from sumwise.tree import LinearEnsemble, Model

# Up to here rows of the host are explained there before they would have come to a device.
_FEW_ROWS = 1000
_ON_THE_CPU = "with set_params(device='cpu') and rows in the memory of the host they are found"


def explain_on_device(
    model: Model,
    X: Matrix | DeviceMatrix,
    background: Matrix | DeviceMatrix | None,
    interactions: bool,
    team: Team,
    spec: str,
) -> tuple[np.ndarray, np.ndarray]:
    """Return Shapley values or interaction values of rows, and the expected value.

    Parameters
    ----------
    model : Trees
        A finished model.
    X : Matrix or DeviceMatrix
    background : Matrix, DeviceMatrix or None
        Rows for interventional values, which a device does not find.
    interactions : bool
    team : Team
        Threads that code rows of the host.
    spec : str
        The GPUs that are asked for: the first of them explains rows of the host, unless they are
        few. Rows in the memory of a GPU are explained there.

    Returns
    -------
    values, expected : ndarray
        As of ``shap_values`` and ``shap_interactions``, in the memory of the host.

    Raises
    ------
    DeviceError
        If a device cannot do it.
    ExplanationError
        If the leaves of the trees have linear models.
    """
    if isinstance(model, LinearEnsemble):
        raise DeviceError(f"a GPU finds no Shapley values of linear models; {_ON_THE_CPU}")
    check_leaves(model)
    if background is not None:
        raise DeviceError(f"a GPU finds no Shapley values with a background; {_ON_THE_CPU}")
    number = X.number if isinstance(X, DeviceMatrix) else choosing.parse_devices(spec)[0]
    if X.shape[0] <= _FEW_ROWS and not isinstance(X, DeviceMatrix):
        return shap_interactions(model, X, team) if interactions else shap_values(model, X, team)
    walks = TreeWalks(model)
    with choosing.device_maker(number) as device:
        find = find_path_interactions if interactions else find_path_values
        return find(device, walks, X, team), walks.find_expected()
