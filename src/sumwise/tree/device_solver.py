"""New values for the leaves of a tree, from gradients on a device."""

from typing import Any

import numpy as np

from sumwise.cuda.leaves.newton import sum_by_leaf
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.team import DeviceTeam
from sumwise.kernels.leaves.newton import set_leaf_values
from sumwise.kernels.leaves.refit import add_leaf_values
from sumwise.tree.cuda_grower import CudaGrower
from sumwise.tree.growth import GrowthSettings
from sumwise.tree.pending_tree import PendingTree, finish_tree
from sumwise.tree.solve import LeafSolver, refuse_values
from sumwise.tree.tree import Tree


class DeviceStepFinder:
    """Finds values of nodes as :class:`StepFinder` does; rows are summed on the device."""

    def __init__(self, team: DeviceTeam) -> None:
        self._team = team

    def find(
        self,
        settings: GrowthSettings,
        rows: Any,
        leaf: Any,
        left: np.ndarray,
        anchor: np.ndarray,
        gradient: Any,
        hessian: Any,
    ) -> np.ndarray:
        """Return the values of all nodes, (n_nodes, 1), from the gradients of ``rows``."""
        found = sum_by_leaf(self._team, rows, leaf, left.size, gradient, hessian)
        totals, maxima = found
        value, none = np.empty((left.size, 1)), np.empty((0, left.size, 2), dtype=np.int64)
        rule = settings.leaf_rule
        set_leaf_values(left, anchor, maxima, int(rows.size), rule, none, totals, value)
        refuse_values(value)
        return value


class DeviceLeafSolver(LeafSolver):
    """Sets leaves to the Newton steps of other gradients than those that chose the splits.

    Parameters
    ----------
    grower : CudaGrower
        Grew the trees. Leaves of rows are those of its last tree.
    team : DeviceTeam
    """

    def __init__(self, grower: CudaGrower, team: DeviceTeam) -> None:
        self._grower: Any = grower
        self._team: Any = team
        self._finder: Any = DeviceStepFinder(team)

    def solve(self, tree: Tree | PendingTree, rows: Any, gradient: Any, hessian: Any) -> Tree:
        return super().solve(finish_tree(tree), rows, gradient, hessian)

    def add_values(self, tree: Tree, rows: Any, scores: Any) -> None:
        leaf, _ = self._grower.get_leaves(tree)
        value: DeviceArray = self._team.device.upload(np.ascontiguousarray(tree.value[:, 0]))
        self._team.run(add_leaf_values, rows, leaf, value, scores)
