"""Count the categories of columns of codes, and map codes to bins."""

import numpy as np

from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.threads import share

# Rows at a time: their part of the matrix stays in the cache while its columns are read.
_BLOCK = np.int64(128)
NO_CODE = np.int64(-1)


@routine
def read_code(value, n_categories):
    """The category that a number stands for, -1 if it is none: missing, or no code at all."""
    if not (value >= 0 and value < n_categories):
        return NO_CODE
    code = np.int64(value)
    return code if value == code else NO_CODE


@kernel
def count_categories(
    thread,
    n_threads,
    sync,
    values,
    row_stride,
    column_stride,
    n_rows,
    first,
    rows,
    features,
    start,
    counts,
):
    """Add up the rows of each category: of feature k in ``counts[start[k]:start[k + 1]]``.

    ``rows`` are those of the matrix that begins with row ``first``. Each thread has features.
    """
    for k in range(thread, features.size, n_threads):
        own = counts[start[k] : start[k + 1]]
        for i in range(rows.size):
            row = np.int64(rows[i]) - first
            code = read_code(values[row * row_stride + features[k] * column_stride], own.size)
            if code >= 0:
                own[code] += 1


@kernel
def map_categories(
    thread,
    n_threads,
    sync,
    values,
    row_stride,
    column_stride,
    n_rows,
    first,
    features,
    start,
    bins,
    target,
    columns,
):
    """Write the bins of some features to rows ``target`` of ``columns[:, first:]``.

    The bin of a category of feature k is in ``bins[start[k]:start[k + 1]]``; that of missing is 0.
    """
    begin, end = share(n_rows, thread, n_threads)
    for block in range(begin, end, _BLOCK):
        last = min(block + _BLOCK, end)
        for k in range(features.size):
            own = bins[start[k] : start[k + 1]]
            out = columns[target[k], first + block : first + last]
            place = block * row_stride + features[k] * column_stride
            for i in range(out.size):
                code = read_code(values[place + i * row_stride], own.size)
                out[i] = own[code] if code >= 0 else 0
