"""RowDrawer: draws rows on a device, the same ones as on the CPU.

Rows have keys, and those with the lowest are drawn: ``Selector`` finds the k-th lowest. Then all
rows get a flag, and both kinds of rows are written in their order. Sizes are known beforehand, so
nothing waits for the device.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.select import Groups, Selector
from sumwise.cuda.runtime.team import DeviceTeam
from sumwise.cuda.sampling.layout import SAMPLING, TILE_ROWS

# Random keys of rows drawn by gradient have fewer bits, as on the CPU.
_FEWER_BITS = 6


class Strata(NamedTuple):
    """Rows by stratum, for draws from each.

    Attributes
    ----------
    order : DeviceArray of uint32
        Places of the rows to draw from, by stratum.
    of_row : DeviceArray of uint32
        The stratum of each row of the table.
    groups : Groups
        Places of each stratum in ``order``, and how many to draw.
    n_drawn : int
        Number of all rows to draw.
    """

    order: DeviceArray
    of_row: DeviceArray
    groups: Groups
    n_drawn: int


class RowDrawer:
    """Draws rows, and keeps the memory that it takes.

    Arrays that it returns are valid until the next draw.

    Parameters
    ----------
    team : DeviceTeam
    rows : DeviceArray of uint32
        The rows to draw from, ascending.
    """

    def __init__(self, team: DeviceTeam, rows: DeviceArray) -> None:
        self._team, self._rows = team, rows
        n_rows, device = rows.size, team.device
        self._n_tiles = -(-n_rows // TILE_ROWS)
        self._flags = device.allocate(n_rows, np.uint8)
        self._tiles = device.allocate((self._n_tiles + 1, 2), np.int64)  # the last one is the sum
        self._selectors: dict[int, Selector] = {}
        self._groups: dict[int, Groups] = {}

    # --- draws ---

    def draw_lowest(self, key: np.uint64, n_drawn: int) -> tuple[DeviceArray, DeviceArray]:
        """Return the rows with the lowest hashes, and the others: ``draw_lowest`` of the CPU."""
        keys, groups = self._get_keys(), self._get_groups(n_drawn)
        n_rows = self._rows.size
        self._launch("write_hashes", key, n_rows, 0, 0, keys)
        self._flag_lowest(groups)
        return self._split(n_drawn, groups)

    def draw_strata(self, key: np.uint64, strata: Strata) -> tuple[DeviceArray, DeviceArray]:
        """Return the rows with the lowest hashes of each stratum, and the others."""
        keys, groups, n_rows = self._get_keys(), strata.groups, self._rows.size
        self._launch("write_hashes", key, n_rows, 0, strata.order, keys)
        self._get_selector(groups.size.size).select(groups, keys)
        known = strata.of_row, groups.found, groups.goal
        self._launch("flag_strata", key, self._rows, n_rows, *known, self._flags)
        return self._split(strata.n_drawn)

    def take_groups(
        self, group_of: DeviceArray, is_drawn: np.ndarray, n_drawn: int
    ) -> tuple[DeviceArray, DeviceArray]:
        """Return the rows of groups that are drawn, and the others.

        ``group_of`` (uint32) has the group of each row to draw from, and ``is_drawn``, on the host,
        a mark for each group. ``n_drawn`` is the number of rows in these groups.
        """
        marks = self._team.borrow("drawn groups", is_drawn.size, np.uint8)
        self._team.device.write(is_drawn.astype(np.uint8), marks)
        self._launch("flag_groups", group_of, self._rows.size, marks, self._flags)
        return self._split(n_drawn)

    def draw_bootstrap(self, key: np.uint64) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
        """Draw as many rows as there are, with replacement; wait for their number.

        Return the drawn rows, how often they are drawn (float64), and the others.
        """
        n_rows = self._rows.size
        counts = self._team.borrow("draws of rows", n_rows, np.uint32)
        self._team.device.clear(counts)
        self._launch("count_draws", key, n_rows, counts)
        self._launch("flag_drawn", counts, n_rows, self._flags)
        self._find_places()
        out = self._borrow_weighted(int(self._tiles[-1].to_host()[0]))
        self._write_rows((self._tiles, self._n_tiles), (0, 0, counts, 0, 1.0), *out)
        return out

    def choose_by_gradient(
        self, gradient: DeviceArray, n_top: int, n_other: int, amplify: float, key: np.uint64
    ) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
        """Return rows, their factors, and the others: ``choose_by_gradient`` of the CPU."""
        keys, n_rows = self._get_keys(), self._rows.size
        if n_top > 0:
            groups = self._get_groups(n_top)
            sizes = *gradient.shape, self._rows, n_rows
            self._launch("write_size_keys", gradient, *sizes, keys)
            self._flag_lowest(groups)
            places = self._find_places()
            taken = groups.goal, groups.below, key, _FEWER_BITS
            self._launch("mark_taken", self._flags, n_rows, *places, *taken, keys)
        else:
            self._launch("write_hashes", key, n_rows, _FEWER_BITS, 0, keys)
        groups = self._get_groups(n_other)
        self._flag_lowest(groups)
        rule = groups.goal, groups.below, 0, keys, amplify
        out = self._borrow_weighted(n_top + n_other)
        self._write_rows(self._find_places(), rule, *out)
        return out

    # --- flags and places ---

    def _flag_lowest(self, groups: Groups) -> None:
        keys = self._get_keys()
        self._get_selector(1).select(groups, keys)
        self._launch("flag_lowest", keys, keys.size, groups.found, self._flags)

    def _find_places(self) -> tuple[DeviceArray, int]:
        """Queue counting the flags before each tile."""
        tiles = self._tiles, self._n_tiles
        self._launch("count_flags", self._flags, self._rows.size, *tiles)
        self._team.launch(SAMPLING, "add_up_tiles", 1, *tiles)
        return tiles

    def _split(self, n_drawn: int, groups: Groups | None = None) -> tuple[DeviceArray, DeviceArray]:
        """Return the flagged rows and the others; with groups, some have the highest key."""
        goal, below = (groups.goal, groups.below) if groups else (0, 0)
        rows, left_out = self._borrow_rows(n_drawn)
        self._write_rows(self._find_places(), (goal, below, 0, 0, 1.0), rows, 0, left_out)
        return rows, left_out

    def _write_rows(self, places: Any, rule: Any, rows: Any, factor: Any, left_out: Any) -> None:
        """Queue separating the flagged rows from the others."""
        known = self._flags, self._rows, self._rows.size, *places
        self._launch("split_rows", *known, *rule, rows, factor, left_out)

    # --- memory ---

    def _borrow_rows(self, n_drawn: int) -> tuple[DeviceArray, DeviceArray]:
        """Return arrays for the drawn rows and the others."""
        borrow, n_others = self._team.borrow, self._rows.size - n_drawn
        return borrow("drawn rows", n_drawn, np.uint32), borrow("others", n_others, np.uint32)

    def _borrow_weighted(self, n_drawn: int) -> tuple[DeviceArray, DeviceArray, DeviceArray]:
        """Return arrays for the drawn rows, their factors, and the others."""
        rows, left_out = self._borrow_rows(n_drawn)
        return rows, self._team.borrow("factors of drawn rows", n_drawn, np.float64), left_out

    def _get_keys(self) -> DeviceArray:
        return self._team.borrow("keys of rows", self._rows.size, np.uint64)

    def _get_selector(self, n_groups: int) -> Selector:
        if n_groups not in self._selectors:
            self._selectors[n_groups] = Selector(self._team, n_groups)
        return self._selectors[n_groups]

    def _get_groups(self, n_drawn: int) -> Groups:
        """Return one group of all keys, of which ``n_drawn`` are drawn."""
        if n_drawn not in self._groups:
            sizes = np.array([self._rows.size]), np.array([n_drawn])
            self._groups[n_drawn] = Groups.upload(self._team, *sizes)
        return self._groups[n_drawn]

    def _launch(self, name: str, *args: object) -> None:
        self._team.launch(SAMPLING, name, self._rows.size, *args)


def spread_factors(
    team: DeviceTeam,
    by_stratum: DeviceArray,
    of_row: DeviceArray,
    rows: DeviceArray,
    out: DeviceArray,
) -> None:
    """Queue writing the factors of rows, those of their strata."""
    numbers = by_stratum, of_row, rows, rows.size
    team.launch(SAMPLING, "spread_factors", rows.size, *numbers, out)
