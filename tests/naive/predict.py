"""The leaf of each row, from bins or from raw values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from .grow import LEAF, Tree
from .split import Codes, goes_left
from .trees import Trees


def find_leaf(tree: Tree, is_left: Callable[[int], bool]) -> int:
    """Walk down from the root; `is_left` answers for a node."""
    node_idx = 0
    while tree.feature[node_idx] != LEAF:
        children = tree.left if is_left(node_idx) else tree.right
        node_idx = children[node_idx]
    return node_idx


def predict_binned(tree: Tree, codes: Codes) -> NDArray[np.int64]:
    """Return the leaf index of each row of codes (n_features, n_rows)."""
    at = np.zeros(codes.shape[1], dtype=np.int64)
    for node_idx, feature in enumerate(tree.feature):  # children come after their parent
        if feature != LEAF:
            rows = np.flatnonzero(at == node_idx)
            is_left = goes_left(
                codes[feature, rows],
                tree.split_bin[node_idx],
                tree.missing_left[node_idx],
                tree.members[node_idx],
            )
            at[rows] = np.where(is_left, tree.left[node_idx], tree.right[node_idx])
    return at


def node_threshold(tree: Tree, node_idx: int, thresholds: Sequence[NDArray[np.float64]]) -> float:
    """Return the largest value that goes left; +inf where only missing goes right."""
    of_feature = thresholds[tree.feature[node_idx]]
    n_value_bins = len(of_feature) + 1
    split_bin = tree.split_bin[node_idx]
    return math.inf if split_bin == n_value_bins else float(of_feature[split_bin - 1])


def predict_raw(
    tree: Tree, X: NDArray[np.float64], thresholds: Sequence[NDArray[np.float64]]
) -> NDArray[np.int64]:
    """Return the leaf index of each row of X (n_rows, n_features)."""

    def leaf_of(row: int) -> int:
        def is_left(node_idx: int) -> bool:
            value = float(X[row, tree.feature[node_idx]])
            if math.isnan(value):
                return tree.missing_left[node_idx]
            return value <= node_threshold(tree, node_idx, thresholds)

        return find_leaf(tree, is_left)

    return np.array([leaf_of(row) for row in range(len(X))], dtype=np.int64)


def find_leaves(trees: Trees, X: NDArray[np.floating]) -> NDArray[np.int64]:
    """Return the leaf of each row in each tree, counted within the tree."""
    leaves = np.empty((len(X), trees.start.size), dtype=np.int64)
    for row, values in enumerate(X.tolist()):
        for tree, root in enumerate(trees.start):
            node = root
            while trees.left[node] >= 0:
                value = values[trees.feature[node]]
                is_left = (
                    bool(trees.missing_left[node])
                    if math.isnan(value)
                    else value <= trees.threshold[node]
                )
                node = trees.left[node] + (0 if is_left else 1)
            leaves[row, tree] = node - root
    return leaves


def sum_values(
    trees: Trees, leaves: NDArray[np.int64], base_score: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the sums of the leaves' values, taken in the order of the trees."""
    sums = np.tile(base_score, (len(leaves), 1))
    for tree, output in enumerate(trees.output):
        sums[:, output] += trees.value[trees.start[tree] + leaves[:, tree]]
    return sums


def walk_tree(tree, row):
    """Return the leaf of a ``Tree`` that a row of values and codes reaches."""
    ends = np.cumsum(tree.set_size)
    sets = {
        int(node): set(tree.set_categories[end - size : end])
        for node, size, end in zip(tree.set_node, tree.set_size, ends, strict=True)
    }
    node = 0
    while tree.feature[node] >= 0:
        value = row[tree.feature[node]]
        if math.isnan(value):
            is_left = tree.missing_left[node] == 1
        elif node in sets:
            is_left = int(value) in sets[node]
        else:
            is_left = value <= tree.threshold[node]
        node = tree.left[node] + (0 if is_left else 1)
    return node
