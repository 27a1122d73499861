"""Random cuts, of extremely randomized trees.

A cut is drawn between values, not between bins, because drawing among bins gives worse forests. A
bin is represented by its *center*, half way between its thresholds; the first and the last bin by
the smallest and the largest value of the feature.
"""

import numpy as np

from sumwise.kernels.runtime.jit import ZERO, merged
from sumwise.kernels.runtime.random import uniform

_ONE = np.uint64(1)


@merged
def draw_value(key, centers, low, high):
    """Draw a value between the centers of two bins: at least the lower, less than the higher."""
    u = uniform(key, ZERO)
    value = centers[low] * (1.0 - u) + centers[high] * u
    return value if value < centers[high] else centers[low]


@merged
def find_bin(centers, value, low, high):
    """Return the last bin of [low, high) whose center is not above a value, or ``low``."""
    n = np.uint64(high - low)
    place = np.uint64(low)
    while n > _ONE:  # branch-free but for the length: the branch would be unpredictable
        half = n >> _ONE
        place += half * np.uint64(centers[place + half] <= value)
        n -= half
    return np.int64(place)


@merged
def gather_bins(bins, stride, feature, rows, first, last, codes):
    """Copy the bins of rows [first, last) to ``codes``; return the lowest and the highest."""
    n = np.uint64(last - first)
    for i in range(n):
        codes[i] = bins[np.uint64(rows[np.uint64(first) + i]) * stride + feature]
    low, high = codes[0], codes[0]
    for i in range(n):  # a loop of its own, so that it vectorizes
        low, high = min(low, codes[i]), max(high, codes[i])
    return np.int64(low), np.int64(high)


@merged
def keep_if(condition, number):
    """Return the number, or zero. Branch-free: the branch would be unpredictable."""
    mask = -np.int64(condition)
    return np.int64(np.float64(number).view(np.int64) & mask).view(np.float64)
