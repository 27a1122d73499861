"""Forests as people and pictures want to know them: nodes, their depths, and ways through them."""

from dataclasses import replace
from typing import Any

import numpy as np

from sumwise.data.binning import BinMapper
from sumwise.data.sparse import SparseMatrix, is_sparse
from sumwise.kernels.runtime.threads import Team
from sumwise.lazy import lazy
from sumwise.tree.forest import Forest

_NONE = -1
# What scikit-learn has in place of the feature and threshold of a leaf.
_NO_FEATURE = -2


def find_parents(forest: Forest) -> np.ndarray:
    """Return the parent of each node, numbered over all trees; -1 for roots."""
    splits = np.flatnonzero(forest.left >= 0)
    root = np.repeat(forest.start[:-1], np.diff(forest.start))
    left = forest.left[splits] + root[splits]
    parent = np.full(forest.feature.size, _NONE, dtype=np.int64)
    parent[left] = parent[left + 1] = splits
    return parent


def find_depths(forest: Forest) -> np.ndarray:
    """Return how many splits lie above each node."""
    parent = find_parents(forest)
    depth = np.zeros(parent.size, dtype=np.int64)
    above = parent
    while (inside := above >= 0).any():
        depth += inside
        above = np.where(inside, parent[above], _NONE)
    return depth


def find_paths(forest: Forest, leaves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the nodes on the way to leaves, numbered over all trees, as parts of a CSR matrix.

    ``leaves`` (n_rows, n_trees) has numbers within trees. The parts are the nodes, those of a row
    in ascending order, and the place where each row begins.
    """
    parent = find_parents(forest)
    node = (leaves + forest.start[:-1]).ravel()
    row = np.repeat(np.arange(leaves.shape[0]), leaves.shape[1])
    nodes, rows = [], []
    while node.size:
        nodes.append(node)
        rows.append(row)
        node = parent[node]
        is_node = node >= 0
        node, row = node[is_node], row[is_node]
    all_nodes = np.concatenate(nodes) if nodes else np.empty(0, dtype=np.int64)
    all_rows = np.concatenate(rows) if rows else np.empty(0, dtype=np.int64)
    order = np.lexsort((all_nodes, all_rows))
    counts = np.bincount(all_rows, minlength=leaves.shape[0])
    return all_nodes[order], np.concatenate([[0], np.cumsum(counts)])


def drop_unused_bins(forest: Forest) -> Forest:
    """Return the same trees on a mapper that has no thresholds but theirs."""
    mapper, split_bin = forest.mapper, forest.split_bin.copy()
    by_bin = np.flatnonzero(forest.feature >= 0)
    by_bin = np.setdiff1d(by_bin, forest.set_nodes, assume_unique=True)
    thresholds = []
    for feature, ends in enumerate(mapper.thresholds):
        own = by_bin[forest.feature[by_bin] == feature]
        used, places = np.unique(split_bin[own], return_inverse=True)
        split_bin[own] = places + 1
        # A split after the last bin, which parts what is missing, has no threshold.
        thresholds.append(ends[used[used <= ends.size].astype(np.int64) - 1])
    mapper = BinMapper(thresholds, mapper.categories, mapper.native)
    return replace(forest, split_bin=split_bin, mapper=mapper)


def narrow_features(forest: Forest, features: np.ndarray) -> Forest:
    """Return the same trees for tables of some features, ascending: all that they split on."""
    mapper = forest.mapper
    is_inner = forest.feature >= 0
    places = np.where(is_inner, np.searchsorted(features, forest.feature), forest.feature)
    categories = {
        place: mapper.categories[feature]
        for place, feature in enumerate(features.tolist())
        if feature in mapper.categories
    }
    thresholds = [mapper.thresholds[feature] for feature in features]
    own = BinMapper(thresholds, categories, mapper.native)
    return replace(forest, feature=places.astype(np.int32), mapper=own)


def _wrap_sparse(X: Any) -> Any:
    return SparseMatrix.from_scipy(X.tocsr()) if is_sparse(X) else X


class TreeNodes:
    """The nodes of one tree, named as in scikit-learn's ``tree_``.

    Parameters
    ----------
    forest : Forest
        Of one tree.

    Attributes
    ----------
    node_count, n_leaves, max_depth, n_features : int
    children_left, children_right : ndarray of int64
        -1 for a leaf.
    feature : ndarray of int64
        -2 for a leaf.
    threshold : ndarray of float64
        Values up to it go left; -2 for a leaf, NaN where a set of categories decides.
    missing_go_to_left : ndarray of uint8
    left_categories : dict of int to ndarray
        Where a set decides: codes of the categories that go left.
    n_node_samples : ndarray of int64
    weighted_n_node_samples : ndarray of float64
    gain : ndarray of float64
        By how much a split lowers the criterion, times the weight of its rows.
    value : ndarray of shape (node_count, n_columns)
        Mean target of the node's rows; of two classes, the share of the second. With several
        outputs, the shares of the classes of one after those of the other.
    """

    def __init__(self, forest: Forest) -> None:
        self._forest = forest
        tree = forest.to_tree(0)
        is_leaf = tree.feature < 0
        self.n_features = forest.n_features
        self.node_count = int(tree.feature.size)
        self.n_leaves = int(is_leaf.sum())
        self.children_left = tree.left.astype(np.int64)
        self.children_right = np.where(is_leaf, _NONE, self.children_left + 1)
        self.feature = np.where(is_leaf, _NO_FEATURE, tree.feature).astype(np.int64)
        self.threshold = np.where(is_leaf, float(_NO_FEATURE), tree.threshold)
        self.threshold[tree.set_node] = np.nan
        self.missing_go_to_left = tree.missing_left
        self.n_node_samples = tree.n_rows
        self.weighted_n_node_samples = tree.weight
        self.gain = tree.gain
        self.value = tree.value
        sets = np.split(tree.set_categories, np.cumsum(tree.set_size)[:-1])
        self.left_categories = dict(zip(tree.set_node.tolist(), sets, strict=False))

    @lazy
    def max_depth(self) -> int:
        return int(find_depths(self._forest).max())

    def apply(self, X: Any) -> np.ndarray:
        """Return the leaf each row of a dense or sparse X reaches; categories are codes."""
        return self._forest.apply(_wrap_sparse(X), Team(1))[:, 0]

    def predict(self, X: Any) -> np.ndarray:
        """Return the value of the leaf each row reaches, shape (n_rows, n_columns)."""
        return self._forest.predict(_wrap_sparse(X), Team(1))

    def __getstate__(self) -> dict[str, Any]:
        return {"forest": self._forest}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]
