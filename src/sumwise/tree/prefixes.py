"""Scores of rows from models of the rows before them; all models share the splits of trees."""

import numpy as np

from sumwise.kernels.leaves.ordered import update_prefix_models
from sumwise.kernels.runtime.threads import Team
from sumwise.tree.grower import TreeGrower, choose_run
from sumwise.tree.tree import Tree


class PrefixModels:
    """Models of the first 1, 2, 4, 8, ... rows of a permutation, which share all splits.

    Model j learns from the first 2^j rows, with gradients at its own scores, and predicts these and
    as many more. A row that a model predicts is an *entry*.

    Parameters
    ----------
    grower : TreeGrower
        Grows the trees. Leaves of rows are those of its last tree.
    order : ndarray of uint32
        The permutation of the rows.
    raw : ndarray of shape (n_outputs, n_table_rows)
        Scores to start from.
    team : Team

    Attributes
    ----------
    rows : ndarray of uint32
        Rows of the entries, model after model.
    scores : ndarray of shape (n_outputs, n_entries)
    """

    def __init__(self, grower: TreeGrower, order: np.ndarray, raw: np.ndarray, team: Team) -> None:
        self._grower, self._team = grower, team
        n_models = max(1, (order.size - 1).bit_length())
        self._n_learned = np.minimum(1 << np.arange(n_models, dtype=np.int64), order.size)
        covered = np.minimum(2 * self._n_learned, order.size)
        self._start = np.append(0, covered.cumsum()).astype(np.int64)
        self.rows = np.concatenate([order[:n] for n in covered])
        self.scores = np.ascontiguousarray(raw[:, self.rows])
        self._numbers = np.arange(self.rows.size, dtype=np.uint32)
        n_nodes = 2 * grower.settings.limits(order.size)[0] - 1
        n_threads = team.n_threads
        self._scratch = (
            np.zeros((n_threads, 8)),
            np.zeros((n_models, n_threads, n_nodes, 2), dtype=np.int64),
            np.zeros((n_threads, n_nodes, 2), dtype=np.int64),
            np.zeros((n_models, n_nodes)),
        )

    def add_values(
        self,
        tree: Tree,
        output: int,
        gradient: np.ndarray,
        hessian: np.ndarray,
        row_scores: np.ndarray,
    ) -> None:
        """Add a tree to the scores of an output, with values from the gradients of the entries.

        ``row_scores`` gets the score of each row, except the first, from the largest model that has
        not learned from the row.
        """
        leaf, anchor = self._grower.get_leaves(tree)
        models = self._numbers, self._start, self._n_learned, self.rows
        derivatives = gradient, hessian, self._grower.settings.leaf_rule
        arrays = models, (leaf, tree.left, anchor), *derivatives, self._scratch
        run = choose_run(self._team, self.rows.size)
        run(update_prefix_models, *arrays, self.scores[output], row_scores)
