"""Exact splits: every value of a node's rows is a bin of its own, whatever other nodes have."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .binning import MISSING_BIN
from .constraints import Bounds
from .grow import Grower, GrowOptions, Rows, Tree
from .split import FREE, Split, find_level_split

# The bin of a split that parts missing from all values.
BEYOND = 2**32 - 1


class ExactGrower(Grower):
    """Codes are ranks: 0 for missing, the lowest value has 1."""

    def find_split(self, node_idx: int) -> Split | None:
        max_depth = self.options.max_depth
        if max_depth is not None and self.tree.depth[node_idx] >= max_depth:
            return None
        if self.tree.n_rows[node_idx] < 2 * self.options.min_rows:
            return None
        features = self.allowed_features(node_idx)
        return self.find_exact_split([node_idx], features, self.bounds[node_idx])

    def find_split_of_level(self, level: Sequence[int]) -> Split | None:
        return self.find_exact_split(level, self.allowed_features(level[0]))

    def find_exact_split(
        self, nodes: Sequence[int], features: Iterable[int], bounds: Bounds = FREE
    ) -> Split | None:
        """Number the values of the rows that take part anew, and look for the best split.

        A random split is drawn among all ranks in their range: they keep their numbers.
        """
        level = [self.positions[node_idx] for node_idx in nodes]
        least = 2 * self.options.min_rows
        seen = np.concatenate([rows for rows in level if len(rows) >= least] or [level[0][:0]])
        occurring, codes = [], np.zeros(self.codes.shape, dtype=np.int64)
        n_bins = []
        for feature, own in enumerate(self.codes):
            if feature in self.options.categorical:
                codes[feature] = own
                occurring.append(np.empty(0, dtype=np.int64))
                n_bins.append(self.n_value_bins[feature])
                continue
            values = np.unique(own[seen])
            values = values[values != MISSING_BIN]
            if self.options.random_key is not None:
                codes[feature] = own
                occurring.append(values)
                n_bins.append(int(values[-1]) if len(values) else 0)
                continue
            numbers = {MISSING_BIN: MISSING_BIN} | {int(v): i + 1 for i, v in enumerate(values)}
            codes[feature, seen] = [numbers[int(code)] for code in own[seen]]
            occurring.append(values)
            n_bins.append(len(values))
        centers = [self.centers[node_idx] for node_idx in nodes]
        of_level = (level, features, self.options, bounds, centers, nodes[0])
        split = find_level_split(codes, n_bins, self.quantized, *of_level)
        if split is None or split.members is not None:
            return split
        values = occurring[split.feature]
        if split.split_bin == n_bins[split.feature]:
            return replace(split, split_bin=BEYOND)
        if self.options.random_key is not None:
            return replace(split, split_bin=int(values[values <= split.split_bin].max()))
        return replace(split, split_bin=int(values[split.split_bin - 1]))


def grow_exact_tree(
    ranks: NDArray[np.uint32],
    g: NDArray[np.float64],
    h: NDArray[np.float64],
    rows: Rows,
    options: GrowOptions,
    n_bins: dict[int, int] | None = None,
) -> Tree:
    """Grow a tree on `rows` of ranks (n_features, n_rows), or bins where `n_bins` tells how many.

    Sums are of wide values.
    """
    n_value_bins = [(n_bins or {}).get(feature, BEYOND) for feature in range(len(ranks))]
    grower = ExactGrower(ranks, n_value_bins, g, h, rows, replace(options, wide=True))
    return grower.grow()


def find_thresholds(X: NDArray[np.float64], tree: Tree, rows: Rows, growth: str) -> list[float]:
    """Return the middle between the values of the node next to each split; 0 for leaves.

    X is (n_features, n_rows). Symmetric trees have the values of all rows of the tree there.
    """
    thresholds = [0.0] * tree.n_nodes
    reached = {0: np.asarray(rows)}
    for node_idx in range(tree.n_nodes):
        feature = tree.feature[node_idx]
        if feature < 0:
            continue
        of_node = reached[node_idx]
        distinct = np.unique(X[feature, ~np.isnan(X[feature])])
        rank = np.where(np.isnan(X[feature]), 0, 1 + np.searchsorted(distinct, X[feature]))
        split = tree.split_bin[node_idx]
        left = np.where(rank == 0, tree.missing_left[node_idx], rank <= split)[of_node].astype(bool)
        reached[tree.left[node_idx]] = of_node[left]
        reached[tree.right[node_idx]] = of_node[~left]
        near = np.asarray(rows) if growth == "symmetric" else of_node
        values, own = X[feature, near], rank[near]
        if split == BEYOND:
            thresholds[node_idx] = np.inf
        else:
            low = values[(own > 0) & (own <= split)].max()
            thresholds[node_idx] = (low + values[own > split].min()) / 2
    return thresholds
