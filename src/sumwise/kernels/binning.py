"""Find the bins of a column and map values to them.

Matrices come as a flat array with two strides, so that float32 and float64, row-major and
column-major input need no copy and only one compiled version per type.
"""

import numpy as np

from sumwise.kernels.jit import kernel, routine
from sumwise.kernels.threads import share

_BLOCK = 1024


@kernel
def find_distinct(values, limit, out):
    """Write the distinct values of a column to ``out``, sorted; return how many, limit + 1 if more.

    Stops as soon as there are too many, so that it costs little on continuous columns.
    """
    n_distinct = 0
    for i in range(values.size):
        value = values[i]
        if np.isnan(value):
            continue
        place = np.searchsorted(out[:n_distinct], value)
        if place < n_distinct and out[place] == value:
            continue
        if n_distinct == limit:
            return limit + 1
        for k in range(n_distinct, place, -1):
            out[k] = out[k - 1]
        out[place] = value
        n_distinct += 1
    return n_distinct


@kernel
def cut_by_weight(weights, n_bins, is_heavy, is_last):
    """Mark which of the sorted distinct values are the last of their bin.

    A value that carries more than an equal share of the weight gets a bin of its own; the rest is
    shared out evenly among the bins that are left.
    """
    n = weights.size
    rest = weights.sum()
    bins_left = n_bins
    share_each = rest / n_bins
    for i in range(n):
        is_heavy[i] = weights[i] >= share_each
        if is_heavy[i]:
            rest -= weights[i]
            bins_left -= 1
    n_cuts = 0
    running = 0.0
    for i in range(n):
        is_last[i] = False
    for i in range(n - 1):
        if n_cuts == n_bins - 1:
            break
        share_each = rest / max(bins_left, 1)
        if is_heavy[i]:
            is_last[i] = True
            running = 0.0
        else:
            running += weights[i]
            # Before a heavy value a half-full bin is closed; a nearly empty one joins it.
            if running >= share_each or (is_heavy[i + 1] and running >= 0.5 * share_each):
                is_last[i] = True
                rest -= running
                bins_left -= 1
                running = 0.0
        n_cuts += is_last[i]
    return n_cuts


@routine
def find_bin(value, thresholds):
    """1 + the number of thresholds below the value; 0 for a missing value.

    ``thresholds`` has 255 entries, padded with inf: a search of eight steps without a branch.
    """
    place = 0
    step = 128
    for _ in range(8):
        place += step if thresholds[place + step - 1] < value else 0
        step >>= 1
    return 0 if np.isnan(value) else place + 1


@kernel
def map_to_bins(
    thread, n_threads, sync, values, row_stride, column_stride, thresholds, first, columns
):
    """Write the bins of a matrix to ``columns[:, first:]``, one byte a value.

    ``thresholds`` has shape (n_features, 255), padded with inf.
    """
    n_features = thresholds.shape[0]
    n_rows = values.size // max(n_features, 1)
    begin, end = share(n_rows, thread, n_threads)
    for block in range(begin, end, _BLOCK):
        for f in range(n_features):
            own = thresholds[f]
            for i in range(block, min(block + _BLOCK, end)):
                value = values[i * row_stride + f * column_stride]
                columns[f, first + i] = find_bin(np.float64(value), own)
