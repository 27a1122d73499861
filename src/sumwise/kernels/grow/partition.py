"""Move a node's records to its two children."""

import numpy as np

from sumwise.kernels.runtime.jit import inlined, routine

_ROW = np.uint64(32)


@inlined
def left_range(split_bin, missing_left):
    """Return (skip, bound): a bin goes left if ``bin - skip <= bound``, with wrap-around of a byte.

    Bins 1 .. split_bin go left, and bin 0 if missing goes left: then ``skip`` is 0, else 1.
    """
    skip = np.uint8(0) if missing_left else np.uint8(1)
    return skip, np.uint8(split_bin - skip)


@routine
def partition_records(source, target, first, last, column, skip, bound):
    """Copy records [first, last) to ``target``: left ones from the front, right ones from the back.

    Left go those with ``column[row] - skip <= bound``; see :func:`left_range`.

    Both places are written each time and only one moves on, so there is no branch to mispredict.
    The right child comes out reversed; nothing depends on the order of a node's rows.
    Returns the position where the right child begins.
    """
    left = np.uint64(first)
    right = np.uint64(last)
    for i in range(np.uint64(first), np.uint64(last)):
        record = source[i]
        goes_left = np.uint64(np.uint8(column[record >> _ROW] - skip) <= bound)
        target[left] = record
        target[right - np.uint64(1)] = record
        left += goes_left
        right -= np.uint64(1) - goes_left
    return np.int64(left)
