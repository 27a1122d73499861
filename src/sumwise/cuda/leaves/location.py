"""Locator: quantiles and robust locations of groups of values, to the bits of the CPU."""

import math

import numpy as np

from sumwise.cuda.leaves.layout import LEAVES, Locations
from sumwise.cuda.leaves.units import weigh_in_units
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.select import Groups, Selector
from sumwise.cuda.runtime.structs import pack_struct
from sumwise.cuda.runtime.team import DeviceTeam


class Locator:
    """Finds locations of values that are given as keys (see runtime/sort.cuh), group by group.

    Parameters
    ----------
    team : DeviceTeam
    n_groups : int
        The most groups.

    Attributes
    ----------
    groups : Groups
        Where the values of each group are, for the caller to fill.
    center : DeviceArray of float64
        The locations found.
    """

    def __init__(self, team: DeviceTeam, n_groups: int) -> None:
        self._team, self._selector = team, Selector(team, n_groups)
        self._sums = team.device.allocate((3, n_groups), np.uint64)
        self.groups = Groups.allocate(team, n_groups)
        self.center = team.device.allocate(n_groups, np.float64)

    def locate(
        self,
        keys: DeviceArray,
        mass: DeviceArray | None,
        level: float,
        delta: float,
        kind: int,
        n_groups: int,
        overlaps: DeviceArray | None = None,
    ) -> None:
        """Queue finding the centers of the first groups; those of size 0 keep what they had.

        ``overlaps`` is as in :meth:`Selector.begin`.
        """
        team, center = self._team, self.center[:n_groups]
        groups, sums = self.groups.take(n_groups), [own[:n_groups] for own in self._sums]
        team.device.clear(self._sums)
        begun = self._selector.begin(groups, keys, mass, overlaps)
        where = pack_struct(Locations(level, delta, kind, *sums, center))
        if mass is not None:
            team.launch(LEAVES, "weigh_groups", begun.n_threads, begun.words, where)
        team.launch(LEAVES, "set_goals", n_groups, begun.words, where)
        self._selector.search(begun, find_next=True)
        team.launch(LEAVES, "take_quantiles", n_groups, begun.words, where)
        if delta < math.inf:
            team.launch(LEAVES, "add_influences", begun.n_threads, begun.words, where)
            team.launch(LEAVES, "move_centers", n_groups, begun.words, where)


class ErrorQuantile:
    """Finds quantiles of the absolute errors of rows.

    Parameters
    ----------
    team : DeviceTeam
    """

    def __init__(self, team: DeviceTeam) -> None:
        self._team, self._locator = team, Locator(team, 1)
        team.device.clear(self._locator.groups.first)

    def find(
        self,
        target: DeviceArray,
        raw: DeviceArray,
        weight: DeviceArray,
        rows: DeviceArray,
        level: float,
    ) -> float:
        """Return a quantile; wait for it.

        ``raw`` has shape (1, n_table_rows). An empty ``weight`` means ones.
        """
        team, locator, n_rows = self._team, self._locator, rows.size
        team.device.write(np.array([n_rows]), locator.groups.size)
        keys, mass = team.borrow("residuals", n_rows, np.uint64), None
        team.launch(LEAVES, "write_error_keys", n_rows, rows, n_rows, target, raw, keys)
        if weight.size:
            mass = team.borrow("weights of residuals", n_rows, np.int64)
            weigh_in_units(team, rows, weight, weight[:0], mass, packed=True)
        locator.locate(keys, mass, level, math.inf, 0, 1)
        return float(locator.center.to_host()[0])
