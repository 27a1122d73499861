"""Arrays that claim to be in the memory of a GPU; an emulated one has the memory of the host."""

import numpy as np


class FakeArray:
    """An array as CuPy has it."""

    def __init__(self, array):
        self.array = array

    @property
    def shape(self):
        return self.array.shape

    @property
    def __cuda_array_interface__(self):
        return {
            "shape": self.array.shape,
            "typestr": self.array.dtype.str,
            "data": (self.array.ctypes.data, False),
            "strides": None if self.array.flags.c_contiguous else self.array.strides,
            "version": 3,
            "stream": 1,
        }

    def get(self):
        return self.array


class FakeTensor:
    """An array that only DLPack knows."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return 2, 0

    def __dlpack__(self, **options):
        return self.array.__dlpack__()


class FakeMask:
    """Bits of values that are there, as cuDF has them."""

    def __init__(self, is_known):
        self.bits = np.packbits(is_known, bitorder="little")

    @property
    def __cuda_array_interface__(self):
        return {"data": (self.bits.ctypes.data, True)}


class FakeSeries:
    def __init__(self, array, is_known=None):
        self.array, self.dtype = array, array.dtype
        self.mask = None if is_known is None else FakeMask(is_known)

    @property
    def __cuda_array_interface__(self):
        own = {"data": (self.array.ctypes.data, False), "shape": self.array.shape, "version": 1}
        return own if self.mask is None else own | {"mask": self.mask}


class FakeFrame:
    """A frame of cuDF: columns by name, some with missing values."""

    def __init__(self, columns):
        self._columns, self.columns = columns, list(columns)

    def __getitem__(self, name):
        return self._columns[name]

    def __len__(self):
        return len(self._columns[self.columns[0]].array)


FakeFrame.__module__ = "cudf.core.dataframe"
