"""Partial dependence from the trees alone: no rows are predicted.

Friedman (2001, section 8.2): a point of the grid goes down each tree. Where a node splits on a
feature of the grid, the point goes to one side. Elsewhere it goes to both sides, weighted by the
shares of the training rows that went there. The weights that arrive at the leaves multiply the
values of the leaves.

Each feature of a point decides on its own whether the point arrives. So a grid of 100 x 100 points
needs only 200 values to be followed, and a product of two matrices at the end.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

import numpy as np

from sumwise.tree import Tree, Trees

# Values of the grid times leaves that are followed at a time.
_MOST_FOLLOWED = 1 << 22


def depend_on(trees: Trees, features: Sequence[int], axes: Sequence[np.ndarray]) -> np.ndarray:
    """Return the response at the points of a grid, averaged over the other features.

    Parameters
    ----------
    trees : Trees
        Training rows count by number in boosting, by weight in a forest.
    features : sequence of int
        Features of the grid.
    axes : sequence of ndarray of float64
        The values of each feature; codes for categories, NaN for missing.

    Returns
    -------
    ndarray of float64, shape (n_outputs, n_values of the first feature, ...)
        Raw scores of boosting, with the base score; means of a forest's trees.
    """
    sums = np.zeros((trees.n_outputs, *(axis.size for axis in axes)))
    n_values = trees.n_outputs // trees.n_groups
    for part in _split_trees(trees, sum(axis.size for axis in axes)):
        nodes = part.decode()
        shares = share_left(nodes.left, part.cover)
        for k in range(trees.n_groups):
            own = slice(k * n_values, (k + 1) * n_values)
            roots = part.start[k : -1 : trees.n_groups]
            sums[own] += _descend(nodes, shares, roots, features, axes)
    return trees.combine(sums)


def _split_trees(trees: Trees, n_values: int) -> Iterator[Trees]:
    """Yield a few trees at a time, as many from each group."""
    n_leaves = (np.diff(trees.start[:: trees.n_groups]) + trees.n_groups) // 2
    parts = np.cumsum(n_leaves) * n_values // _MOST_FOLLOWED
    ends = np.flatnonzero(np.diff(parts, append=-1)) + 1
    for first, last in pairwise([0, *(trees.n_groups * ends).tolist()]):
        yield trees.select(first, last)


def share_left(left: np.ndarray, cover: np.ndarray) -> np.ndarray:
    """Return the share of each node's rows that go left; anything for leaves."""
    child = np.maximum(left, 0)
    both = (cover[child] + cover[np.minimum(child + 1, cover.size - 1)]).astype(np.float64)
    # Both sides of a node that no row has reached count the same.
    return np.divide(cover[child], both, out=np.full(both.size, 0.5), where=both > 0)


def _descend(
    nodes: Tree,
    shares_left: np.ndarray,
    roots: np.ndarray,
    features: Sequence[int],
    axes: Sequence[np.ndarray],
) -> np.ndarray:
    """Return the sum of the trees' values at all points, (n_columns, n_values, ...)."""
    sets = nodes.left_categories
    leaves: list[tuple[np.ndarray, list[np.ndarray]]] = []
    # Which values of each axis arrive at a node, and the weight that they arrive with.
    node, share = roots, np.ones(roots.size)
    comes = [np.ones((roots.size, axis.size), dtype=np.bool_) for axis in axes]
    while node.size:
        is_leaf = nodes.left[node] < 0
        value = nodes.value[node[is_leaf]] * share[is_leaf, None]
        leaves.append((value, [own[is_leaf] for own in comes]))
        node, share, comes = node[~is_leaf], share[~is_leaf], [own[~is_leaf] for own in comes]
        left, right = shares_left[node], 1.0 - shares_left[node]
        for place, (feature, axis) in enumerate(zip(features, axes, strict=True)):
            own = np.flatnonzero(nodes.feature[node] == feature)
            goes_left = _ask(nodes, sets, node[own], axis)
            left[own] = right[own] = 1.0
            to_left, to_right = comes[place].copy(), comes[place].copy()
            to_left[own] &= goes_left
            to_right[own] &= ~goes_left
            comes[place] = np.concatenate([to_left, to_right])
        share = np.concatenate([share * left, share * right])
        node = np.concatenate([nodes.left[node], nodes.left[node] + 1])
    values, arrivals = zip(*leaves, strict=True)
    joined = [np.concatenate(own) for own in zip(*arrivals, strict=True)]
    return _combine(np.concatenate(values), joined)


def _combine(value: np.ndarray, comes: Sequence[np.ndarray]) -> np.ndarray:
    """Sum the values of leaves (n_leaves, n_columns) at the points that arrive there."""
    n_leaves, n_columns = value.shape
    sizes = [own.shape[1] for own in comes]
    total = np.zeros((sizes[0], n_columns * math.prod(sizes[1:])))
    step = max(1, _MOST_FOLLOWED // total.shape[1])
    for first in range(0, n_leaves, step):
        some = slice(first, first + step)
        rest = value[some]
        for own in comes[1:]:
            rest = (rest[:, :, None] * own[some, None, :]).reshape(rest.shape[0], -1)
        total += comes[0][some].T.astype(np.float64) @ rest
    return np.moveaxis(total.reshape(sizes[0], n_columns, *sizes[1:]), 0, 1)


def _ask(
    nodes: Tree, sets: Mapping[int, np.ndarray], node: np.ndarray, values: np.ndarray
) -> np.ndarray:
    """Return which values go left in each node, shape (n_nodes, n_values)."""
    goes_left = values <= nodes.threshold[node, None]
    for row, number in enumerate(node.tolist()):
        if number in sets:
            goes_left[row] = np.isin(values, sets[number])
    goes_left[:, np.isnan(values)] = nodes.missing_left[node, None] > 0
    return goes_left
