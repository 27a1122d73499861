"""Arrays and frames in the memory of a GPU as a :class:`DeviceMatrix`.

They describe themselves by ``__cuda_array_interface__``, or by DLPack where that is all they have.
"""

import ctypes
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sumwise.data.device_matrix import DeviceColumn, DeviceMatrix
from sumwise.data.on_device import CUDA_DEVICES, find_interface, is_cudf_frame
from sumwise.errors import DataError

_KINDS = "buif"
# The queue that libraries use unless they are told otherwise.
_LEGACY_STREAM = 1


def read_device_matrix(X: Any) -> DeviceMatrix:
    """Return an array or frame in the memory of a GPU as a matrix; DataError if it is none."""
    if isinstance(X, DeviceMatrix):
        return X
    if is_cudf_frame(X):
        return _read_frame(X)
    if hasattr(X, "detach"):  # of torch, and of interest to its gradients
        X = X.detach()
    interface = find_interface(X)
    if interface is None:
        return _read_dlpack(X)
    shape, dtype = tuple(interface["shape"]), np.dtype(interface["typestr"])
    strides = interface.get("strides")
    address, _ = interface["data"]
    if interface.get("mask") is not None:
        raise DataError("X has a mask, which is read from frames only")
    made = _make_matrix(X, address or 0, shape, strides, dtype, _find_number(X))
    return replace(made, streams=_find_streams(X, interface))


def _make_matrix(
    X: Any,
    address: int,
    shape: tuple[int, ...],
    strides: Sequence[int] | None,
    dtype: np.dtype,
    number: int,
) -> DeviceMatrix:
    if len(shape) != 2:
        raise DataError(
            f"Expected 2D array, got {len(shape)}D array instead: X is a "
            f"{type(X).__name__} of shape {shape}"
        )
    if dtype.kind not in _KINDS or not dtype.isnative:
        raise DataError(f"X must be numeric; it has dtype {dtype}")
    n_rows, n_features = shape
    row, column = strides or (n_features * dtype.itemsize, dtype.itemsize)
    columns = [DeviceColumn(address + f * column, row, dtype) for f in range(n_features)]
    return DeviceMatrix(columns, n_rows, number, X)


def _read_frame(X: Any) -> DeviceMatrix:
    """Read the columns of a cuDF frame, with their masks of missing values."""
    columns, owners = [], [X]
    for name in X.columns:
        series = X[name]
        dtype = series.dtype
        if not isinstance(dtype, np.dtype) or dtype.kind not in _KINDS:
            raise DataError(
                f"column {name!r} has type {dtype}; from a frame on a GPU only numbers are read: "
                "convert it to numbers, or pass X.to_pandas()"
            )
        interface = series.__cuda_array_interface__
        mask = interface.get("mask")
        bits = 0 if mask is None else mask.__cuda_array_interface__["data"][0]
        (stride,) = interface.get("strides") or (dtype.itemsize,)
        columns.append(DeviceColumn(interface["data"][0] or 0, stride, dtype, bits))
        owners += [series, mask]
    names = [str(name) for name in X.columns]
    return DeviceMatrix(columns, len(X), 0, owners, (_LEGACY_STREAM,), names)


def _find_number(X: Any) -> int:
    """Return the GPU that an array is on."""
    if hasattr(X, "__dlpack_device__"):
        kind, number = X.__dlpack_device__()
        return int(number) if int(kind) in CUDA_DEVICES else 0
    number = getattr(getattr(X, "device", None), "number", 0)
    return int(number)


def _find_streams(X: Any, interface: dict[str, Any]) -> list[int]:
    """Return the queue that may still write an array."""
    stream = interface.get("stream")
    if stream is None and type(X).__module__.partition(".")[0] == "torch":
        stream = sys.modules["torch"].cuda.current_stream(X.device).cuda_stream
    return [] if stream is None else [int(stream)]


class _DLTensor(ctypes.Structure):
    """The head of a DLManagedTensor, as DLPack defines it."""

    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    )


# Names of types by the codes of DLPack.
_DLPACK_KINDS = {0: "i", 1: "u", 2: "f", 6: "b"}


def _read_dlpack(X: Any) -> DeviceMatrix:
    """Read an array that has no other interface.

    The capsule is not consumed but kept: it gives the memory back when it goes.
    """
    capsule = X.__dlpack__()
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype, get_pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    tensor = _DLTensor.from_address(get_pointer(capsule, b"dltensor"))
    kind = _DLPACK_KINDS.get(tensor.code)
    if kind is None or tensor.lanes != 1:
        raise DataError(f"X must be numeric; its type has code {tensor.code} in DLPack")
    dtype = np.dtype(np.bool_ if kind == "b" else f"{kind}{tensor.bits // 8}")
    shape = tuple(tensor.shape[i] for i in range(tensor.ndim))
    strides = None
    if tensor.strides:
        strides = [tensor.strides[i] * dtype.itemsize for i in range(tensor.ndim)]
    address = (tensor.data or 0) + tensor.byte_offset
    made = _make_matrix(X, address, shape, strides, dtype, tensor.device_id)
    return replace(made, owner=(X, capsule), streams=(_LEGACY_STREAM,))
