"""What is in the memory of a GPU: recognizing it, and the ways from and to the host.

Nothing here needs a GPU, or is slow for what is not on one.
"""

import sys
from importlib import import_module
from typing import Any

import numpy as np

from sumwise.data.device_matrix import DeviceMatrix
from sumwise.errors import DataError

# Devices of DLPack whose memory kernels can read: GPU memory, and managed memory.
CUDA_DEVICES = (2, 13)
_HOST_TYPES = (np.ndarray, list, tuple, str, int, float, dict, type(None))


def is_on_device(X: Any) -> bool:
    """Whether X is an array or a frame in the memory of a GPU."""
    if isinstance(X, _HOST_TYPES):
        return False
    if isinstance(X, DeviceMatrix) or is_cudf(X) or find_interface(X) is not None:
        return True
    find_device = getattr(X, "__dlpack_device__", None)
    if find_device is None:
        return False
    try:
        kind, _ = find_device()
    except Exception:  # a frame or an array that does not travel
        return False
    return int(kind) in CUDA_DEVICES


def find_interface(X: Any) -> dict[str, Any] | None:
    """Return how an array in the memory of a GPU describes itself; None if it does not."""
    try:
        found: dict[str, Any] = X.__cuda_array_interface__
    except (AttributeError, NotImplementedError, RuntimeError, TypeError):
        return None  # torch has it for its GPU arrays only
    return found


def is_cudf(X: Any) -> bool:
    """Whether X is a frame, a series or an index of cuDF."""
    return type(X).__module__.partition(".")[0] == "cudf"


def is_cudf_frame(X: Any) -> bool:
    """Whether X is a frame of cuDF."""
    return is_cudf(X) and hasattr(X, "columns")


def fetch(values: Any) -> Any:
    """Return what is in the memory of a GPU as a NumPy array; anything else unchanged."""
    if not is_on_device(values):
        return values
    if is_cudf(values):
        return values.to_pandas()
    for name in ("get", "copy_to_host", "to_host"):  # CuPy, Numba, DeviceArray
        if hasattr(values, name):
            return getattr(values, name)()
    if hasattr(values, "detach"):  # torch
        return values.detach().cpu().numpy()
    try:
        return np.asarray(values)  # JAX
    except (TypeError, ValueError):
        raise DataError(
            f"{explain_place(values, 'the argument')}: pass it as a NumPy array"
        ) from None


def explain_place(X: Any, what: str = "X") -> str:
    """Return where X is, and what brings it to the host, for a message."""
    X = X.owner if isinstance(X, DeviceMatrix) else X
    name = f"{type(X).__module__.partition('.')[0]}.{type(X).__name__}"
    ways = {"cupy": f"{what}.get()", "torch": f"{what}.cpu()", "cudf": f"{what}.to_pandas()"}
    way = ways.get(name.partition(".")[0])
    hint = f" ({way} brings it to the host)" if way else ""
    return f"{what} is in the memory of a GPU: {name}{hint}"


def give(values: Any, like: Any) -> Any:
    """Return an array of a device, or of the host, as one of the kind of ``like``.

    For an array of torch that is a tensor, for one of Numba an array of Numba, for anything else in
    the memory of a GPU an array of CuPy, if that is there; the memory is not copied. If ``like`` is
    in the memory of the host, so is the result; so are labels that are not numbers.
    """
    like = like.owner if isinstance(like, DeviceMatrix) else like
    if not is_on_device(like):
        return fetch(values)
    if isinstance(values, np.ndarray) and values.dtype.kind not in "biuf":
        return values
    library = type(like).__module__.partition(".")[0]
    if not isinstance(values, np.ndarray) and hasattr(values, "device"):
        values.device.wait()  # other queues may read it at once
    if library == "torch":
        torch = sys.modules["torch"]
        return torch.as_tensor(values, device=like.device)
    if library == "numba":
        cuda = sys.modules["numba"].cuda
        is_array = isinstance(values, np.ndarray)
        return cuda.to_device(values) if is_array else cuda.as_cuda_array(values)
    try:
        return import_module("cupy").asarray(values)
    except ImportError:
        return values
