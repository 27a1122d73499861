"""Tree: the flat arrays of one finished tree."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from sumwise.kernels.leaves.linear import Models


def no_sets() -> np.ndarray:
    """What a tree without sets of categories has in place of their arrays."""
    return np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class LeafModels:
    """Linear models of the leaves of one tree or of many, end to end.

    Attributes
    ----------
    size : ndarray of int32, shape (n_nodes,)
        Features of each node's model; 0 where it has its value alone.
    constant : ndarray of float64, shape (n_nodes,)
        What a model adds where its features are zero; 0 without a model.
    low, high : ndarray of float64, shape (n_nodes,)
        The least and the most that a model adds; infinite if it may extrapolate, 0 without one.
    feature : ndarray of int32
        The features of the models, node after node.
    coefficient : ndarray of float64
        Their coefficients.
    """

    size: np.ndarray
    constant: np.ndarray
    low: np.ndarray
    high: np.ndarray
    feature: np.ndarray
    coefficient: np.ndarray

    @classmethod
    def none(cls, n_nodes: int) -> "LeafModels":
        """No models."""
        nothing, no_terms = np.zeros(n_nodes), (np.empty(0, dtype=np.int32), np.empty(0))
        return cls(np.zeros(n_nodes, dtype=np.int32), nothing, nothing, nothing, *no_terms)

    @classmethod
    def join(cls, parts: Sequence[tuple["LeafModels | None", int]]) -> "LeafModels | None":
        """Join models, each with its number of nodes; None if there are none at all."""
        if all(models is None for models, _ in parts):
            return None
        known = [models or cls.none(n_nodes) for models, n_nodes in parts]
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(m, name) for m in known]) for name in names))

    @property
    def first(self) -> np.ndarray:
        """The first term of each node, and the end of the last."""
        return np.append(0, self.size.cumsum(dtype=np.int64))

    def take(self, nodes: slice) -> "LeafModels":
        """The models of some nodes."""
        terms = slice(*self.first[[nodes.start, nodes.stop]])
        return LeafModels(
            self.size[nodes],
            self.constant[nodes],
            self.low[nodes],
            self.high[nodes],
            self.feature[terms],
            self.coefficient[terms],
        )

    def for_kernels(self, value: np.ndarray) -> Models:
        """With the values of the nodes, as kernels read them."""
        by_node = self.constant, self.low, self.high, value
        arrays = self.first, self.feature, self.coefficient, *by_node
        # Kernels are compiled for arrays that may be written to, which those of a file may not.
        return Models(*(np.require(a, requirements=["C", "A", "W"]) for a in arrays))


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
    models : LeafModels or None
        Linear models of the leaves, if they have any.
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
    models: LeafModels | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.n_nodes:,} nodes, {self.n_leaves:,} leaves>"

    @property
    def n_nodes(self) -> int:
        return int(self.feature.size)

    @property
    def n_leaves(self) -> int:
        return int((self.feature < 0).sum())
