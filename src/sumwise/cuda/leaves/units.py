"""Weights as integers, as ``weigh_in_units`` of ``kernels.leaves.location`` makes them."""

import numpy as np

from sumwise.cuda.leaves.layout import LEAVES
from sumwise.cuda.runtime.arrays import DeviceArray
from sumwise.cuda.runtime.team import DeviceTeam


def weigh_in_units(
    team: DeviceTeam,
    rows: DeviceArray,
    weight: DeviceArray,
    factor: DeviceArray,
    units: DeviceArray,
    packed: bool = False,
) -> None:
    """Queue writing the weights of rows as integers, to their places in a table.

    ``weight`` is that of all rows of the table, ``factor`` that of ``rows``; both may be empty.
    If ``packed``, ``units`` has an item per item of ``rows``.
    """
    peak = team.borrow("largest weight", 1, np.uint64)
    team.device.clear(peak)
    known = rows, rows.size, weight if weight.size else 0, factor if factor.size else 0, peak
    team.launch(LEAVES, "find_largest_weight", rows.size, *known)
    team.launch(LEAVES, "weigh_rows", rows.size, *known, packed, units)
