"""TreeNodes: the nodes of one tree under the names that scikit-learn uses."""

from typing import Any

import numpy as np

from sumwise.data.sparse import SparseMatrix, is_sparse
from sumwise.kernels.runtime.threads import Team
from sumwise.lazy import lazy
from sumwise.tree.trees import Trees

# What scikit-learn has in place of a leaf's children, and of its feature and threshold.
_NO_CHILD, _NO_FEATURE = -1, -2


class TreeNodes:
    """The nodes of one tree, named as in scikit-learn's ``tree_``.

    Parameters
    ----------
    forest : Trees
        A single tree.

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
        Decrease of the criterion by the split, times the weight of the node's rows.
    value : ndarray of shape (node_count, n_columns)
        Mean target of the node's rows; for two classes, the share of the second class. With several
        outputs, the class shares of one output follow those of the other.
    """

    def __init__(self, forest: Trees) -> None:
        self._forest = forest
        tree = forest.to_tree(0)
        is_leaf = tree.feature < 0
        self.n_features = forest.n_features
        self.node_count = tree.n_nodes
        self.n_leaves = tree.n_leaves
        self.children_left = tree.left.astype(np.int64)
        self.children_right = np.where(is_leaf, _NO_CHILD, self.children_left + 1)
        self.feature = np.where(is_leaf, _NO_FEATURE, tree.feature).astype(np.int64)
        self.threshold = np.where(is_leaf, float(_NO_FEATURE), tree.threshold)
        self.threshold[tree.set_node] = np.nan
        self.missing_go_to_left = tree.missing_left
        self.n_node_samples = tree.n_rows
        self.weighted_n_node_samples = tree.weight
        self.gain = tree.gain
        self.value = tree.value
        self.left_categories = tree.left_categories

    @lazy
    def max_depth(self) -> int:
        return int(self._forest.find_depths().max())

    def apply(self, X: Any) -> np.ndarray:
        """Return the leaf each row of a dense or sparse X reaches; categories are codes."""
        return self._forest.apply(_wrap_sparse(X), Team(1))[:, 0]

    def predict(self, X: Any) -> np.ndarray:
        """Return the value of the leaf each row reaches, shape (n_rows, n_columns)."""
        return self._forest.predict_raw(_wrap_sparse(X), Team(1))

    def __getstate__(self) -> dict[str, Any]:
        return {"forest": self._forest}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]


def _wrap_sparse(X: Any) -> Any:
    return SparseMatrix.from_scipy(X.tocsr()) if is_sparse(X) else X
