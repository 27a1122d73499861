"""Trees: finished trees, the same for boosting and forests to everything that reads them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from sumwise.data.matrix import Matrix
from sumwise.kernels.runtime.threads import Team
from sumwise.tree.split_tests import RowCoder, SplitTests
from sumwise.tree.tree import LeafModels, Tree

_NONE = -1


@dataclass(frozen=True)
class Trees(ABC):
    """Finished trees laid end to end. The right child of a node is ``left + 1``.

    There are three storages, because prediction reads different things. :class:`TreeEnsemble` has
    thresholds and numbers in double precision. :class:`BinnedForest`, whose trees are many times
    larger, has bins, single precision and values of leaves only. :class:`VectorTrees` are forests
    of other libraries, whose thresholds are too many for bins. Views, plots, partial dependence and
    the model file use what is declared here and work for all.

    Attributes
    ----------
    start : ndarray of int64, shape (n_trees + 1,)
        First node of each tree, then the number of nodes.
    feature : ndarray of int32, shape (n_nodes,)
        Feature a node splits on, -1 for a leaf.
    missing_left : ndarray of uint8, shape (n_nodes,)
        Whether missing values go left.
    left : ndarray of int32, shape (n_nodes,)
        Left child, counted within the tree; -1 for a leaf. Children come after their parent.
    gain : ndarray of float, shape (n_nodes,)
        Gain of the split, 0 for a leaf.
    weight : ndarray of float, shape (n_nodes,)
        Sum of hessians, or of weights, of the training rows that reached the node.
    n_rows : ndarray of int, shape (n_nodes,)
        Number of these rows.
    """

    start: np.ndarray
    feature: np.ndarray
    missing_left: np.ndarray
    left: np.ndarray
    gain: np.ndarray
    weight: np.ndarray
    n_rows: np.ndarray

    # Whether values are averaged over the trees; otherwise they are added up.
    averages: ClassVar[bool]
    # Arrays with one item per node.
    by_node: ClassVar[tuple[str, ...]]
    by_node = ("feature", "missing_left", "left", "gain", "weight", "n_rows")

    if TYPE_CHECKING:  # a field of one storage, known otherwise to the other

        @property
        def n_features(self) -> int:
            """Features that a row must have."""

        @property
        def link(self) -> str:
            """Name of the function from raw scores to predictions."""

    # --- what a storage defines ---

    @property
    @abstractmethod
    def n_outputs(self) -> int:
        """Numbers that are predicted for a row."""

    @property
    def models(self) -> LeafModels | None:
        """Linear models of the leaves, if they have any."""
        return None

    @abstractmethod
    def node_values(self) -> np.ndarray:
        """Return the values of all nodes, (n_nodes, n_outputs // n_groups)."""

    @abstractmethod
    def combine(self, sums: np.ndarray) -> np.ndarray:
        """Return raw scores from the sums of the trees' values, both (n_outputs, ...)."""

    @abstractmethod
    def predict_raw(self, X: Matrix, team: Team, is_last: bool = False) -> np.ndarray:
        """Return raw scores, (n_rows, n_outputs); ``is_last`` if no other rows will follow."""

    @abstractmethod
    def apply(self, X: Matrix, team: Team) -> np.ndarray:
        """Return the leaf of each row in each tree, (n_rows, n_trees), numbered in the tree."""

    @abstractmethod
    def find_tests(self) -> SplitTests:
        """Return the tests of all nodes on the codes of :meth:`code_rows`."""

    @abstractmethod
    def code_rows(self, X: Matrix, team: Team) -> Iterator[tuple[int, RowCoder]]:
        """Yield (first row, rows to be coded) for parts of X."""

    @abstractmethod
    def fits_categories(self, counts: Mapping[int, int]) -> bool:
        """Whether the splits suit features with so many categories; other features have none."""

    @abstractmethod
    def _decode_splits(self) -> dict[str, np.ndarray]:
        """Return thresholds and sets of categories as in :class:`Tree`, numbered over all trees."""

    @abstractmethod
    def _select_rest(self, first: int, last: int, nodes: slice) -> dict[str, Any]:
        """Return the fields that :meth:`select` changes, except ``start`` and those by node."""

    @classmethod
    @abstractmethod
    def _join_rest(cls, parts: Sequence[Any]) -> dict[str, Any]:
        """Return the fields that :meth:`join` changes, except ``start`` and those by node."""

    # --- trees ---

    @property
    def n_groups(self) -> int:
        """Groups of consecutive outputs; tree i has values for those of group i % n_groups."""
        return 1 if self.averages else self.n_outputs

    @property
    def cover(self) -> np.ndarray:
        """Training rows of each node, by weight in a forest, else by number.

        Trees of a library that does not count rows have them by weight, too.
        """
        return self.weight if self.averages or not self.n_rows.any() else self.n_rows

    @property
    def n_trees(self) -> int:
        return int(self.start.size - 1)

    @property
    def n_nodes(self) -> int:
        return int(self.feature.size)

    @property
    def n_leaves(self) -> int:
        return (self.n_nodes + self.n_trees) // 2  # a tree has one leaf more than splits

    def select(self, first: int, last: int) -> Self:
        """Return the trees from ``first`` up to ``last``."""
        nodes = slice(int(self.start[first]), int(self.start[last]))
        by_node = {name: getattr(self, name)[nodes] for name in self.by_node}
        start = self.start[first : last + 1] - self.start[first]
        return replace(self, start=start, **by_node, **self._select_rest(first, last, nodes))

    @classmethod
    def join(cls, parts: Sequence[Self]) -> Self:
        """Return the trees of all parts, one part after the other."""
        sizes = np.concatenate([np.diff(part.start) for part in parts])
        by_node = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in cls.by_node
        }
        start = np.append(0, sizes.cumsum())
        return replace(parts[0], start=start, **by_node, **cls._join_rest(parts))

    def append(self, other: Self) -> Self:
        """Return these trees, then those of another."""
        return self.join([self, other])

    def to_tree(self, number: int) -> Tree:
        """Return one tree; see :meth:`decode`."""
        return self.select(number, number + 1).decode()

    def decode(self) -> Tree:
        """Return all nodes with thresholds, without bins.

        Nodes of several trees are numbered over all of them: node ``start[i]`` is the root of
        tree i.
        """
        return Tree(
            feature=self.feature,
            **self._decode_splits(),
            split_bin=np.zeros(self.n_nodes, dtype=np.uint8),
            missing_left=np.where(self.feature < 0, np.uint8(0), self.missing_left),
            left=self.find_children().astype(np.int32),
            value=self.node_values(),
            gain=self.gain.astype(np.float64),
            n_rows=self.n_rows.astype(np.int64),
            weight=self.weight.astype(np.float64),
            models=self.models,
        )

    # --- nodes, numbered over all trees ---

    def find_roots(self) -> np.ndarray:
        """Return the root of the tree of each node."""
        return np.repeat(self.start[:-1], np.diff(self.start))

    def find_children(self) -> np.ndarray:
        """Return the left child of each node; -1 for leaves."""
        return np.where(self.left < 0, _NONE, self.left + self.find_roots())

    def find_parents(self) -> np.ndarray:
        """Return the parent of each node; -1 for roots."""
        left = self.find_children()
        splits = np.flatnonzero(left >= 0)
        parent = np.full(self.n_nodes, _NONE, dtype=np.int64)
        parent[left[splits]] = parent[left[splits] + 1] = splits
        return parent

    def find_depths(self) -> np.ndarray:
        """Return how many splits lie above each node."""
        parent = self.find_parents()
        depth = np.zeros(parent.size, dtype=np.int64)
        above = parent
        while (inside := above >= 0).any():
            depth += inside
            above = np.where(inside, parent[above], _NONE)
        return depth

    def find_paths(self, leaves: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the nodes on the way to leaves, as the indices and row starts of a CSR matrix.

        ``leaves`` are those of :meth:`apply`. The nodes of a row are in ascending order.
        """
        parent = self.find_parents()
        node = (leaves + self.start[:-1]).ravel()
        row = np.repeat(np.arange(leaves.shape[0]), leaves.shape[1])
        nodes, rows = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
        while node.size:
            nodes.append(node)
            rows.append(row)
            node = parent[node]
            is_node = node >= 0
            node, row = node[is_node], row[is_node]
        all_nodes, all_rows = np.concatenate(nodes), np.concatenate(rows)
        order = np.lexsort((all_nodes, all_rows))
        counts = np.bincount(all_rows, minlength=leaves.shape[0])
        return all_nodes[order], np.append(0, np.cumsum(counts))

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: what is derived from them is not pickled."""
        return {f.name: getattr(self, f.name) for f in fields(self)}
