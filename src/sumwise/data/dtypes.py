"""Types that numbers are read as, and that their bits are sorted as."""

import numpy as np
from numpy.typing import DTypeLike


def find_float_type(dtype: DTypeLike) -> type[np.float32 | np.float64]:
    """Return the type that kernels read values as: float32 where it is exact, else float64."""
    return np.float32 if dtype in (np.float16, np.float32) else np.float64


def find_bits_type(dtype: DTypeLike) -> type[np.uint32 | np.uint64]:
    """Return the unsigned integer type for the bits of values, as :func:`find_float_type`."""
    return np.uint32 if find_float_type(dtype) is np.float32 else np.uint64
