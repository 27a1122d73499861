"""The leaves of all rows of a table in a symmetric tree: one bit per level, without a walk."""

import numpy as np

from sumwise.kernels.grow.partition import is_left_code, left_range
from sumwise.kernels.predict.table_walk import goes_left
from sumwise.kernels.runtime.jit import inlined, kernel
from sumwise.kernels.runtime.threads import share
from sumwise.kernels.table.layout import CATEGORICAL, DENSE

# Rows at a time: their leaves stay in the cache from level to level.
_BLOCK = np.int64(4096)


@inlined
def _is_narrow_set(table, feature):
    """Whether a split is by a set of bins that lie in a column."""
    categories = table.categories
    if table.storage[feature] != CATEGORICAL:
        return False
    return categories.wide_place[categories.place[feature]] < 0


@kernel
def find_symmetric_leaves(thread, n_threads, sync, table, tree, n_levels, leaf):
    """Write the leaf of every row; the nodes of a level are numbered from left to right."""
    begin, end = share(leaf.size, thread, n_threads)
    for first in range(begin, end, _BLOCK):
        last = min(first + _BLOCK, end)
        own = leaf[first:last]
        for i in range(own.size):
            own[i] = 0
        for level in range(n_levels):
            node = (1 << level) - 1  # the first of the level: all have the same split
            feature = tree.feature[node]
            if table.storage[feature] == DENSE:
                column = table.columns[feature, first:last]
                skip, bound = left_range(tree.split_bin[node], tree.missing_left[node])
                for i in range(own.size):
                    own[i] = 2 * own[i] + (1 if is_left_code(column[i], skip, bound) else 2)
            elif _is_narrow_set(table, feature):
                in_set = tree.in_set[tree.set_start[node] :]
                column = table.columns[feature, first:last]
                for i in range(own.size):
                    own[i] = 2 * own[i] + 2 - in_set[column[i]]
            else:
                for i in range(own.size):
                    is_left = goes_left(table, tree, node, first + i)
                    own[i] = 2 * own[i] + (1 if is_left else 2)
