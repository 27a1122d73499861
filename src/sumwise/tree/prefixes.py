"""Scores of rows by models of the rows before them, which share the splits of a tree."""

import numpy as np

from sumwise.kernels.prefixes import add_prefix_values
from sumwise.kernels.threads import Team
from sumwise.tree.grower import TreeGrower
from sumwise.tree.tree import Tree


class PrefixSolver:
    """Gives the leaves of a tree values by the first 1, 2, 4, 8, ... rows of an order.

    Parameters
    ----------
    grower : TreeGrower
        It grew the trees. Leaves of rows are those it found last.
    n_rows : int
        Rows of the order.
    team : Team
    """

    def __init__(self, grower: TreeGrower, n_rows: int, team: Team) -> None:
        self._grower, self._team = grower, team
        s = grower.settings
        self._rule = (float(s.l1), float(s.l2), float(s.max_delta_step), float(s.learning_rate))
        n_nodes = 2 * s.limits(n_rows)[0] - 1
        powers = 1 << np.arange(max(1, n_rows).bit_length(), dtype=np.int64)
        self._ends = np.unique(np.concatenate([[0], powers[powers < n_rows], [n_rows]]))
        self._ranges = np.zeros((team.n_threads, 8))
        self._own = np.zeros((team.n_threads, n_nodes, 2), dtype=np.int64)
        self._totals = np.zeros((n_nodes, 2), dtype=np.int64)
        self._value = np.zeros(n_nodes)

    def add_values(
        self,
        tree: Tree,
        order: np.ndarray,
        seen: np.ndarray,
        gradient: np.ndarray,
        hessian: np.ndarray,
        scores: np.ndarray,
    ) -> None:
        """Add to the score of each row what the model of rows before it says.

        Parameters
        ----------
        tree : Tree
            The tree grown last; the leaves of all rows of the order were found.
        order : ndarray of uint32
            The rows, first to last.
        seen : ndarray of uint32
            Those among them that models learn from.
        gradient, hessian, scores : ndarray
            Of all rows of the table.
        """
        leaf, anchor = self._grower.get_leaves(tree)
        is_seen = np.empty(0, dtype=np.uint8)
        if seen.size < order.size:
            is_seen = np.zeros(gradient.size, dtype=np.uint8)
            is_seen[seen] = 1
        self._team.run(
            add_prefix_values,
            order,
            self._ends,
            seen,
            is_seen,
            leaf,
            tree.left,
            anchor,
            gradient,
            hessian,
            self._rule,
            self._ranges,
            self._own,
            self._totals,
            self._value,
            scores,
        )
