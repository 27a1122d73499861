"""Walk a few rows of a user's matrix through trees.

Many rows go another way, see coding.py. Rows of the training table: see table_walk.py.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.grow.partition import is_left_value
from sumwise.kernels.predict.category_sets import NO_SETS, CategorySets, is_in_set
from sumwise.kernels.runtime.jit import inlined, kernel
from sumwise.kernels.table.category_bins import read_code

_ANY_CODE = np.int64(1 << 31)


class FlatTrees(NamedTuple):
    """All trees of an ensemble, node after node. A leaf has a feature and a left child of -1."""

    start: Any  # int64 (n_trees,): the root of a tree
    output: Any  # int32 (n_trees,): the output a tree adds to
    feature: Any  # int32 (n_nodes,)
    threshold: Any  # float64 (n_nodes,)
    missing_left: Any  # uint8 (n_nodes,)
    left: Any  # int32 (n_nodes,): counted over all trees
    value: Any  # float64 (n_nodes,)
    sets: CategorySets = NO_SETS


def close_leaves(trees: FlatTrees) -> FlatTrees:
    """Make trees ready to be walked: a leaf leads to itself.

    Its threshold is inf, missing goes left, and left is the leaf. So walks of different lengths may
    go on side by side.
    """
    is_leaf, left = trees.feature < 0, trees.left
    return trees._replace(
        feature=np.where(is_leaf, 0, trees.feature).astype(np.int32),
        threshold=np.where(is_leaf, np.inf, trees.threshold),
        missing_left=np.where(is_leaf, 1, trees.missing_left).astype(np.uint8),
        left=np.where(is_leaf, np.arange(left.size), left).astype(np.int32),
    )


@inlined
def _step(trees, values, place, column_stride, node):
    """Return the child a row goes to; branch-free, so that walks can go side by side."""
    value = np.float64(values[place + column_stride * trees.feature[node]])
    is_left = is_left_value(value, trees.threshold[node], trees.missing_left[node])
    return np.int64(trees.left[node]) + (0 if is_left else 1)


@inlined
def _set_step(trees, values, place, column_stride, node):
    """Return the child a row goes to, where some nodes split by sets."""
    number = trees.sets.of_node[node]
    if number < 0:
        return _step(trees, values, place, column_stride, node)
    value = np.float64(values[place + column_stride * trees.feature[node]])
    if np.isnan(value):
        is_left = trees.missing_left[node] != 0
    else:
        is_left = is_in_set(trees.sets, number, read_code(value, _ANY_CODE))
    return np.int64(trees.left[node]) + (0 if is_left else 1)


@inlined
def _walk(trees, values, place, column_stride, root):
    """Return the leaf of a row, where some nodes split by sets."""
    node, child = root, _set_step(trees, values, place, column_stride, root)
    while child != node:
        node, child = child, _set_step(trees, values, place, column_stride, child)
    return node


@kernel
def add_predictions(values, row_stride, column_stride, n_rows, trees, out):
    """Add the values of all trees to ``out`` (n_rows, n_outputs); see :func:`close_leaves`.

    Without sets of categories, a row walks through four trees side by side, so that none waits for
    another's memory. Its sum is taken in the order of the trees.
    """
    n_trees, has_sets = trees.start.size, trees.sets.of_node.size > 0
    for i in range(n_rows):
        place = i * row_stride
        if has_sets:
            for tree in range(n_trees):
                leaf = _walk(trees, values, place, column_stride, trees.start[tree])
                out[i, trees.output[tree]] += trees.value[leaf]
            continue
        for first in range(0, n_trees, 4):
            # Beyond the last tree, the last one once more.
            a = trees.start[first]
            b = trees.start[min(first + 1, n_trees - 1)]
            c = trees.start[min(first + 2, n_trees - 1)]
            d = trees.start[min(first + 3, n_trees - 1)]
            moves = True
            while moves:
                next_a = _step(trees, values, place, column_stride, a)
                next_b = _step(trees, values, place, column_stride, b)
                next_c = _step(trees, values, place, column_stride, c)
                next_d = _step(trees, values, place, column_stride, d)
                moves = ((next_a ^ a) | (next_b ^ b) | (next_c ^ c) | (next_d ^ d)) != 0
                a, b, c, d = next_a, next_b, next_c, next_d
            leaves = (a, b, c, d)
            for k in range(min(4, n_trees - first)):
                out[i, trees.output[first + k]] += trees.value[leaves[k]]
