"""Tree: the flat arrays of one tree."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from sumwise.kernels.leaves.linear import Models


def no_sets() -> np.ndarray:
    """Return what a tree without sets of categories has in place of their arrays."""
    return np.empty(0, dtype=np.int32)


def make_writable(array: np.ndarray) -> np.ndarray:
    """Return an array that kernels take: those of files and of memory maps are read-only."""
    return np.require(array, requirements=["C", "A", "W"])


@dataclass(frozen=True)
class LeafModels:
    """Linear models of the leaves of one tree, or of several trees laid end to end.

    Attributes
    ----------
    size : ndarray of int32, shape (n_nodes,)
        Number of features in each node's model; 0 for a node without a model.
    constant : ndarray of float64, shape (n_nodes,)
        Intercept of the model; 0 without a model.
    low, high : ndarray of float64, shape (n_nodes,)
        Limits of what a model adds; infinite if it may extrapolate, 0 without a model.
    feature : ndarray of int32
        Features of the models, node after node.
    coefficient : ndarray of float64
        Coefficients of these features.
    """

    size: np.ndarray
    constant: np.ndarray
    low: np.ndarray
    high: np.ndarray
    feature: np.ndarray
    coefficient: np.ndarray

    @classmethod
    def none(cls, n_nodes: int) -> "LeafModels":
        """Return models for nodes that have none."""
        nothing, no_terms = np.zeros(n_nodes), (np.empty(0, dtype=np.int32), np.empty(0))
        return cls(np.zeros(n_nodes, dtype=np.int32), nothing, nothing, nothing, *no_terms)

    @classmethod
    def join(cls, parts: Sequence[tuple["LeafModels | None", int]]) -> "LeafModels | None":
        """Join (models, number of nodes) pairs; return None if no pair has models."""
        if all(models is None for models, _ in parts):
            return None
        known = [models or cls.none(n_nodes) for models, n_nodes in parts]
        names = [field.name for field in fields(cls)]
        return cls(*(np.concatenate([getattr(m, name) for m in known]) for name in names))

    @property
    def first(self) -> np.ndarray:
        """Where the terms of each node begin, then where the last ones end."""
        return np.append(0, self.size.cumsum(dtype=np.int64))

    def take(self, nodes: slice) -> "LeafModels":
        """Return the models of some nodes."""
        terms = slice(*self.first[[nodes.start, nodes.stop]])
        by_node = self.size, self.constant, self.low, self.high
        size, constant, low, high = (array[nodes] for array in by_node)
        return LeafModels(size, constant, low, high, self.feature[terms], self.coefficient[terms])

    def take_nodes(self, nodes: np.ndarray) -> "LeafModels":
        """Return the models of nodes in any order."""
        size, first = self.size[nodes], self.first[nodes]
        terms = np.repeat(first - (size.cumsum() - size), size) + np.arange(size.sum())
        constant, low, high = (array[nodes] for array in (self.constant, self.low, self.high))
        by_term = self.feature[terms], self.coefficient[terms]
        return LeafModels(size, constant, low, high, *by_term)

    def for_kernels(self, value: np.ndarray) -> Models:
        """Return the models, with the values of their nodes, as kernels read them."""
        by_node = self.constant, self.low, self.high, value
        return Models(*map(make_writable, (self.first, self.feature, self.coefficient, *by_node)))


@dataclass(frozen=True)
class GrownTree:
    """The nodes of one tree. Node 0 is the root; the right child of a node is ``left + 1``.

    Attributes
    ----------
    feature : ndarray of int32
        Feature a node splits on, -1 for a leaf.
    split_bin : ndarray of uint8
        Bins from 1 up to this go left; ranks in the table (uint32) if splits are exact.
    missing_left : ndarray of uint8
        Whether missing values, which are in bin 0, go left.
    left : ndarray of int32
        Left child, -1 for a leaf.
    value : ndarray of float64, shape (n_nodes, n_columns)
        Values of all nodes: what boosting adds, or the mean target of the rows.
    gain : ndarray of float64
        Gain of the split, 0 for a leaf.
    n_rows : ndarray of int64
        Training rows that reached the node.
    weight : ndarray of float64
        Sum of the hessians (or weights) of these rows.
    """

    feature: np.ndarray
    split_bin: np.ndarray
    missing_left: np.ndarray
    left: np.ndarray
    value: np.ndarray
    gain: np.ndarray
    n_rows: np.ndarray
    weight: np.ndarray

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.n_nodes:,} nodes, {self.n_leaves:,} leaves>"

    @property
    def n_nodes(self) -> int:
        return int(self.feature.size)

    @property
    def n_leaves(self) -> int:
        return int((self.feature < 0).sum())


@dataclass(frozen=True, repr=False)
class Tree(GrownTree):
    """A tree of boosting, or any finished tree, in values of the features.

    Attributes
    ----------
    threshold : ndarray of float64
        Values up to the threshold go left.
    set_node : ndarray of int32
        Nodes that split by a set of categories, ascending. Their threshold and bin are 0.
    set_size : ndarray of int32
        Number of categories in each set.
    set_categories : ndarray of int32
        Categories of each set, ascending. These go left, all others go right.
    models : LeafModels or None
        Linear models of the leaves, if they have any.
    """

    threshold: np.ndarray
    set_node: np.ndarray = field(default_factory=no_sets)
    set_size: np.ndarray = field(default_factory=no_sets)
    set_categories: np.ndarray = field(default_factory=no_sets)
    models: LeafModels | None = None

    @property
    def left_categories(self) -> dict[int, np.ndarray]:
        """The categories that go left, for each node that splits by a set."""
        sets = np.split(self.set_categories, np.cumsum(self.set_size)[:-1])
        return dict(zip(self.set_node.tolist(), sets, strict=False))
