"""Random cuts, of extremely randomized trees.

A cut is drawn between values, not between bins, because drawing among bins gives worse forests. A
bin is represented by its *center*, half way between its thresholds; the first and the last bin by
the smallest and the largest value of the feature.
"""

import numpy as np

from sumwise.kernels.runtime.jit import ZERO, inlined, merged, routine
from sumwise.kernels.runtime.random import uniform


@merged
def draw_value(key, centers, low, high):
    """Draw a value between the centers of two bins: at least the lower, less than the higher."""
    u = uniform(key, ZERO)
    value = centers[low] * (1.0 - u) + centers[high] * u
    # Rounding may leave the range.
    return value if centers[low] <= value < centers[high] else centers[low]


@routine
def find_bin(centers, value, low, high):
    """Return the last bin of [low, high) whose center is not above a value, or ``low``."""
    while high - low > 1:
        middle = (low + high) >> 1
        if centers[middle] <= value:
            low = middle
        else:
            high = middle
    return low


@inlined
def is_before(cut, code):
    """Whether rows of a bin are on the left of a cut: its center is not above the value.

    ``cut`` has the centers, the value, and the lowest and the highest bin of the node. For a few
    rows, this takes less time than to search the bin of the cut.
    """
    centers, value, _, _ = cut
    return centers[np.uint64(code)] <= value


@inlined
def keep_cut(work, value, low, high):
    """Keep a cut: it is the best so far."""
    work.best_cut[0], work.best_cut[1], work.best_cut[2] = value, low, high


@inlined
def find_kept_bin(work, centers):
    """Return the bin of the cut that was kept. It takes a search, hence only for the best cut."""
    low, high = np.int64(work.best_cut[1]), np.int64(work.best_cut[2])
    return np.uint8(find_bin(centers, work.best_cut[0], low, high))


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
