"""VectorTrees: trees with thresholds that are averaged, such as forests of other libraries."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sumwise.data.matrix import DenseMatrix, Matrix, read_rows_in_order
from sumwise.data.sparse import SparseMatrix
from sumwise.kernels.predict.coded_trees import MAX_LEAVES
from sumwise.kernels.predict.coding import round_down
from sumwise.kernels.predict.vectors import WIDTH, add_walked_vectors, pack_splits
from sumwise.kernels.runtime.threads import Team
from sumwise.lazy import lazy
from sumwise.tree.predictor import FEW_ROWS, Predictor
from sumwise.tree.threshold_splits import ThresholdSplits, join_sets
from sumwise.tree.tree import Tree, make_writable, no_sets
from sumwise.tree.trees import Trees


@dataclass(frozen=True)
class VectorTrees(ThresholdSplits, Trees):
    """Trees whose vectors of values are averaged. Their splits may have any number of thresholds.

    Attributes
    ----------
    start, feature, missing_left, left, gain, weight, n_rows : ndarray
        As in :class:`Trees`.
    threshold : ndarray of float64, shape (n_nodes,)
        Values up to the threshold go left.
    value : ndarray of float64, shape (n_nodes, n_outputs)
        Values of all nodes.
    n_features : int
        Number of features that a row must have.
    set_node, set_size, set_categories : ndarray of int32
        As in :class:`Tree`, with nodes numbered over all trees; empty without categories.
    """

    threshold: np.ndarray
    value: np.ndarray
    n_features: int
    set_node: np.ndarray = field(default_factory=no_sets)
    set_size: np.ndarray = field(default_factory=no_sets)
    set_categories: np.ndarray = field(default_factory=no_sets)

    averages: ClassVar[bool] = True
    by_node: ClassVar[tuple[str, ...]] = (*Trees.by_node, "threshold", "value")
    link: ClassVar[str] = "identity"

    @classmethod
    def from_trees(cls, trees: Sequence[Tree], n_features: int) -> "VectorTrees":
        """Lay trees end to end."""
        by_node = {
            name: np.concatenate([getattr(tree, name) for tree in trees]) for name in cls.by_node
        }
        start = np.cumsum([0, *(tree.n_nodes for tree in trees)], dtype=np.int64)
        return cls(start=start, **by_node, n_features=n_features, **join_sets(trees))

    def __repr__(self) -> str:
        outputs = f", {self.n_outputs} outputs" if self.n_outputs > 1 else ""
        return (
            f"<{type(self).__name__}: {self.n_trees:,} trees, {self.n_leaves:,} leaves, "
            f"{self.n_features:,} features{outputs}>"
        )

    @property
    def n_outputs(self) -> int:
        return int(self.value.shape[1])

    def node_values(self) -> np.ndarray:
        return self.value

    def combine(self, sums: np.ndarray) -> np.ndarray:
        return sums / self.n_trees

    def predict_mean(self, raw: np.ndarray) -> np.ndarray:
        """Return predictions (n_rows,), or (n_rows, n_outputs) for several outputs."""
        return raw[:, 0] if raw.shape[1] == 1 else raw

    def _select_rest(self, first: int, last: int, nodes: slice) -> dict[str, Any]:
        return self._select_sets(nodes)

    @classmethod
    def _join_rest(cls, parts: "Sequence[VectorTrees]") -> dict[str, Any]:
        return join_sets(parts)

    # --- rounds: each tree is one ---

    @property
    def n_rounds(self) -> int:
        return self.n_trees

    def truncate(self, n_rounds: int) -> "VectorTrees":
        """Return the first trees."""
        return self.take_rounds(0, min(n_rounds, self.n_rounds))

    def take_rounds(self, first: int, last: int) -> "VectorTrees":
        """Return the trees from ``first`` up to ``last``."""
        return self.select(first, last)

    # --- prediction ---

    def predict_raw(self, X: Matrix, team: Team, is_last: bool = False) -> np.ndarray:
        out = np.zeros((X.shape[0], self.n_outputs))
        self.add_values(X, out, team)
        return out / self.n_trees

    def add_values(self, X: Matrix, out: np.ndarray, team: Team) -> None:
        """Add the values of the leaves that rows reach to ``out`` (n_rows, n_outputs)."""
        if X.shape[0] <= FEW_ROWS:
            leaves = np.zeros((X.shape[0], self.n_trees))
            self._predictor.add_values(X, leaves, team)
            out += np.cumsum(self.value[leaves.astype(np.int64)], axis=1)[:, -1]
        elif self._are_large and not isinstance(X, SparseMatrix):
            self._walk(X, out, team)
        else:
            self._predictor.add_vectors(X, self._vectors, out, team)

    @property
    def _are_large(self) -> bool:
        """Whether rows walk through the trees, in place of being coded."""
        return self.n_leaves > MAX_LEAVES * self.n_trees and self.set_node.size == 0

    def _walk(self, X: DenseMatrix, out: np.ndarray, team: Team) -> None:
        scratch = np.zeros((team.n_threads, 2, WIDTH), dtype=np.uint64)
        start, value = make_writable(self.start[:-1]), make_writable(self.value)
        for first, rows in read_rows_in_order(X):
            splits = self._words, self._round_thresholds(rows.values.dtype)
            own = value, scratch, out[first : first + rows.n_rows]
            team.run(add_walked_vectors, rows.values, rows.row_stride, start, *splits, *own)

    def _round_thresholds(self, dtype: np.dtype) -> np.ndarray:
        """Return thresholds in the type of values, those of leaves infinite."""
        if dtype not in self._rounded:
            closed = np.where(self.feature < 0, np.inf, self.threshold)
            self._rounded[dtype] = round_down(closed, dtype)
        return self._rounded[dtype]

    def apply(self, X: Matrix, team: Team) -> np.ndarray:
        leaves = np.empty((X.shape[0], self.n_trees), dtype=np.int32)
        self._predictor.find_leaves(X, leaves, team)
        return leaves

    @lazy
    def _words(self) -> np.ndarray:
        return pack_splits(self.feature, self.missing_left, self.find_children())

    @lazy
    def _rounded(self) -> dict[np.dtype, np.ndarray]:
        return {}

    @lazy
    def _vectors(self) -> np.ndarray:
        return self._predictor.sort_leaves(self.value)

    @lazy
    def _predictor(self) -> Predictor:
        """Adds the number of the leaf to an output of each tree."""
        return Predictor(
            self.start[:-1],
            np.arange(self.n_trees, dtype=np.int32),
            self.feature,
            self.threshold,
            self.missing_left,
            self.find_children().astype(np.int32),
            np.arange(self.n_nodes, dtype=np.float64),
            (self.set_node, self.set_size, self.set_categories) if self.set_node.size else None,
        )


def join_equal_trees(
    start: np.ndarray,
    n_outputs: int,
    value: np.ndarray,
    nodes: dict[str, np.ndarray],
    n_features: int,
) -> VectorTrees | None:
    """Return trees of one value as trees of vectors, if those of all outputs have the same splits.

    Trees follow one another in the order of the outputs. ``nodes`` has their arrays by node. A row
    then passes one tree in place of ``n_outputs``. None if the splits differ.
    """
    sizes = np.diff(start).reshape(-1, n_outputs)
    if np.any(sizes != sizes[:, :1]):
        return None
    sizes = sizes[:, 0]
    within = np.arange(sizes.sum()) - np.repeat(sizes.cumsum() - sizes, sizes)
    first = [np.repeat(start[:-1][k::n_outputs], sizes) + within for k in range(n_outputs)]
    for name in ("feature", "threshold", "missing_left", "left"):
        own = nodes[name][first[0]]
        if not all(np.array_equal(own, nodes[name][rest]) for rest in first[1:]):
            return None
    return VectorTrees(
        start=np.append(0, sizes.cumsum()),
        **{name: array[first[0]] for name, array in nodes.items()},
        value=np.column_stack([value[rest] for rest in first]),
        n_features=n_features,
    )
