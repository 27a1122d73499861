"""How trees grow: settings, defaults filled in, and as kernels take them."""

from dataclasses import dataclass

import numpy as np

from sumwise.errors import ParameterError
from sumwise.kernels.grow import layout
from sumwise.sampling.columns import Columns
from sumwise.tree.constraints import TreeConstraints

GROWTH = {
    "leaf": layout.LEAF_WISE,
    "depth": layout.LEVEL_WISE,
    "symmetric": layout.SYMMETRIC,
}
DEFAULT_LEAVES = 31
DEFAULT_DEPTH = 6
MAX_SYMMETRIC_DEPTH = 16
_UNLIMITED_DEPTH = 1 << 30


@dataclass(frozen=True)
class GrowthSettings:
    """How trees grow and how their leaves are regularized."""

    growth: str = "leaf"
    max_leaves: int | None = None
    max_depth: int | None = None
    min_samples_leaf: int = 20
    min_child_weight: float = 1e-3
    min_gain: float = 0.0
    l1: float = 0.0
    l2: float = 1.0
    max_delta_step: float = 0.0
    learning_rate: float = 0.1
    path_smooth: float = 0.0
    extra_trees: bool = False
    constraints: TreeConstraints | None = None

    @property
    def leaf_rule(self) -> tuple[float, float, float, float]:
        """What makes values of sums, as kernels take it: l1, l2, largest step, learning rate."""
        rule = (self.l1, self.l2, self.max_delta_step, self.learning_rate)
        return float(rule[0]), float(rule[1]), float(rule[2]), float(rule[3])

    def limits(self, n_rows: int) -> tuple[int, int]:
        """Return (max_leaves, max_depth) for a number of rows, defaults filled in."""
        leaves, depth = self.max_leaves, self.max_depth
        if leaves is None and self.growth == "leaf":
            leaves = DEFAULT_LEAVES
        if leaves is None and depth is None:
            depth = DEFAULT_DEPTH
        most = max(1, n_rows // max(1, self.min_samples_leaf))
        if self.growth == "symmetric":
            if leaves is not None:
                by_leaves = leaves.bit_length() - 1
                depth = by_leaves if depth is None else min(depth, by_leaves)
            assert depth is not None
            if depth > MAX_SYMMETRIC_DEPTH:
                raise ParameterError(
                    f"symmetric trees have 2**depth leaves: max_depth={self.max_depth}, "
                    f"max_leaves={self.max_leaves}; give max_depth of at most "
                    f"{MAX_SYMMETRIC_DEPTH} or max_leaves of at most {1 << MAX_SYMMETRIC_DEPTH}"
                )
            return 1 << depth, depth
        leaves = most if leaves is None else min(leaves, most)
        if depth is not None and depth < 31:
            leaves = min(leaves, 1 << depth)
        return leaves, _UNLIMITED_DEPTH if depth is None else depth

    def make_options(self, columns: Columns, n_rows: int, n_features: int) -> layout.GrowthOptions:
        """Return what the policy allows for a number of rows, as kernels take it."""
        max_leaves, max_depth = self.limits(n_rows)
        weights = columns.weigh_features(n_features)
        return layout.GrowthOptions(
            growth=GROWTH[self.growth],
            max_leaves=max_leaves,
            max_depth=max_depth,
            min_samples_leaf=max(1, self.min_samples_leaf),
            min_gain=float(self.min_gain),
            columns_by_tree=float(columns.by_tree),
            columns_by_level=float(columns.by_level),
            columns_by_node=float(columns.by_node),
            column_weights=weights,
            column_times=np.empty_like(weights),
            random_splits=bool(self.extra_trees),
        )
