"""DeviceArray: an array in the memory of a device."""

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from sumwise.cuda.runtime.device import Device


class DeviceArray:
    """An array in the memory of a device, in row-major order.

    It has just what algorithms need of an array outside of kernels: its shape and type, rows and
    ranges of it as views, and copies.

    Attributes
    ----------
    device : Device
    address : int
        Where the first item is.
    shape : tuple of int
    dtype : dtype
    owner : object
        What keeps the memory alive: a view keeps the array it is taken from.
    """

    def __init__(
        self, device: "Device", address: int, shape: tuple[int, ...], dtype: Any, owner: Any = None
    ) -> None:
        self.device, self.address, self.owner = device, address, owner
        self.shape, self.dtype = shape, np.dtype(dtype)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: int | slice) -> "DeviceArray":
        """Return a row, or rows ``[first:last]``, as a view."""
        row_bytes = prod(self.shape[1:]) * self.dtype.itemsize
        if isinstance(key, slice):
            first, last, step = key.indices(len(self))
            if step != 1:
                raise IndexError("rows of a DeviceArray are taken one after the other")
            shape = (max(0, last - first), *self.shape[1:])
        else:
            first = range(len(self))[key]
            shape = self.shape[1:]
        return DeviceArray(self.device, self.address + first * row_bytes, shape, self.dtype, self)

    def copy(self) -> "DeviceArray":
        """Return a new array with the same items."""
        other = self.device.allocate(self.shape, self.dtype)
        self.device.copy(self, other)
        return other

    def to_host(self) -> np.ndarray:
        """Return the items as a NumPy array, after all work that was asked for before."""
        return self.device.download(self)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """How CuPy, torch, cuDF and Numba see this memory without a copy."""
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None,
            "version": 3,
            "stream": self.device.stream,
        }
