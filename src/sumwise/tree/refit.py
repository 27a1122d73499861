"""Refit the leaves of a grown tree to the residuals of their rows."""

from dataclasses import replace

import numpy as np

from sumwise.errors import TrainingError
from sumwise.kernels.location import N_DIGIT_VALUES, weigh_in_units
from sumwise.kernels.refit import RefitBuffers, RefitRule, add_leaf_values, refit_leaves
from sumwise.kernels.threads import Team
from sumwise.losses import Location
from sumwise.tree.grower import TreeGrower
from sumwise.tree.tree import Tree


class LeafRefitter:
    """Gives the leaves of trees the location of their residuals, times the learning rate.

    ``l1`` and ``l2`` act on the choice of splits only; ``max_delta_step`` limits the step of a
    leaf, its value before the learning rate. Monotone constraints hold. An inner node gets the mean
    of its leaves by weight.

    Parameters
    ----------
    grower : TreeGrower
        It grew the trees.
    target, weight : ndarray
        Of all rows of the table; no weights stand for weights of one.
    rows : ndarray
        The rows that trees are grown on, or drawn from.
    team : Team
    """

    def __init__(
        self,
        grower: TreeGrower,
        target: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        team: Team,
    ) -> None:
        self._grower, self._target, self._team = grower, target, team
        self._units = np.zeros(weight.size, dtype=np.int64)
        if weight.size:
            own = np.empty(rows.size, dtype=np.int64)
            weigh_in_units(weight[rows], own)
            self._units[rows] = own
        n_rows = rows.size
        n_nodes = 2 * grower.settings.limits(n_rows)[0] - 1
        n_weights = n_rows if weight.size else 0
        self._buffers = RefitBuffers(
            residual=np.empty(n_rows),
            units=np.empty(n_weights, dtype=np.int64),
            keys=np.empty(n_rows, dtype=np.uint64),
            mass=np.empty(n_weights, dtype=np.int64),
            counters=np.empty((team.n_threads, N_DIGIT_VALUES), dtype=np.int64),
            place=np.empty((team.n_threads, n_nodes), dtype=np.int64),
            first=np.empty(n_nodes, dtype=np.int64),
            n_rows=np.empty(n_nodes, dtype=np.int64),
            center=np.empty(n_nodes),
        )

    def weigh(self, rows: np.ndarray, weight: np.ndarray, factor: np.ndarray) -> None:
        """Give rows other weights, for the trees from now on: factors, times weights if any."""
        own = np.empty(rows.size, dtype=np.int64)
        weigh_in_units(weight[rows] * factor if weight.size else factor, own)
        self._units[rows] = own

    def refit(
        self,
        tree: Tree,
        rows: np.ndarray,
        scores: np.ndarray,
        location: Location,
    ) -> Tree:
        """Return the tree just grown with new values, and add them to the scores of its rows.

        Parameters
        ----------
        tree : Tree
            The last tree of the grower.
        rows : ndarray
            The rows it was grown on; their scores do not contain it yet.
        scores : ndarray
            Scores of all rows of the table.
        location : Location
            What the step of a leaf is.
        """
        tree = self.find_values(tree, rows, scores, location)
        leaf, _ = self._grower.get_leaves(tree)
        self._team.run(add_leaf_values, rows, leaf, tree.value, scores)
        return tree

    def find_values(
        self, tree: Tree, rows: np.ndarray, scores: np.ndarray, location: Location
    ) -> Tree:
        """The same, but leave the scores as they are."""
        leaf, anchor = self._grower.get_leaves(tree)
        settings = self._grower.settings
        rule = RefitRule(
            float(location.level),
            float(location.delta),
            float(settings.max_delta_step),
            float(settings.learning_rate),
        )
        value = np.empty_like(tree.value)
        self._team.run(
            refit_leaves,
            rows,
            leaf,
            tree.left,
            anchor,
            tree.weight,
            self._target,
            self._units,
            rule,
            self._buffers,
            scores,
            value,
        )
        if not np.isfinite(value).all():
            raise TrainingError("a leaf's value is not finite: targets are too large in magnitude")
        value[:, 0] = self._grower.constrain_values(value[:, 0])
        return replace(tree, value=value)
