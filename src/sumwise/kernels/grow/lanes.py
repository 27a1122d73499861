"""Recover the sums of features exactly from those of the lanes they share; see table/layout.py."""

import numpy as np

from sumwise.kernels.runtime.jit import routine


@routine
def fold_lane(table, lane, sums, stat, fresh, histogram):
    """Add sums by code to those of each feature of a lane, or begin them if fresh."""
    lanes = table.lanes
    total = np.int64(0)
    for code in range(lanes.n_codes[lane]):
        total += sums[code]
    for m in range(lanes.first[lane], lanes.first[lane + 1]):
        f = lanes.members[m]
        n_bins = table.n_value_bins[f] + 1
        start = 3 * table.bin_start[f] + stat * n_bins
        target = histogram[start : start + n_bins]
        if fresh:
            target[:] = 0
        rest = total
        for e in range(lanes.first_entry[m], lanes.first_entry[m + 1]):
            part = sums[np.uint64(lanes.entry_code[e])]
            target[np.uint64(lanes.entry_bin[e])] += part
            rest -= part
        target[np.uint64(lanes.default_bin[m])] += rest
