"""DeviceArray: an array in the memory of a device."""

from collections.abc import Iterator
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from sumwise.cuda.runtime.program import Program
from sumwise.cuda.runtime.structs import make_header

if TYPE_CHECKING:
    from sumwise.cuda.runtime.device import Device

ARITHMETIC = Program("arithmetic", ("runtime/arithmetic.cu",), make_header())
_THREADS, _MOST_BLOCKS = 256, 4096


def number_rows(device: "Device", n_rows: int, first: int = 0) -> "RowRange":
    """Return the row numbers ``first``, ``first + 1``, ... as uint32."""
    memory = device.allocate(n_rows, np.uint32)
    rows = RowRange(device, memory.address, memory.shape, memory.dtype, memory)
    rows.first = first
    if n_rows:
        n_blocks = min(-(-n_rows // _THREADS), _MOST_BLOCKS)
        kernel = device.load(ARITHMETIC)["number_rows"]
        device.launch(kernel, n_blocks, _THREADS, (first, n_rows, rows))
    return rows


class DeviceArray:
    """An array in the memory of a device, in row-major order.

    It has just what algorithms need of an array outside of kernels: its shape and type, rows and
    ranges of it as views, copies, and the arithmetic of float64 scores.

    Attributes
    ----------
    device : Device
    address : int
        Where the first item is.
    shape : tuple of int
    dtype : dtype
    owner : object
        What keeps the memory alive: a view keeps the array it is taken from, an array its block of
        memory, which is given back when nothing refers to it any more.
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

    def __iter__(self) -> Iterator["DeviceArray"]:
        return (self[row] for row in range(len(self)))

    def __setitem__(self, key: int | slice, items: "DeviceArray") -> None:
        self.device.copy(items, self[key])

    def copy(self) -> "DeviceArray":
        """Return a new array with the same items."""
        other = self.device.allocate(self.shape, self.dtype)
        self.device.copy(self, other)
        return other

    def __add__(self, other: "DeviceArray") -> "DeviceArray":
        return self._compute("add_arrays", self, other)

    def __sub__(self, other: "DeviceArray") -> "DeviceArray":
        return self._compute("subtract_arrays", self, other)

    def __mul__(self, factor: float) -> "DeviceArray":
        return self._compute("multiply_array", self, float(factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> "DeviceArray":
        return self._compute("divide_array", self, float(divisor))

    def fill(self, value: float) -> None:
        """Give all items a value."""
        self._launch("fill_array", float(value), self.size, self)

    def take(self, rows: "DeviceArray") -> "DeviceArray":
        """Return the items of some rows of a one-dimensional array."""
        out = self.device.allocate(rows.shape, self.dtype)
        self._launch("take_items", self, rows, rows.size, out)
        return out

    def take_every(self, step: int) -> "DeviceArray":
        """Return every ``step``-th of some row numbers (uint32)."""
        out = self.device.allocate(-(-self.size // step), self.dtype)
        self._launch("take_every", self, step, out.size, out)
        return out

    def is_finite(self) -> bool:
        """Whether all items are finite."""
        count = self.device.zeros(1, np.uint64)
        self._launch("count_not_finite", self, self.size, count)
        return int(count.to_host()[0]) == 0

    def _compute(self, name: str, *operands: Any) -> "DeviceArray":
        out = self.device.allocate(self.shape, self.dtype)
        self._launch(name, *operands, self.size, out)
        return out

    def _launch(self, name: str, *arguments: Any) -> None:
        if self.size:
            kernel = self.device.load(ARITHMETIC)[name]
            n_blocks = min(-(-self.size // _THREADS), _MOST_BLOCKS)
            self.device.launch(kernel, n_blocks, _THREADS, arguments)

    def to_host(self) -> np.ndarray:
        """Return the items as a NumPy array, after all work that was asked for before."""
        return self.device.download(self)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """How CuPy, torch, cuDF and Numba see this memory without a copy."""
        block: Any = self
        while isinstance(block, DeviceArray):
            block = block.owner
        if hasattr(block, "is_shared"):
            block.is_shared = True  # work of others is not in the order of this device
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None,
            "version": 3,
            "stream": self.device.stream,
        }


class RowRange(DeviceArray):
    """Row numbers that follow each other, from ``first`` on: kernels need not look them up."""

    first: int
