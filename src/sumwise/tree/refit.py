"""Refit the leaves of a tree to the residuals of their rows."""

from dataclasses import replace
from typing import Protocol

import numpy as np

from sumwise.errors import TrainingError
from sumwise.kernels.leaves.location import N_DIGIT_VALUES, weigh_in_units
from sumwise.kernels.leaves.refit import RefitBuffers, RefitRule, add_leaf_values, refit_leaves
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Location
from sumwise.peers import ALONE, Peers, add_up
from sumwise.tree.growth import GrowthSettings
from sumwise.tree.tree import Tree


class Grower(Protocol):
    """What a refitter needs of the grower of trees."""

    @property
    def settings(self) -> GrowthSettings: ...

    def get_leaves(self, tree: Tree) -> tuple[np.ndarray, np.ndarray]: ...

    def constrain_values(self, value: np.ndarray) -> np.ndarray: ...


class LocationFinder:
    """Finds the values of nodes: locations of the residuals of their rows, times the learning rate.

    Parameters
    ----------
    target, weight : ndarray
        Of all rows of the table; an empty array of weights means ones.
    rows : ndarray
        The rows that trees learn from, or a superset of them.
    n_nodes : int
        Largest number of nodes of a tree.
    team : Team
    """

    def __init__(
        self,
        target: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        n_nodes: int,
        team: Team,
    ) -> None:
        self._target, self._team = target, team
        self._units = np.empty(0, dtype=np.int64)
        self.weigh(rows, weight[rows] if weight.size else weight)
        n_rows = rows.size
        n_weights = n_rows if self._units.size else 0
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

    def weigh(self, rows: np.ndarray, weight: np.ndarray) -> None:
        """Change the weights of rows from now on; empty if all are one and have been."""
        own = self._make_units(weight, rows.size)
        if own.size:
            if not self._units.size:
                self._units = np.zeros(self._target.size, dtype=np.int64)
            self._units[rows] = own

    def _make_units(self, weight: np.ndarray, n_rows: int) -> np.ndarray:
        """Return the weights of ``n_rows`` as integers; none if all are one."""
        units = np.empty(weight.size, dtype=np.int64)
        weigh_in_units(weight, units)
        return units

    def find(
        self,
        settings: GrowthSettings,
        rows: np.ndarray,
        leaf: np.ndarray,
        left: np.ndarray,
        anchor: np.ndarray,
        node_weight: np.ndarray,
        scores: np.ndarray,
        location: Location,
    ) -> np.ndarray:
        """Return the values of all nodes, (n_nodes, 1).

        Parameters
        ----------
        settings : GrowthSettings
            ``max_delta_step`` limits the step of a leaf: its value without the learning rate.
        rows : ndarray
            The rows to learn from.
        leaf, scores : ndarray
            Leaves and scores of all rows of the table.
        left, node_weight : ndarray
            Of the nodes; the value of an inner node is the mean of its leaves by weight.
        anchor : ndarray
            The node whose rows determine the value of each node. Changed if that node has no rows.
        location : Location
            Location of the residuals: the step of a leaf.
        """
        rule = RefitRule(
            float(location.level),
            float(location.delta),
            int(location.influence),
            float(settings.max_delta_step),
            float(settings.learning_rate),
        )
        value = np.empty((left.size, 1))
        tree = leaf, left, anchor, node_weight
        self._find_values(location, rule, rows, tree, scores, value)
        if not np.isfinite(value).all():
            raise TrainingError("a leaf's value is not finite: targets are too large in magnitude")
        return value

    def _find_values(
        self,
        location: Location,
        rule: RefitRule,
        rows: np.ndarray,
        tree: tuple[np.ndarray, ...],
        scores: np.ndarray,
        value: np.ndarray,
    ) -> None:
        """Write the values of all nodes to ``value``; ``tree`` is as in ``refit_leaves``."""
        known = self._target, self._units, rule, self._buffers
        self._team.run(refit_leaves, rows, tree, *known, scores, value)


class LeafRefitter:
    """Sets the leaves of grown trees to locations of their residuals, times the learning rate.

    ``l1`` and ``l2`` affect the choice of splits only. Monotone constraints hold.

    Parameters
    ----------
    grower : TreeGrower or VectorGrower
        Grew the trees.
    target, weight : ndarray
        Of all rows of the table; an empty array of weights means ones.
    rows : ndarray
        The rows that trees are grown on or drawn from.
    team : Team
    peers : Peers
        The processes that have the other rows, if there are any. Each makes the same calls.
    """

    def __init__(
        self,
        grower: Grower,
        target: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        team: Team,
        peers: Peers = ALONE,
    ) -> None:
        self._grower, self._team = grower, team
        n_rows = add_up(peers, rows.size)[0]
        own = (target, weight, rows, 2 * grower.settings.limits(n_rows)[0] - 1, team)
        if peers.size == 1:
            self._finder = LocationFinder(*own)
            return
        from sumwise.tree.peer_refit import PeerLocationFinder  # few fits have peers

        self._finder = PeerLocationFinder(*own, peers)

    def weigh(self, rows: np.ndarray, weight: np.ndarray, factor: np.ndarray) -> None:
        """Change the weights of rows for the next trees: to factors, times weights if any."""
        self._finder.weigh(rows, weight[rows] * factor if weight.size else factor)

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
            Location of the residuals: the step of a leaf.
        """
        tree = self.find_values(tree, rows, scores, location)
        leaf, _ = self._grower.get_leaves(tree)
        self._team.run(add_leaf_values, rows, leaf, tree.value, scores)
        return tree

    def find_values(
        self, tree: Tree, rows: np.ndarray, scores: np.ndarray, location: Location
    ) -> Tree:
        """Return the tree with new values; leave the scores as they are."""
        leaf, anchor = self._grower.get_leaves(tree)
        nodes = tree.left, anchor, tree.weight
        value = self._finder.find(self._grower.settings, rows, leaf, *nodes, scores, location)
        value[:, 0] = self._grower.constrain_values(value[:, 0])
        return replace(tree, value=value)
