"""Count the categories of columns of codes, and map codes to bins.

Kernels see a categorical feature as codes 0, 1, ... in a float column: positions in a sorted
dictionary, NaN for missing and unknown values. A ``matrix`` is as in binning.py.

Only categories with at least ``smoothing`` training rows can ever be chosen; they have their own
bins. All others share the last bin (the *rest*), which is never chosen, so merging them changes no
tree. With at most ``onehot_limit`` categories, every category has a bin, because each may be
chosen.
"""

import numpy as np

from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.threads import share
from sumwise.kernels.table.binning import BLOCK

NO_CODE = np.int64(-1)


@routine
def read_code(value, n_categories):
    """The category that a number stands for, -1 if it is none: missing, or no code at all."""
    if not (value >= 0 and value < n_categories):
        return NO_CODE
    code = np.int64(value)
    return code if value == code else NO_CODE


@kernel
def count_categories(thread, n_threads, sync, matrix, first, rows, features, start, counts):
    """Count the rows of each category of feature k in ``counts[start[k]:start[k + 1]]``.

    The matrix begins with row ``first`` of the data. Each thread has features.
    """
    values = matrix.values
    for k in range(thread, features.size, n_threads):
        own = counts[start[k] : start[k + 1]]
        for i in range(rows.size):
            place = (np.int64(rows[i]) - first) * matrix.row_stride
            code = read_code(values[place + features[k] * matrix.column_stride], own.size)
            if code >= 0:
                own[code] += 1


@kernel
def map_categories(thread, n_threads, sync, matrix, first, features, start, bins, target, columns):
    """Write the bins of some features to rows ``target`` of ``columns[:, first:]``.

    The bin of a category of feature k is in ``bins[start[k]:start[k + 1]]``; that of missing is 0.
    """
    begin, end = share(matrix.n_rows, thread, n_threads)
    values, step = matrix.values, matrix.row_stride
    for block in range(begin, end, BLOCK):
        last = min(block + BLOCK, end)
        for k in range(features.size):
            own = bins[start[k] : start[k + 1]]
            out = columns[target[k], first + block : first + last]
            place = block * step + features[k] * matrix.column_stride
            for i in range(out.size):
                code = read_code(values[place + i * step], own.size)
                out[i] = own[code] if code >= 0 else 0
