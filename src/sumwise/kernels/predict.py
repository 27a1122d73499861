"""Send rows through trees: raw matrices for users, the binned table during training."""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.jit import kernel, routine
from sumwise.kernels.threads import share

_BLOCK = 256


class FlatTrees(NamedTuple):
    """All trees of an ensemble, node after node, ready to be walked.

    A leaf leads to itself: its threshold is inf, missing goes left, and left is the leaf. So rows
    may take the same number of steps, whatever leaf they end in.
    """

    start: Any  # int64 (n_trees,): the root of a tree
    depth: Any  # int32 (n_trees,): steps to its deepest leaf
    output: Any  # int32 (n_trees,): the output a tree adds to
    feature: Any  # int32 (n_nodes,)
    threshold: Any  # float64 (n_nodes,)
    missing_left: Any  # uint8 (n_nodes,)
    left: Any  # int32 (n_nodes,): counted over all trees
    value: Any  # float64 (n_nodes,)


@kernel
def _measure_depths(start, left, node_depth, depth):
    """Write the depth of each tree; children come after their parents, -1 marks a leaf."""
    for tree in range(start.size):
        end = start[tree + 1] if tree + 1 < start.size else left.size
        node_depth[start[tree]] = 0
        deepest = 0
        for node in range(start[tree], end):
            deepest = max(deepest, node_depth[node])
            if left[node] >= 0:
                node_depth[left[node]] = node_depth[node] + 1
                node_depth[left[node] + 1] = node_depth[node] + 1
        depth[tree] = deepest


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
    depth = np.empty(start.size, dtype=np.int32)
    _measure_depths(start, left, np.empty(left.size, dtype=np.int32), depth)
    is_leaf = feature < 0
    return FlatTrees(
        start=start,
        depth=depth,
        output=output,
        feature=np.where(is_leaf, 0, feature).astype(np.int32),
        threshold=np.where(is_leaf, np.inf, threshold),
        missing_left=np.where(is_leaf, 1, missing_left).astype(np.uint8),
        left=np.where(is_leaf, np.arange(left.size), left).astype(np.int32),
        value=value,
    )


@routine
def _step(trees, values, place, column_stride, node):
    """Return the child a row goes to; without a branch, so that rows can go side by side."""
    value = np.float64(values[place + column_stride * trees.feature[node]])
    goes_left = (value <= trees.threshold[node]) | (
        np.isnan(value) & (trees.missing_left[node] != 0)
    )
    return trees.left[node] + (0 if goes_left else 1)


@routine
def _find_leaf(trees, values, place, column_stride, root):
    node = np.int64(root)
    while trees.left[node] != node:
        node = np.int64(_step(trees, values, place, column_stride, node))
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

    Blocks of rows go through one tree after the other, so that both stay in the cache, and four
    rows side by side, so that none waits for another's memory. A row's sum is always taken in the
    order of the trees.
    """
    begin, end = share(n_rows, thread, n_threads)
    for block in range(begin, end, _BLOCK):
        last = min(block + _BLOCK, end)
        fours = block + (last - block) // 4 * 4
        for tree in range(first_tree, last_tree):
            output = trees.output[tree]
            root = np.int64(trees.start[tree])
            for i in range(block, fours, 4):
                place_a = i * row_stride
                place_b = place_a + row_stride
                place_c = place_b + row_stride
                place_d = place_c + row_stride
                a, b, c, d = root, root, root, root
                for _ in range(trees.depth[tree]):
                    a = np.int64(_step(trees, values, place_a, column_stride, a))
                    b = np.int64(_step(trees, values, place_b, column_stride, b))
                    c = np.int64(_step(trees, values, place_c, column_stride, c))
                    d = np.int64(_step(trees, values, place_d, column_stride, d))
                out[i, output] += trees.value[a]
                out[i + 1, output] += trees.value[b]
                out[i + 2, output] += trees.value[c]
                out[i + 3, output] += trees.value[d]
            for i in range(fours, last):
                leaf = _find_leaf(trees, values, i * row_stride, column_stride, root)
                out[i, output] += trees.value[leaf]


@kernel
def find_leaves(thread, n_threads, sync, values, row_stride, column_stride, n_rows, trees, out):
    """Write the leaf each row reaches in each tree, numbered within the tree."""
    begin, end = share(n_rows, thread, n_threads)
    for tree in range(trees.output.size):
        root = trees.start[tree]
        for i in range(begin, end):
            leaf = _find_leaf(trees, values, i * row_stride, column_stride, root)
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
