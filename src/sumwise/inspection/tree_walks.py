"""TreeWalks: trees prepared for explanations, and rows coded for them, batch by batch."""

from collections.abc import Callable

import numpy as np

from sumwise.data.matrix import Matrix
from sumwise.inspection.dependence import share_left
from sumwise.kernels.explain.values import (
    Quadrature,
    Scratch,
    allocate_scratch,
    make_quadrature,
)
from sumwise.kernels.explain.walks import Splits, Tape, allocate_splits, plan_walks
from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.runtime.threads import Team
from sumwise.lazy import lazy
from sumwise.tree.trees import Trees

# Bytes of codes that a thread makes at a time: they should stay in its cache until they are read.
_BATCH_BYTES = 1 << 18
# Rows times splits that a thread explains at a time, in about a second: between batches, an
# interrupt is noticed.
_BATCH_STEPS = 1 << 28


class TreeWalks:
    """What kernels need to know of trees, apart from the rows.

    Attributes
    ----------
    trees : Trees
    features : ndarray of int64
        Features that trees split on, ascending. The place of a feature is its slot.
    share : ndarray of float64, shape (n_nodes,)
        Share of the training rows that went left.
    value : ndarray of float64, shape (n_leaves, n_columns)
        Values of the leaves, divided by the number of trees if they are averaged.
    splits, tape : Splits, Tape
    n_columns : int
        Columns of codes that the splits test.
    """

    def __init__(self, trees: Trees) -> None:
        self.trees = trees
        left = trees.find_children()
        is_leaf = left < 0
        self.share = share_left(left, trees.cover.astype(np.float64))
        self.value = np.ascontiguousarray(trees.node_values()[is_leaf])
        if trees.averages:
            self.value /= trees.n_trees
        features, own_slot = np.unique(trees.feature[~is_leaf], return_inverse=True)
        self.features = features.astype(np.int64)
        slot = np.zeros(trees.n_nodes, dtype=np.int64)
        slot[~is_leaf] = own_slot

        n_splits = trees.n_nodes - trees.n_leaves
        sizes = trees.n_trees + 1, 3 * n_splits, trees.n_trees
        self.tape = Tape(*(np.empty(size, dtype=np.int64) for size in sizes))
        self.splits = allocate_splits(n_splits)
        nodes = trees.start.astype(np.int64), left.astype(np.int64), slot, self.share
        stack = np.empty((int(np.diff(trees.start).max(initial=0)) + 1, 3), dtype=np.int64)
        self._leaf_number = np.cumsum(is_leaf) - 1
        plan_walks(*nodes, self._leaf_number, stack, self.splits, self.tape)
        tests = trees.find_tests()
        self.n_columns = tests.n_columns
        for name in ("column", "skip", "bound"):
            getattr(self.splits, name)[:] = getattr(tests, name)[self.splits.node]

    @property
    def n_levels(self) -> int:
        """Number of splits on the longest way to a leaf."""
        return int(self.splits.level.max(initial=-1)) + 1

    @property
    def n_splits(self) -> np.ndarray:
        """Number of splits of each tree."""
        return (np.diff(self.trees.start) - 1) // 2

    def count_blocks(self, team: Team) -> int:
        """Return the number of blocks that are coded at a time."""
        by_bytes = _BATCH_BYTES // (BLOCK * max(1, self.n_columns))
        by_time = _BATCH_STEPS // (BLOCK * max(1, self.splits.node.size))
        return team.n_threads * max(1, min(by_bytes, by_time))

    @property
    def n_unique(self) -> int:
        """The most distinct features on the way to a leaf."""
        return int(self.tape.n_unique.max(initial=0))

    @property
    def for_kernels(self) -> tuple[Splits, Tape, np.ndarray, int, np.ndarray]:
        """What all kernels take."""
        return self.splits, self.tape, self.value, self.trees.n_groups, self.features

    @property
    def n_points(self) -> int:
        """The most points that a rule of integration needs: half as many as features."""
        return max(1, (self.n_unique + 1) // 2)

    @lazy
    def rules(self) -> Quadrature:
        """Rules of integration."""
        return make_quadrature(self.n_points)

    def allocate_scratch(self, team: Team) -> Scratch:
        """Allocate the states of all threads."""
        sizes = int(self.n_splits.max(initial=0)), self.features.size
        return allocate_scratch(team.n_threads, self.n_levels, self.n_points, *sizes)

    def find_expected(self) -> np.ndarray:
        """Return the mean of the leaves' values, by the shares of training rows, (n_outputs,)."""
        trees, left = self.trees, self.trees.find_children()
        node, reach = trees.start[:-1], np.ones(trees.n_trees)
        group = np.arange(trees.n_trees) % trees.n_groups
        sums = np.zeros((trees.n_groups, self.value.shape[1]))
        while node.size:
            is_leaf = left[node] < 0
            value = self.value[self._leaf_number[node[is_leaf]]]
            np.add.at(sums, group[is_leaf], reach[is_leaf, None] * value)
            node, reach, group = node[~is_leaf], reach[~is_leaf], np.tile(group[~is_leaf], 2)
            to_left = reach * self.share[node]
            reach = np.concatenate([to_left, reach - to_left])
            node = np.concatenate([left[node], left[node] + 1])
        base_score = trees.combine(np.zeros(trees.n_outputs))
        return base_score + sums.ravel()

    def code_and_run(
        self, X: Matrix, team: Team, explain: Callable[[np.ndarray, slice], None]
    ) -> None:
        """Code the rows of X, one batch after the other; call ``explain(codes, rows)`` on each."""
        n_blocks = max(1, min(self.count_blocks(team), -(-X.shape[0] // BLOCK)))
        codes = np.zeros((n_blocks, self.n_columns, BLOCK), dtype=np.uint8)
        for start, rows in self.trees.code_rows(X, team):
            for first in range(0, rows.n_rows, n_blocks * BLOCK):
                last = min(first + n_blocks * BLOCK, rows.n_rows)
                rows.code(first, last, codes, team)
                explain(codes, slice(start + first, start + last))

    def code_all(self, X: Matrix, team: Team) -> np.ndarray:
        """Return the codes of all rows of X, (n_blocks, n_columns, BLOCK)."""
        n_blocks = -(-X.shape[0] // BLOCK)
        columns = np.zeros((self.n_columns, n_blocks * BLOCK), dtype=np.uint8)
        for first, rows in self.trees.code_rows(X, team):
            shape = -(-rows.n_rows // BLOCK), self.n_columns, BLOCK
            codes = np.zeros(shape, dtype=np.uint8)
            rows.code(0, rows.n_rows, codes, team)
            own = codes.transpose(1, 0, 2).reshape(self.n_columns, shape[0] * BLOCK)
            columns[:, first : first + rows.n_rows] = own[:, : rows.n_rows]
        blocks = columns.reshape(self.n_columns, n_blocks, BLOCK).transpose(1, 0, 2)
        return np.ascontiguousarray(blocks)
