"""Data on which rivals must find the same trees, and how trees are compared."""

import numpy as np


def make_table(seed, with_missing):
    """Return X, y, weights and 0/1 labels without ties.

    X has few distinct values, so that every value has its own bin everywhere. The other numbers
    are integers that float32, in which rivals keep gradients, holds exactly.
    """
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (80, 4)).astype(np.float64)
    y = rng.integers(-9999, 10000, 80) + 1000 * X[:, 0] - 800 * X[:, 1]
    weight = rng.integers(1, 64, 80).astype(np.float64)
    labels = (y > np.median(y)) ^ (rng.random(80) < 0.2)
    if with_missing:
        X[rng.random(X.shape) < 0.2] = np.nan
    return X, y, weight, labels.astype(int)


def collect_nodes(X, root, open_node):
    """Return the nodes of a tree, each as the set of its row numbers.

    ``open_node`` takes a node and returns None for a leaf, otherwise the feature, a function from
    values to whether they go left, and the two children.
    """
    nodes = set()
    pending = [(root, np.arange(len(X)))]
    while pending:
        node, rows = pending.pop()
        nodes.add(frozenset(rows.tolist()))
        opened = open_node(node)
        if opened is not None:
            feature, goes_left, left, right = opened
            mask = goes_left(X[rows, feature]).astype(bool)
            pending += [(left, rows[mask]), (right, rows[~mask])]
    return nodes


def collect_our_nodes(X, model):
    """Return the nodes of a model of one tree."""
    tree = model.ensemble_
    assert tree.n_trees == 1

    def open_node(node):
        if tree.feature[node] < 0:
            return None
        threshold, missing_left = tree.threshold[node], tree.missing_left[node]

        def goes_left(values):
            return np.where(np.isnan(values), missing_left, values <= threshold)

        return tree.feature[node], goes_left, tree.left[node], tree.left[node] + 1

    return collect_nodes(X, 0, open_node)
