"""Walk rows through trees: a few rows of a user's matrix, and the binned table during training.

Many rows of a matrix go another way, see coding.py.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.runtime.jit import ZERO, inlined, kernel
from sumwise.kernels.runtime.threads import share


class FlatTrees(NamedTuple):
    """All trees of an ensemble, node after node.

    A leaf leads to itself: its threshold is inf, missing goes left, and left is the leaf. So walks
    of different lengths may go on side by side.
    """

    start: Any  # int64 (n_trees,): the root of a tree
    output: Any  # int32 (n_trees,): the output a tree adds to
    feature: Any  # int32 (n_nodes,)
    threshold: Any  # float64 (n_nodes,)
    missing_left: Any  # uint8 (n_nodes,)
    left: Any  # int32 (n_nodes,): counted over all trees
    value: Any  # float64 (n_nodes,)


def flatten_trees(
    start: np.ndarray,
    output: np.ndarray,
    feature: np.ndarray,
    threshold: np.ndarray,
    missing_left: np.ndarray,
    left: np.ndarray,
    value: np.ndarray,
) -> FlatTrees:
    """Make trees ready to be walked; a leaf comes with a feature and a left child of -1."""
    is_leaf = feature < 0
    return FlatTrees(
        start=start,
        output=output,
        feature=np.where(is_leaf, 0, feature).astype(np.int32),
        threshold=np.where(is_leaf, np.inf, threshold),
        missing_left=np.where(is_leaf, 1, missing_left).astype(np.uint8),
        left=np.where(is_leaf, np.arange(left.size), left).astype(np.int32),
        value=value,
    )


@inlined
def _step(trees, values, place, column_stride, node):
    """Return the child a row goes to; without a branch, so that walks can go side by side."""
    value = np.float64(values[place + column_stride * trees.feature[node]])
    goes_left = (value <= trees.threshold[node]) | (
        np.isnan(value) & (trees.missing_left[node] != 0)
    )
    return np.int64(trees.left[node]) + (0 if goes_left else 1)


@kernel
def add_predictions(values, row_stride, column_stride, n_rows, trees, out):
    """Add the values of all trees to ``out`` (n_rows, n_outputs).

    A row walks through four trees side by side, so that none waits for another's memory. Its sum
    is taken in the order of the trees.
    """
    n_trees = trees.start.size
    for i in range(n_rows):
        place = i * row_stride
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


@inlined
def _binned_step(columns, row, tree, node):
    """Return the child a row of the table goes to; a leaf leads to itself."""
    feature, split_bin, missing_left, left = tree
    code = columns[max(feature[node], 0), row]
    goes_left = (code <= split_bin[node]) & ((code != 0) | (missing_left[node] != 0))
    return np.int64(left[node] + (0 if goes_left else 1)) if left[node] >= 0 else node


@kernel
def add_binned_predictions(
    thread, n_threads, sync, columns, rows, feature, split_bin, missing_left, left, value, scores
):
    """Add a tree's values to the scores of ``rows``, which the tree was not grown on.

    Four rows walk side by side.
    """
    begin, end = share(rows.size, thread, n_threads)
    tree = (feature, split_bin, missing_left, left)
    for first in range(begin, end, 4):
        # Beyond the last row, the last one once more.
        row_a = rows[first]
        row_b = rows[min(first + 1, end - 1)]
        row_c = rows[min(first + 2, end - 1)]
        row_d = rows[min(first + 3, end - 1)]
        a, b, c, d = ZERO, ZERO, ZERO, ZERO
        while (left[a] & left[b] & left[c] & left[d]) >= 0:  # -1 marks a leaf
            a = _binned_step(columns, row_a, tree, a)
            b = _binned_step(columns, row_b, tree, b)
            c = _binned_step(columns, row_c, tree, c)
            d = _binned_step(columns, row_d, tree, d)
        leaves = (a, b, c, d)
        for k in range(min(4, end - first)):
            scores[rows[first + k]] += value[leaves[k], 0]
