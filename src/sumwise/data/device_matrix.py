"""DeviceMatrix: a matrix in the memory of a GPU.

It may be an array of CuPy, torch, Numba or others, or a frame of cuDF; see device_reading.py. Its
values are read where they are. Floats are not copied; other numbers are converted on the GPU when
they are needed, to float64, or float32 for half precision, as on the CPU.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sumwise.data.dtypes import find_float_type
from sumwise.lazy import lazy

if TYPE_CHECKING:  # imported when a matrix is used: nobody else needs it
    from sumwise.cuda.runtime.arrays import DeviceArray
    from sumwise.cuda.runtime.device import Device


class DeviceColumn(NamedTuple):
    """Numbers of any type in the memory of a GPU.

    Attributes
    ----------
    address, stride : int
        The first item, and bytes from one to the next.
    dtype : dtype
    mask : int
        Address of a bit for each item, 0 for those that are missing; 0 if there is none.
    """

    address: int
    stride: int
    dtype: np.dtype
    mask: int = 0


class DenseValues(NamedTuple):
    """Floats as kernels read them: address, items between rows and between features, and type."""

    address: int
    row_stride: int
    column_stride: int
    dtype: np.dtype
    owner: Any

    @property
    def strides(self) -> tuple[int, int, int]:
        """Address and strides, the first arguments of kernels."""
        return self[:3]


@dataclass(frozen=True, eq=False)
class DeviceMatrix:
    """A matrix of numbers in the memory of a GPU.

    Attributes
    ----------
    columns : sequence of DeviceColumn
    n_rows : int
    number : int
        The GPU.
    owner : object
        What the user has passed: it keeps the memory alive.
    streams : sequence of int
        Queues of others, as CUDA knows them, whose work may not be done yet.
    names : sequence of str or None
        Of the columns of a frame.
    """

    columns: Sequence[DeviceColumn]
    n_rows: int
    number: int
    owner: Any
    streams: Sequence[int] = ()
    names: Sequence[str] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_rows, len(self.columns)

    @property
    def size(self) -> int:
        return self.n_rows * len(self.columns)

    @lazy
    def dtype(self) -> np.dtype:
        """The type that numbers are read as: float32 if that is exact for all columns."""
        kinds = {find_float_type(column.dtype) for column in self.columns}
        return np.dtype(np.float32 if kinds == {np.float32} else np.float64)

    @lazy
    def device(self) -> "Device":
        """A queue on the GPU for what is done to these values, now that they are there."""
        from sumwise.cuda.runtime import choosing

        device = choosing.device_maker(self.number)
        for stream in self.streams:
            device.wait_for_stream(stream)
        return device

    @lazy
    def values(self) -> DenseValues:
        """The values as floats: where they are, or converted; any queue may read them."""
        device, first, item = self.device, self.columns[0], self.dtype.itemsize
        addresses = np.array([column.address for column in self.columns])
        steps = np.diff(addresses)
        is_matrix = (
            all(column[1:] == (first.stride, self.dtype, 0) for column in self.columns)
            and first.stride % item == 0
            and (steps.size == 0 or ((steps == steps[0]).all() and steps[0] % item == 0))
        )
        if is_matrix:
            step = int(steps[0]) // item if steps.size else 1
            strides = first.stride // item, step
            return DenseValues(first.address, *strides, self.dtype, self.owner)
        converted = self._convert(device)
        return DenseValues(converted.address, 1, self.n_rows, self.dtype, converted)

    def _convert(self, device: "Device") -> "DeviceArray":
        """Copy all columns to one matrix of floats, in column order."""
        from sumwise.cuda.runtime.team import DeviceTeam
        from sumwise.cuda.table import BINNING

        team = DeviceTeam(device)
        converted = device.allocate(self.shape[::-1], self.dtype)
        for column, out in zip(self.columns, converted, strict=True):
            widens = find_float_type(column.dtype) is np.float32 and self.dtype == np.float64
            name = f"{'widen' if widens else 'convert'}_{column.dtype}"
            items = (column.address, column.stride, self.n_rows, column.mask, out)
            team.launch(BINNING, name, self.n_rows, *items)
        device.wait()  # other queues will read it
        return converted

    def take(self, rows: np.ndarray) -> "DeviceMatrix":
        """Return a copy of some rows, on the same GPU."""
        taken = self._gather(np.arange(len(self.columns)), rows)
        self.device.wait()  # other queues will read it
        item = self.dtype.itemsize
        columns = [DeviceColumn(column.address, item, self.dtype) for column in taken]
        return DeviceMatrix(columns, rows.size, self.number, taken, (), self.names)

    def gather(self, features: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return some rows and features on the host, as an array in column order."""
        return self._gather(features, rows).to_host().T

    def _gather(self, features: np.ndarray, rows: np.ndarray) -> "DeviceArray":
        """Copy some rows and features to an array on the GPU, (n_features, n_rows)."""
        from sumwise.cuda.table import BINNING, N_THREADS, count_grid

        device, values = self.device, self.values
        listed = device.upload(features.astype(np.int32))
        numbers = device.upload(rows.astype(np.uint32, copy=False))
        out = device.allocate((features.size, rows.size), values.dtype)
        kernel = device.load(BINNING)[f"gather_rows_{values.dtype}"]
        arguments = (*values.strides, listed, features.size, numbers, rows.size, out)
        device.launch(kernel, count_grid(rows.size, features.size), N_THREADS, arguments)
        return out
