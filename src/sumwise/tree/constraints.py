"""What trees must obey: monotone features, and features that may meet on a path."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sumwise.kernels.grow.isotonic import CHAINS_SHAPE, POOLS_SHAPE
from sumwise.kernels.grow.layout import Constraints


@dataclass(frozen=True)
class TreeConstraints:
    """Constraints on all trees of a fit.

    Attributes
    ----------
    directions : sequence of int
        For each feature 1, if predictions must not fall as it rises; -1, if they must not rise;
        otherwise 0.
    groups : sequence of sequences of int
        Features that may meet: all features above a leaf belong to one group. Empty: no such rule.
    max_path_features : int
        In place of groups: how many different features may be above a leaf. 0: no such rule.
    """

    directions: Sequence[int]
    groups: Sequence[Sequence[int]] = ()
    max_path_features: int = 0


def allocate_constraints(
    constraints: TreeConstraints | None, n_features: int, n_nodes: int, symmetric_depth: int
) -> Constraints:
    """Return the constraints as kernels see them, with buffers for trees of ``n_nodes`` nodes.

    ``symmetric_depth`` is 0 for trees that are not symmetric.
    """
    if constraints is None:
        constraints, n_features, n_nodes, symmetric_depth = TreeConstraints(()), 0, 0, 0
    direction = np.array(constraints.directions, dtype=np.int64)
    groups = [np.array(group, dtype=np.int64) for group in constraints.groups]
    n_chains = min(symmetric_depth, int(np.count_nonzero(direction)))
    return Constraints(
        direction=direction,
        any_direction=bool(direction.any()),
        max_path_features=int(constraints.max_path_features),
        group_first=np.cumsum([0, *(group.size for group in groups)]).astype(np.int64),
        group_members=np.concatenate([*groups, np.empty(0, dtype=np.int64)]),
        on_path=np.zeros(n_features, dtype=np.uint8),
        parent=np.full(n_nodes, -1, dtype=np.int32),
        lower=np.full(n_nodes, -np.inf),
        upper=np.full(n_nodes, np.inf),
        chains=np.zeros(CHAINS_SHAPE, dtype=np.int64),
        pools=np.zeros(POOLS_SHAPE),
        scratch=np.empty((1 + n_chains, 1 << symmetric_depth)),
    )
