"""Random cuts, of extremely randomized trees."""

import numpy as np

from sumwise.kernels.runtime.jit import ZERO, merged, routine
from sumwise.kernels.runtime.random import uniform


@merged
def draw_value(key, centers, low, high):
    """Draw a value between those of two bins; that of the higher one is beyond it."""
    u = uniform(key, ZERO)
    value = centers[low] * (1.0 - u) + centers[high] * u
    return value if value < centers[high] else centers[low]


@routine
def find_bin(centers, value, low, high):
    """Return the last of the bins from ``low`` up to ``high`` that is not beyond a value."""
    while high - low > 1:
        middle = (low + high) >> 1
        if centers[middle] <= value:
            low = middle
        else:
            high = middle
    return low


@merged
def gather_bins(bins, stride, feature, rows, first, last, codes):
    """Put the bins of rows in order; return the lowest and the highest."""
    n = np.uint64(last - first)
    for i in range(n):
        codes[i] = bins[np.uint64(rows[np.uint64(first) + i]) * stride + feature]
    low, high = codes[0], codes[0]
    for i in range(n):  # a loop of its own is one of vectors
        low, high = min(low, codes[i]), max(high, codes[i])
    return np.int64(low), np.int64(high)


@merged
def keep_if(condition, number):
    """The number, or zero: without a branch, which nobody could guess."""
    mask = -np.int64(condition)
    return np.int64(np.float64(number).view(np.int64) & mask).view(np.float64)
