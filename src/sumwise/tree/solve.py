"""New values for the leaves of a tree, from gradients that it was not grown on."""

from dataclasses import replace

import numpy as np

from sumwise.errors import TrainingError
from sumwise.kernels.leaf_values import solve_leaves
from sumwise.kernels.refit import add_leaf_values
from sumwise.kernels.threads import Team
from sumwise.tree.grower import TreeGrower
from sumwise.tree.tree import Tree


class LeafSolver:
    """Gives leaves the Newton steps of other gradients than those that chose the splits.

    Parameters
    ----------
    grower : TreeGrower
        It grew the trees. Leaves of rows are those it found last.
    n_rows : int
        The most rows a tree is grown on.
    team : Team
    """

    def __init__(self, grower: TreeGrower, n_rows: int, team: Team) -> None:
        self._grower, self._team = grower, team
        n_nodes = 2 * grower.settings.limits(n_rows)[0] - 1
        self._ranges = np.zeros((team.n_threads, 8))
        self._sums = np.zeros((team.n_threads, n_nodes, 2), dtype=np.int64)

    def solve(
        self, tree: Tree, rows: np.ndarray, gradient: np.ndarray, hessian: np.ndarray
    ) -> Tree:
        """Return the tree with values from the gradients of ``rows``."""
        leaf, anchor = self._grower.get_leaves(tree)
        value = np.empty_like(tree.value)
        arrays = (rows, leaf, tree.left, anchor, gradient, hessian, self._grower.settings.leaf_rule)
        self._team.run(solve_leaves, *arrays, self._ranges, self._sums, value)
        if not np.isfinite(value).all():
            raise TrainingError("a leaf's value is not finite: lower learning_rate or raise l2")
        value[:, 0] = self._grower.constrain_values(value[:, 0])
        return replace(tree, value=value)

    def add_values(self, tree: Tree, rows: np.ndarray, scores: np.ndarray) -> None:
        """Add values to the scores of rows whose leaves were found."""
        leaf, _ = self._grower.get_leaves(tree)
        self._team.run(add_leaf_values, rows, leaf, tree.value, scores)
