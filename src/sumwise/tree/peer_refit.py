"""Values of leaves whose rows several processes have: PeerLocationFinder."""

from typing import Any

import numpy as np

from sumwise.kernels.leaves.peer_location import Groups
from sumwise.kernels.leaves.peer_refit import group_rows, set_node_values, settle_nodes
from sumwise.kernels.leaves.refit import RefitRule
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Location
from sumwise.losses.peer_locations import add_totals, find_locations, weigh_in_units
from sumwise.peers import Peers
from sumwise.tree.refit import LocationFinder


class PeerLocationFinder(LocationFinder):
    """Finds the values of nodes among peers: those that one process with all rows would find.

    A tree takes few messages, of all its leaves together: see ``losses/peer_locations.py``. New
    weights take one more.

    Parameters
    ----------
    target, weight, rows, team
        As for :class:`LocationFinder`, with the rows of this process. It may have none.
    n_nodes : int
        Largest number of nodes of a tree.
    peers : Peers
        The processes that have the other rows. Each makes the same calls.
    """

    def __init__(
        self,
        target: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        n_nodes: int,
        team: Team,
        peers: Peers,
    ) -> None:
        self._peers = peers
        super().__init__(target, weight, rows, n_nodes, team)

    def _make_units(self, weight: np.ndarray, n_rows: int) -> np.ndarray:
        units = weigh_in_units(weight, n_rows, self._peers)
        self._is_weighted = units.is_weighted
        return units.own

    def _find_values(
        self,
        location: Location,
        rule: RefitRule,
        rows: np.ndarray,
        tree: tuple[np.ndarray, ...],
        scores: np.ndarray,
        value: np.ndarray,
    ) -> None:
        leaf, left, anchor, weight = tree
        buffers, team = self._buffers, self._team
        team.run(group_rows, rows, leaf, left, self._target, self._units, buffers, scores)
        leaves = np.flatnonzero(left < 0)
        found = add_totals(self._take(leaves), self._is_weighted, self._peers, team)
        totals = np.zeros((2, left.size), dtype=np.int64)
        totals[:, leaves] = found.n_values, found.totals
        settle_nodes(left, totals, anchor)
        needed = np.unique(anchor[leaves])
        own = self._take(needed)
        n_values, of_weights = totals[:, needed].copy()
        shared = found._replace(own=own, n_values=n_values, totals=of_weights)
        buffers.center[needed] = find_locations(shared, location, self._peers, team)
        set_node_values(left, anchor, weight, rule, buffers, value)

    def _take(self, nodes: np.ndarray) -> Groups:
        """Return the residuals of the rows of some nodes."""
        own: Any = self._buffers
        return Groups(own.residual, own.units, own.first[nodes], own.n_rows[nodes])
