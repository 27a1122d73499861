"""Forest: trees that are averaged, in as little memory as they need."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from sumwise.data.binning import BinMapper
from sumwise.data.matrix import Matrix
from sumwise.kernels.forest.layout import SET_WORDS
from sumwise.kernels.forest.nodes import fill_node_values
from sumwise.kernels.forest.walk import (
    BY_SET,
    PackedForest,
    add_forest_values,
    allocate_scratch,
    find_forest_leaves,
    pack_nodes,
)
from sumwise.kernels.runtime.threads import Team
from sumwise.lazy import lazy
from sumwise.tree.tree import Tree

_NO_BAGS = np.empty((0, 0), dtype=np.uint8)


def no_bin_sets() -> np.ndarray:
    """What a tree without splits on categories has in place of their sets."""
    return np.empty((0, SET_WORDS), dtype=np.uint64)


@dataclass(frozen=True)
class ForestTree:
    """One tree as it was grown. Node 0 is the root; the right child of a node is ``left + 1``.

    Attributes
    ----------
    feature : ndarray of int32
        Feature a node splits on, -1 for a leaf.
    split_bin : ndarray of uint8
        Bins from 1 up to this go left.
    missing_left : ndarray of uint8
        Whether bin 0 goes left.
    left : ndarray of int32
        Left child, -1 for a leaf.
    gain : ndarray of float64
        By how much the split lowers the criterion, weighted; 0 for a leaf.
    weight : ndarray of float64
        Weight of the rows of the node.
    n_rows : ndarray of int64
        Their number.
    value : ndarray of float64, shape (n_nodes, n_columns)
        Mean target of the rows, of inner nodes too.
    sets : ndarray of uint64, shape (n_sets, SET_WORDS)
        Bins that go left, of the nodes that split on a category, in their order.
    """

    feature: np.ndarray
    split_bin: np.ndarray
    missing_left: np.ndarray
    left: np.ndarray
    gain: np.ndarray
    weight: np.ndarray
    n_rows: np.ndarray
    value: np.ndarray
    sets: np.ndarray = field(default_factory=no_bin_sets)

    @property
    def n_nodes(self) -> int:
        return int(self.feature.size)


@dataclass(frozen=True)
class Forest:
    """Trees laid end to end. A prediction is the mean of the leaves' values over the trees.

    Attributes
    ----------
    start : ndarray of int64, shape (n_trees + 1,)
        First node of each tree, and the number of nodes.
    feature, split_bin, missing_left, left, gain, weight, n_rows : ndarray
        As in :class:`ForestTree`; ``left`` counts within the tree, and gain and weight are float32.
    value : ndarray of float64, shape (n_leaves, n_columns)
        Values of the leaves, in the order of the nodes.
    sets : ndarray of uint64, shape (n_sets, SET_WORDS)
        Sets of the nodes that split on a categorical feature, in their order.
    mapper : BinMapper
        Thresholds and categories of the bins.
    """

    start: np.ndarray
    feature: np.ndarray
    split_bin: np.ndarray
    missing_left: np.ndarray
    left: np.ndarray
    gain: np.ndarray
    weight: np.ndarray
    n_rows: np.ndarray
    value: np.ndarray
    sets: np.ndarray
    mapper: BinMapper

    @classmethod
    def from_trees(cls, trees: Sequence[ForestTree], mapper: BinMapper) -> "Forest":
        """Lay trees end to end."""

        def join(name: str, dtype: Any) -> np.ndarray:
            return np.concatenate([getattr(tree, name) for tree in trees]).astype(dtype)

        sizes = [tree.n_nodes for tree in trees]
        return cls(
            start=np.cumsum([0, *sizes], dtype=np.int64),
            feature=join("feature", np.int32),
            split_bin=join("split_bin", np.uint8),
            missing_left=join("missing_left", np.uint8),
            left=join("left", np.int32),
            gain=join("gain", np.float32),
            weight=join("weight", np.float32),
            n_rows=join("n_rows", np.uint32),
            value=np.concatenate([tree.value[tree.feature < 0] for tree in trees]),
            sets=join("sets", np.uint64),
            mapper=mapper,
        )

    def __repr__(self) -> str:
        columns = f", {self.n_columns} columns" if self.n_columns > 1 else ""
        return (
            f"<{type(self).__name__}: {self.n_trees:,} trees, {len(self.value):,} leaves, "
            f"{self.n_features:,} features{columns}>"
        )

    @property
    def n_trees(self) -> int:
        return int(self.start.size - 1)

    @property
    def n_features(self) -> int:
        return len(self.mapper.thresholds)

    @property
    def n_columns(self) -> int:
        return int(self.value.shape[1])

    def select(self, first: int, last: int) -> "Forest":
        """Return the forest of the trees from ``first`` up to ``last``."""
        nodes = slice(self.start[first], self.start[last])
        leaves = np.searchsorted(self.leaf_nodes, self.start[[first, last]])
        sets = np.searchsorted(self.set_nodes, self.start[[first, last]])
        by_node = ("feature", "split_bin", "missing_left", "left", "gain", "weight", "n_rows")
        return Forest(
            start=self.start[first : last + 1] - self.start[first],
            **{name: getattr(self, name)[nodes] for name in by_node},
            value=self.value[leaves[0] : leaves[1]],
            sets=self.sets[sets[0] : sets[1]],
            mapper=self.mapper,
        )

    def append(self, other: "Forest") -> "Forest":
        """Return the forest of these trees and those of another, on the same bins."""
        return Forest.join([self, other])

    @classmethod
    def join(cls, forests: Sequence["Forest"]) -> "Forest":
        """Return the forest of the trees of several, on the same bins."""
        joined = {
            f.name: np.concatenate([getattr(forest, f.name) for forest in forests])
            for f in fields(cls)
            if f.name not in ("start", "mapper")
        }
        sizes = np.concatenate([np.diff(forest.start) for forest in forests])
        start = np.concatenate([[0], np.cumsum(sizes)])
        return cls(start=start, **joined, mapper=forests[0].mapper)

    # --- prediction ---

    def predict(self, X: Matrix, team: Team) -> np.ndarray:
        """Return the mean of the trees' values, shape (n_rows, n_columns)."""
        parts = [self.sum_values(rows, team)[0] for _, rows in self.mapper.map_parts(X, team)]
        return np.concatenate(parts) / self.n_trees

    def apply(self, X: Matrix, team: Team) -> np.ndarray:
        """Return the leaf of each row in each tree, shape (n_rows, n_trees)."""
        leaves = np.empty((X.shape[0], self.n_trees), dtype=np.int64)
        scratch = allocate_scratch(team.n_threads)
        for first, rows in self.mapper.map_parts(X, team):
            bins, is_plain = rows.reshape(-1), self._is_plain(rows)
            own = leaves[first : first + rows.shape[0]]
            team.run(find_forest_leaves, bins, is_plain, self.packed, scratch, own)
        return leaves

    def sum_values(
        self, rows: np.ndarray, team: Team, in_bag: np.ndarray = _NO_BAGS
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the sum of the trees' values for each binned row, and how many trees it is over.

        With ``in_bag``, bits by row of shape (n_trees, bytes), these are the trees that have not
        seen the row; otherwise all, and nothing is counted.
        """
        n_rows = rows.shape[0]
        out = np.zeros((n_rows, self.n_columns))
        counts = np.zeros(n_rows if in_bag.size else 0, dtype=np.int64)
        team.run(
            add_forest_values,
            rows.reshape(-1),
            self._is_plain(rows),
            self.packed,
            _make_writable(self.value),
            in_bag,
            allocate_scratch(team.n_threads),
            out,
            counts,
        )
        return out, counts

    def _is_plain(self, rows: np.ndarray) -> bool:
        """Whether every step of these rows is a comparison of bins: most often, and quicker."""
        return self.set_nodes.size == 0 and bool(rows.all())

    # --- what can be told from the arrays ---

    @lazy
    def leaf_nodes(self) -> np.ndarray:
        """Nodes that are leaves."""
        return np.flatnonzero(self.feature < 0)

    @lazy
    def set_nodes(self) -> np.ndarray:
        """Nodes that split by a set of bins."""
        if not self.mapper.categories:
            return np.empty(0, dtype=np.intp)
        is_category = np.zeros(self.n_features + 1, dtype=np.bool_)  # the last is for leaves
        is_category[list(self.mapper.categories)] = True
        return np.flatnonzero(is_category[self.feature])

    @lazy
    def packed(self) -> PackedForest:
        """The trees as kernels walk them."""
        n_nodes = self.feature.size
        words = np.empty(2 * n_nodes, dtype=np.uint32)
        flags, leaf = np.empty(n_nodes, dtype=np.uint8), np.empty(n_nodes, dtype=np.int32)
        by_node = (self.feature, self.split_bin, self.missing_left, self.left)
        arrays = [_make_writable(array) for array in (self.start, *by_node)]
        Team(1).run_alone(pack_nodes, *arrays, words, flags, leaf)
        set_of_node = np.empty(0, dtype=np.int32)
        if self.set_nodes.size:
            flags[self.set_nodes] |= BY_SET
            set_of_node = np.zeros(n_nodes, dtype=np.int32)
            set_of_node[self.set_nodes] = np.arange(self.set_nodes.size)
        start, sets = _make_writable(self.start), _make_writable(self.sets)
        return PackedForest(start, words, flags, leaf, set_of_node, sets)

    def node_values(self, team: Team) -> np.ndarray:
        """Return the values of all nodes, shape (n_nodes, n_columns).

        An inner node has the mean of its leaves by weight: what it had when it was grown, but for
        rounding, unless values were bounded or estimated anew.
        """
        out = np.empty((self.feature.size, self.n_columns))
        weight, value = _make_writable(self.weight), _make_writable(self.value)
        team.run(fill_node_values, self.packed, weight, value, out)
        return out

    def to_tree(self, number: int) -> Tree:
        """Return a tree with thresholds and categories in place of bins.

        A category whose bin is shared goes where the bin goes. Every category that is not in a set
        goes right; what is unknown goes where missing values go.
        """
        own = self.select(number, number + 1)
        thresholds, before = self.mapper.flatten()
        is_inner = own.feature >= 0
        split_bin = np.where(is_inner, own.split_bin, np.uint8(0))
        split_bin[own.set_nodes] = 0
        threshold = thresholds[before[own.feature] + split_bin]
        threshold[own.set_nodes] = 0.0
        codes = [
            np.flatnonzero(_unpack_set(bin_set)[self.mapper.categories[int(f)].bin_of_code])
            for f, bin_set in zip(own.feature[own.set_nodes], own.sets, strict=True)
        ]
        return Tree(
            feature=own.feature,
            threshold=threshold,
            split_bin=split_bin,
            missing_left=np.where(is_inner, own.missing_left, np.uint8(0)),
            left=own.left,
            value=own.node_values(Team(1)),
            gain=own.gain.astype(np.float64),
            n_rows=own.n_rows.astype(np.int64),
            weight=own.weight.astype(np.float64),
            set_node=own.set_nodes.astype(np.int32),
            set_size=np.array([own_codes.size for own_codes in codes], dtype=np.int32),
            set_categories=np.concatenate([*codes, np.empty(0)]).astype(np.int32),
        )

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone: what is derived from them is not pickled."""
        return {f.name: getattr(self, f.name) for f in fields(self)}


def _make_writable(array: np.ndarray) -> np.ndarray:
    """Kernels are compiled for arrays that may be written to; those that joblib maps may not."""
    return np.require(array, requirements=["C", "A", "W"])


def _unpack_set(words: np.ndarray) -> np.ndarray:
    """Return which bins are in a set."""
    bits = words[:, None] >> np.arange(64, dtype=np.uint64) & np.uint64(1)
    return bits.reshape(-1) > 0
