"""Walk rows of the training table through a tree that was not grown on them.

The storage of a node's feature decides which side a row goes to: every module of ``grow/storage``
has a ``goes_left``. If a tree splits on dense features only, as most do, four rows walk side by
side, so that none waits for another's memory.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.grow.storage import bundled, categorical, dense, presorted
from sumwise.kernels.runtime.jit import inlined, kernel
from sumwise.kernels.runtime.threads import share
from sumwise.kernels.table.layout import BUNDLED, CATEGORICAL, DENSE, Categories

# Unsigned: a negative index would count from the end, and checking for that takes time.
_ROOT = np.uint64(0)


class TableTree(NamedTuple):
    """A finished tree as rows of the table walk through it."""

    feature: Any  # uint32 (n_nodes,): 0 for a leaf
    split_bin: Any  # uint8 (n_nodes,): where the feature is dense or bundled
    threshold: Any  # float64 (n_nodes,): where it is presorted
    missing_left: Any  # uint8 (n_nodes,)
    left: Any  # int32 (n_nodes,): -1 for a leaf
    set_start: Any  # int64 (n_nodes,): where the bins of a categorical feature begin in ``in_set``
    in_set: Any  # uint8: whether a bin goes left, node after node


def mark_sets(
    categories: Categories,
    feature: np.ndarray,
    missing_left: np.ndarray,
    set_node: np.ndarray,
    set_size: np.ndarray,
    set_categories: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the last two arrays of a :class:`TableTree`, from the sets of a ``Tree``."""
    start = np.zeros(feature.size, dtype=np.int64)
    if set_node.size == 0:
        return start, np.empty(0, dtype=np.uint8)
    ends = categories.n_bins[categories.place[feature[set_node]]].cumsum()
    start[set_node[1:]] = ends[:-1]
    in_set = np.zeros(ends[-1], dtype=np.uint8)
    of_sets = (set_node, set_size, set_categories)
    _mark_bins(categories, feature, missing_left, *of_sets, start, in_set)
    return start, in_set


@kernel
def _mark_bins(
    categories, feature, missing_left, set_node, set_size, set_categories, start, in_set
):
    """Mark the bins of the categories of each set; both ascend."""
    member = 0
    for k in range(set_node.size):
        node, last = set_node[k], member + set_size[k]
        place = categories.place[feature[node]]
        own = in_set[start[node] :]
        own[0] = missing_left[node]
        for b in range(1, categories.n_bins[place]):
            category = categories.codes[categories.code_start[place] + b]
            while member < last and set_categories[member] < category:
                member += 1
            if member < last and set_categories[member] == category:
                own[b] = 1
        member = last


@inlined
def goes_left(table, tree, node, row):
    """Whether a row goes left in a node."""
    storage = table.storage[tree.feature[node]]
    if storage == DENSE:
        return dense.goes_left(table, tree, node, row)
    if storage == BUNDLED:
        return bundled.goes_left(table, tree, node, row)
    if storage == CATEGORICAL:
        return categorical.goes_left(table, tree, node, row)
    return presorted.goes_left(table, tree, node, row)


@inlined
def _is_dense(table, tree):
    """Whether all splits are on dense features."""
    result = True
    for node in range(tree.feature.size):
        result &= tree.left[node] < 0 or table.storage[tree.feature[node]] == DENSE
    return result


@inlined
def _step(table, tree, row, node):
    """Return the child a row goes to, where all features are dense; a leaf leads to itself."""
    left = tree.left[node]
    is_right = np.uint64(not dense.goes_left(table, tree, node, row))
    return np.uint64(left) + is_right if left >= 0 else node


@inlined
def _walk_four(table, tree, row_a, row_b, row_c, row_d):
    """Return the leaves of four rows, where all features are dense."""
    left = tree.left
    a, b, c, d = _ROOT, _ROOT, _ROOT, _ROOT
    while (left[a] & left[b] & left[c] & left[d]) >= 0:  # -1 marks a leaf
        a = _step(table, tree, row_a, a)
        b = _step(table, tree, row_b, b)
        c = _step(table, tree, row_c, c)
        d = _step(table, tree, row_d, d)
    return a, b, c, d


@inlined
def _walk(table, tree, row):
    """Return the leaf of a row."""
    node = _ROOT
    while tree.left[node] >= 0:
        is_right = np.uint64(not goes_left(table, tree, node, row))
        node = np.uint64(tree.left[node]) + is_right
    return node


@kernel
def add_table_predictions(thread, n_threads, sync, table, tree, rows, value, scores):
    """Add the values of a tree, (n_nodes, 1), to the scores of ``rows``."""
    begin, end = share(rows.size, thread, n_threads)
    if not _is_dense(table, tree):
        for i in range(begin, end):
            scores[rows[i]] += value[_walk(table, tree, rows[i]), 0]
        return
    for first in range(begin, end, 4):
        # Beyond the last row, the last one once more.
        row_a, row_b = rows[first], rows[min(first + 1, end - 1)]
        row_c, row_d = rows[min(first + 2, end - 1)], rows[min(first + 3, end - 1)]
        leaves = _walk_four(table, tree, row_a, row_b, row_c, row_d)
        for k in range(min(4, end - first)):
            scores[rows[first + k]] += value[leaves[k], 0]
