"""Partial dependence by the trees alone: no rows are predicted.

Friedman (2001, section 8.2): a point of the grid goes down each tree. Where a node splits on one of
the features of the grid, it goes to one side; elsewhere to both, with the shares of the training
rows that went there. What arrives at the leaves weighs their values.

Whether a point arrives is told by each of its features alone. So a grid of 100 x 100 points needs
no more than 200 values to be followed, and a product of two matrices at the end.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from sumwise.tree import TreeEnsemble
from sumwise.tree.forest import Forest
from sumwise.tree.tree import Tree

# Values of the grid times leaves of some trees, which are followed at a time.
_MOST_FOLLOWED = 1 << 22


_ROOT = np.zeros(1, dtype=np.int64)


class Nodes(NamedTuple):
    """Nodes of trees laid end to end, as in :class:`TreeEnsemble`.

    Attributes
    ----------
    feature, threshold, missing_left, left : ndarray
    share_left : ndarray of float64
        Share of the node's rows that go left.
    value : ndarray of float64, shape (n_nodes, n_columns)
    sets : dict of int to ndarray
        Codes of the categories that go left, of nodes that split by a set.
    """

    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray
    left: np.ndarray
    share_left: np.ndarray
    value: np.ndarray
    sets: Mapping[int, np.ndarray]


def depend_on(
    trees: TreeEnsemble | Forest, features: Sequence[int], axes: Sequence[np.ndarray]
) -> np.ndarray:
    """Return the response at the points of a grid, averaged over the other features.

    Parameters
    ----------
    trees : TreeEnsemble or Forest
        The shares are those of the training rows; of a forest, of their weights.
    features : sequence of int
        Features of the grid.
    axes : sequence of ndarray of float64
        The values of each, codes for categories; NaN for missing.

    Returns
    -------
    ndarray of float64, shape (n_outputs, n_values of the first feature, ...)
        Raw scores of an ensemble, with the base score; means of a forest's trees.
    """
    sizes = [axis.size for axis in axes]
    if isinstance(trees, Forest):
        response = np.zeros((trees.n_columns, *sizes))
        for number in range(trees.n_trees):
            tree = trees.to_tree(number)
            response += _descend(_read_nodes(tree, tree.weight), _ROOT, features, axes)
        return response / trees.n_trees
    nodes = _read_nodes(trees, trees.n_rows)
    response = np.empty((trees.n_outputs, *sizes))
    response.T[:] = trees.base_score
    for output in range(trees.n_outputs):
        for roots in _split_trees(trees, trees.output == output, sum(sizes)):
            response[output] += _descend(nodes, roots, features, axes)[0]
    return response


def _read_nodes(trees: TreeEnsemble | Tree, weight: np.ndarray) -> Nodes:
    left = np.maximum(trees.left, 0)
    both = (weight[left] + weight[np.minimum(left + 1, weight.size - 1)]).astype(np.float64)
    # Of a node that no row has reached, the sides count the same.
    share = np.divide(weight[left], both, out=np.full(both.size, 0.5), where=both > 0)
    sets = np.split(trees.set_categories, np.cumsum(trees.set_size)[:-1])
    return Nodes(
        feature=trees.feature,
        threshold=trees.threshold,
        missing_left=trees.missing_left > 0,
        left=trees.left,
        share_left=share,
        value=trees.value.reshape(trees.feature.size, -1),
        sets=dict(zip(trees.set_node.tolist(), sets, strict=False)),
    )


def _split_trees(trees: TreeEnsemble, is_chosen: np.ndarray, n_values: int) -> Iterator[np.ndarray]:
    """Yield the roots of some trees, a few trees at a time."""
    n_leaves = np.add.reduceat(trees.feature < 0, trees.start)[is_chosen]
    parts = np.cumsum(n_leaves) * n_values // _MOST_FOLLOWED
    roots = trees.start[is_chosen]
    yield from np.split(roots, np.flatnonzero(np.diff(parts)) + 1)


def _descend(
    nodes: Nodes, roots: np.ndarray, features: Sequence[int], axes: Sequence[np.ndarray]
) -> np.ndarray:
    """Return the sum of the trees' values at all points: go down level by level, then add up."""
    leaves: list[tuple[np.ndarray, list[np.ndarray]]] = []
    # Which values of each axis come to a node, and the share of them that does.
    node, share = roots, np.ones(roots.size)
    comes = [np.ones((roots.size, axis.size), dtype=np.bool_) for axis in axes]
    while node.size:
        is_leaf = nodes.left[node] < 0
        value = nodes.value[node[is_leaf]] * share[is_leaf, None]
        leaves.append((value, [own[is_leaf] for own in comes]))
        node, share, comes = node[~is_leaf], share[~is_leaf], [own[~is_leaf] for own in comes]
        left, right = nodes.share_left[node], 1.0 - nodes.share_left[node]
        for place, (feature, axis) in enumerate(zip(features, axes, strict=True)):
            own = np.flatnonzero(nodes.feature[node] == feature)
            goes_left = _ask(nodes, node[own], axis)
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
    """Sum the values of leaves (n_leaves, n_columns) at the points that come to each."""
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


def _ask(nodes: Nodes, node: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return which values go left in each node, (n_nodes, n_values)."""
    goes_left = values <= nodes.threshold[node, None]
    for row, number in enumerate(node.tolist()):
        if number in nodes.sets:
            goes_left[row] = np.isin(values, nodes.sets[number])
    goes_left[:, np.isnan(values)] = nodes.missing_left[node, None]
    return goes_left
