"""The leaves of all rows of a table in a symmetric tree: a bit a level, without walking."""

import numpy as np

from sumwise.kernels.grow.partition import left_range
from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.threads import share

# Rows at a time: their leaves stay in the cache from level to level.
_BLOCK = np.int64(4096)


@kernel
def find_symmetric_leaves(
    thread, n_threads, sync, columns, feature, split_bin, missing_left, is_set, in_set, leaf
):
    """Write the leaf of every row: nodes of a level are numbered from left to right.

    ``feature``, ``split_bin`` and ``missing_left`` are those of the levels. Where ``is_set``, the
    row of ``in_set`` tells of each bin whether it goes left.
    """
    n_levels = feature.size
    begin, end = share(leaf.size, thread, n_threads)
    for first in range(begin, end, _BLOCK):
        last = min(first + _BLOCK, end)
        own = leaf[first:last]
        for i in range(own.size):
            own[i] = 0
        for level in range(n_levels):
            column = columns[feature[level], first:last]
            if is_set[level] != 0:
                goes_left = in_set[level]
                for i in range(own.size):
                    own[i] = 2 * own[i] + 2 - goes_left[column[i]]
            else:
                skip, bound = left_range(split_bin[level], missing_left[level])
                for i in range(own.size):
                    goes_right = np.uint8(column[i] - skip) > bound
                    own[i] = 2 * own[i] + (2 if goes_right else 1)
