"""DeviceMatrix: a user's matrix in the memory of a GPU."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class DeviceMatrix:
    """A matrix of floats in the memory of a GPU, in any order.

    Attributes
    ----------
    address : int
        Where the first value is.
    shape : tuple of int
        Rows and features.
    row_stride, column_stride : int
        Items between the values of two rows, and of two features.
    dtype : dtype
        float32 or float64.
    number : int
        The GPU.
    owner : object
        Keeps the memory alive.
    """

    address: int
    shape: tuple[int, int]
    row_stride: int
    column_stride: int
    dtype: np.dtype
    number: int
    owner: Any
