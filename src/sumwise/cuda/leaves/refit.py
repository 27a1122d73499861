"""Refit leaves to the residuals of their rows, on a device."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from sumwise.cuda.leaves.layout import LEAVES, Refit
from sumwise.cuda.leaves.location import Locator
from sumwise.cuda.leaves.units import weigh_in_units
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.structs import pack_struct
from sumwise.cuda.runtime.team import DeviceTeam
from sumwise.kernels.leaves.refit import RefitRule

# Nodes whose counters fit into the shared memory that every device has.
_MOST_SHARED = 12_288


def find_twin(name: str) -> Callable[..., None] | None:
    """Return the twin of a kernel of ``kernels.leaves.refit``, or None."""
    return add_leaf_values if name == "add_leaf_values" else None


def add_leaf_values(
    team: DeviceTeam,
    rows: DeviceArray,
    leaf: DeviceArray,
    value: DeviceArray,
    scores: DeviceArray,
) -> None:
    """Queue adding the values of their leaves to the scores of rows."""
    numbers = rows, rows.size, leaf, value, len(value)
    team.launch(LEAVES, "add_leaf_values", rows.size, *numbers, scores)


class DeviceLocationFinder:
    """Finds the values of nodes, as ``LocationFinder`` does on the CPU.

    Parameters
    ----------
    team : DeviceTeam
    target, weight : DeviceArray of float64
        Of all rows of the table; an empty array of weights means ones.
    rows : DeviceArray of uint32
        The rows that trees learn from, or a superset of them.
    n_nodes : int
        Largest number of nodes of a tree.
    """

    def __init__(
        self,
        team: DeviceTeam,
        target: DeviceArray,
        weight: DeviceArray,
        rows: DeviceArray,
        n_nodes: int,
    ) -> None:
        self._team, self._target = team, target
        device, weighted = team.device, weight.size > 0
        self._no_factor = device.allocate(0, np.float64)
        self._units = device.zeros(weight.size, np.int64) if weighted else None
        if weighted:
            self.weigh(rows, weight, self._no_factor)
        self._locator = Locator(team, n_nodes)
        self._left, self._anchor = (device.allocate(n_nodes, np.int32) for _ in range(2))
        self._found = device.allocate((3, n_nodes), np.int32)  # anchors, parents, depths
        self._weight, self._value = (device.allocate(n_nodes, np.float64) for _ in range(2))
        self._places, self._n_in_node = (device.allocate(n_nodes, np.uint64) for _ in range(2))

    def weigh(self, rows: DeviceArray, weight: DeviceArray, factor: DeviceArray) -> None:
        """Change the weights of rows from now on: to factors, times weights, if there are such."""
        assert self._units is not None
        weigh_in_units(self._team, rows, weight, factor, self._units)

    def find(
        self,
        rule: RefitRule,
        rows: DeviceArray,
        leaf: DeviceArray,
        left: np.ndarray,
        anchor: np.ndarray,
        node_weight: np.ndarray,
        scores: DeviceArray,
    ) -> DeviceArray:
        """Queue the search for the values of all nodes; return them, valid until the next call.

        Parameters are those of ``LocationFinder.find``; arrays by node are on the host.
        """
        write, n_nodes = self._team.device.write, left.size
        for host, array in ((left, self._left), (anchor, self._anchor)):
            write(host.astype(np.int32), array[:n_nodes])
        write(node_weight.astype(np.float64), self._weight[:n_nodes])
        return self._find(self._begin(rows, leaf, scores, n_nodes), rule)

    def find_grown(
        self,
        rule: RefitRule,
        rows: DeviceArray,
        leaf: DeviceArray,
        nodes: DeviceArray,
        n_nodes: DeviceArray,
        scores: DeviceArray,
    ) -> DeviceArray:
        """Do the same for a tree that only the device knows.

        ``nodes`` are records, NODE_FIELDS of the grower, and ``n_nodes`` is their number. There is
        a value for each node that a tree may have.
        """
        begun = self._begin(rows, leaf, scores, self._left.size)
        own = nodes, n_nodes, self._left, self._anchor, self._weight
        self._team.launch(LEAVES, "unpack_nodes", begun.n_nodes, begun.refit, *own)
        return self._find(begun, rule)

    def _find(self, begun: "_Begun", rule: RefitRule) -> DeviceArray:
        team, refit, n_nodes, n_rows = self._team, begun.refit, begun.n_nodes, begun.keys.size
        is_shared = n_nodes <= _MOST_SHARED
        shared = 4 * (n_nodes + n_nodes % 2) if is_shared else 0
        team.launch(LEAVES, "count_leaf_rows", n_rows, refit, is_shared, shared=shared)
        team.launch(LEAVES, "lay_out_groups", 1, refit)
        team.launch(LEAVES, "group_residuals", n_rows, refit, is_shared, shared=shared)
        # The rows of an inner node are those of its leaves, too.
        location = rule.level, rule.delta, rule.kind
        self._locator.locate(begun.keys, begun.mass, *location, n_nodes, overlaps=self._left)
        value = self._value[:n_nodes]
        numbers = rule.max_step, rule.learning_rate
        team.launch(LEAVES, "set_refitted_values", 1, refit, *numbers, self._weight, value)
        return value

    def _begin(
        self, rows: DeviceArray, leaf: DeviceArray, scores: DeviceArray, n_nodes: int
    ) -> "_Begun":
        """Describe the task to kernels."""
        borrow, units, mass = self._team.borrow, self._units, None
        keys = borrow("residuals", rows.size, np.uint64)
        if units is not None:
            mass = borrow("weights of residuals", rows.size, np.int64)
        self._team.device.clear(self._places)
        table = leaf, self._target, 0 if units is None else units, scores
        groups = self._locator.groups
        nodes = self._left, self._anchor, *self._found, n_nodes, self._places, self._n_in_node
        places = groups.first, groups.size, keys, 0 if mass is None else mass
        refit = Refit(rows, rows.size, *table, *nodes, *places, self._locator.center)
        return _Begun(pack_struct(refit), n_nodes, keys, mass)


class _Begun(NamedTuple):
    """A task as kernels take it, the number of nodes, and where residuals and weights go."""

    refit: bytes
    n_nodes: int
    keys: DeviceArray
    mass: DeviceArray | None
