"""Send rows through trees: raw matrices for users, the binned table during training."""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.jit import kernel, routine
from sumwise.kernels.threads import share

_BLOCK = 256


class FlatTrees(NamedTuple):
    """All trees of an ensemble, node after node."""

    start: Any  # int64 (n_trees,): the root of a tree
    output: Any  # int32 (n_trees,): the output a tree adds to
    feature: Any  # int32 (n_nodes,), -1 for a leaf
    threshold: Any  # float64 (n_nodes,)
    missing_left: Any  # uint8 (n_nodes,)
    left: Any  # int32 (n_nodes,): counted over all trees
    value: Any  # float64 (n_nodes,)


@routine
def _find_leaf(values, place, column_stride, feature, threshold, missing_left, left, node):
    while feature[node] >= 0:
        value = np.float64(values[place + column_stride * feature[node]])
        if np.isnan(value):
            goes_left = missing_left[node] != 0
        else:
            goes_left = value <= threshold[node]
        node = left[node] + (0 if goes_left else 1)
    return node


@kernel
def add_predictions(
    thread,
    n_threads,
    sync,
    values,
    row_stride,
    column_stride,
    n_rows,
    first_tree,
    last_tree,
    trees,
    out,
):
    """Add the values of trees [first_tree, last_tree) to ``out`` (n_rows, n_outputs).

    Blocks of rows go through one tree after the other, so that both stay in the cache; a row's
    sum is always taken in the order of the trees.
    """
    begin, end = share(n_rows, thread, n_threads)
    for block in range(begin, end, _BLOCK):
        for tree in range(first_tree, last_tree):
            output = trees.output[tree]
            root = trees.start[tree]
            for i in range(block, min(block + _BLOCK, end)):
                leaf = _find_leaf(
                    values,
                    i * row_stride,
                    column_stride,
                    trees.feature,
                    trees.threshold,
                    trees.missing_left,
                    trees.left,
                    root,
                )
                out[i, output] += trees.value[leaf]


@kernel
def find_leaves(thread, n_threads, sync, values, row_stride, column_stride, n_rows, trees, out):
    """Write the leaf each row reaches in each tree, numbered within the tree."""
    begin, end = share(n_rows, thread, n_threads)
    for tree in range(trees.output.size):
        root = trees.start[tree]
        for i in range(begin, end):
            leaf = _find_leaf(
                values,
                i * row_stride,
                column_stride,
                trees.feature,
                trees.threshold,
                trees.missing_left,
                trees.left,
                root,
            )
            out[i, tree] = leaf - root


@kernel
def add_binned_predictions(
    thread, n_threads, sync, columns, rows, feature, split_bin, missing_left, left, value, scores
):
    """Add a tree's values to the scores of ``rows``, which the tree was not grown on."""
    begin, end = share(rows.size, thread, n_threads)
    for i in range(begin, end):
        row = rows[i]
        node = 0
        while feature[node] >= 0:
            code = columns[feature[node], row]
            goes_left = missing_left[node] != 0 if code == 0 else code <= split_bin[node]
            node = left[node] + (0 if goes_left else 1)
        scores[row] += value[node, 0]
