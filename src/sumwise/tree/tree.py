"""Tree: the flat arrays of one finished tree."""

from dataclasses import dataclass, field

import numpy as np


def no_sets() -> np.ndarray:
    """What a tree without sets of categories has in place of their arrays."""
    return np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class Tree:
    """One tree. Node 0 is the root; the right child of a node is ``left + 1``.

    Attributes
    ----------
    feature : ndarray of int32
        Feature a node splits on, -1 for a leaf.
    threshold : ndarray of float64
        A value goes left if it is at most this.
    split_bin : ndarray of uint8
        The same threshold in bins; in ranks of the table (uint32) if splits are exact.
    missing_left : ndarray of uint8
        Whether missing values go left.
    left : ndarray of int32
        Left child, -1 for a leaf.
    value : ndarray of float64, shape (n_nodes, n_outputs)
        Values, of inner nodes too; the learning rate is in them.
    gain : ndarray of float64
        Gain of the split, 0 for a leaf.
    n_rows : ndarray of int64
        Training rows that reached the node.
    weight : ndarray of float64
        Their sum of hessians (or of weights).
    set_node : ndarray of int32
        Nodes that split by a set of categories, ascending. They have threshold and bin 0.
    set_size : ndarray of int32
        Categories of each set.
    set_categories : ndarray of int32
        The categories of each set, ascending: these go left, all others right.
    """

    feature: np.ndarray
    threshold: np.ndarray
    split_bin: np.ndarray
    missing_left: np.ndarray
    left: np.ndarray
    value: np.ndarray
    gain: np.ndarray
    n_rows: np.ndarray
    weight: np.ndarray
    set_node: np.ndarray = field(default_factory=no_sets)
    set_size: np.ndarray = field(default_factory=no_sets)
    set_categories: np.ndarray = field(default_factory=no_sets)

    @property
    def n_nodes(self) -> int:
        return int(self.feature.size)

    @property
    def n_leaves(self) -> int:
        return int((self.feature < 0).sum())
