"""New values for the leaves of a tree, from gradients that did not choose its splits."""

from dataclasses import replace

import numpy as np

from sumwise.errors import TrainingError
from sumwise.kernels.grow.values import smooth_values
from sumwise.kernels.leaves.newton import solve_leaves
from sumwise.kernels.leaves.refit import add_leaf_values
from sumwise.kernels.runtime.threads import Team
from sumwise.tree.grower import TreeGrower, choose_run
from sumwise.tree.growth import GrowthSettings
from sumwise.tree.tree import Tree


class StepFinder:
    """Finds values of nodes: Newton steps of the gradients of their rows.

    Parameters
    ----------
    n_nodes : int
        Largest number of nodes of a tree.
    team : Team
    """

    def __init__(self, n_nodes: int, team: Team) -> None:
        self._team = team
        self._ranges = np.zeros((team.n_threads, 8))
        self._sums = np.zeros((team.n_threads, n_nodes, 2), dtype=np.int64)

    def find(
        self,
        settings: GrowthSettings,
        rows: np.ndarray,
        leaf: np.ndarray,
        left: np.ndarray,
        anchor: np.ndarray,
        gradient: np.ndarray,
        hessian: np.ndarray,
    ) -> np.ndarray:
        """Return the values of all nodes, (n_nodes, 1), from the gradients of ``rows``.

        ``settings`` has the penalties, the largest step and the learning rate. ``leaf``,
        ``gradient`` and ``hessian`` are of all rows of the table. ``anchor`` is the node whose rows
        determine the value of each node.
        """
        value = np.empty((left.size, 1))
        arrays = (rows, (leaf, left, anchor), gradient, hessian, settings.leaf_rule)
        run = choose_run(self._team, rows.size)
        run(solve_leaves, *arrays, self._ranges, self._sums, value)
        refuse_values(value)
        return value


def refuse_values(value: np.ndarray) -> None:
    """Raise TrainingError unless all values are finite."""
    if not np.isfinite(value).all():
        raise TrainingError("a leaf's value is not finite: lower learning_rate or raise l2")


def smooth_paths(
    settings: GrowthSettings,
    left: np.ndarray,
    anchor: np.ndarray,
    n_rows: np.ndarray,
    value: np.ndarray,
) -> None:
    """Shrink the values (n_nodes, 1) of nodes towards their parents, in place, if asked for."""
    if settings.path_smooth > 0.0:
        smooth_values(left, anchor, n_rows, float(settings.path_smooth), value)


class LeafSolver:
    """Sets leaves to the Newton steps of other gradients than those that chose the splits.

    Parameters
    ----------
    grower : TreeGrower
        Grew the trees. Leaves of rows are those of its last tree.
    n_rows : int
        Largest number of rows that a tree is grown on.
    team : Team
    """

    def __init__(self, grower: TreeGrower, n_rows: int, team: Team) -> None:
        self._grower, self._team = grower, team
        n_nodes = 2 * grower.settings.limits(n_rows)[0] - 1
        self._finder = StepFinder(n_nodes, team)

    def solve(
        self, tree: Tree, rows: np.ndarray, gradient: np.ndarray, hessian: np.ndarray
    ) -> Tree:
        """Return the tree with values from the gradients of ``rows``."""
        leaf, anchor = self._grower.get_leaves(tree)
        arrays = rows, leaf, tree.left, anchor, gradient, hessian
        value = self._finder.find(self._grower.settings, *arrays)
        smooth_paths(self._grower.settings, tree.left, anchor, tree.n_rows, value)
        value[:, 0] = self._grower.constrain_values(value[:, 0])
        return replace(tree, value=value)

    def add_values(self, tree: Tree, rows: np.ndarray, scores: np.ndarray) -> None:
        """Add the values of the last tree to the scores of rows."""
        leaf, _ = self._grower.get_leaves(tree)
        run = choose_run(self._team, rows.size)
        run(add_leaf_values, rows, leaf, tree.value, scores)
