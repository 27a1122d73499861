"""Choose among the splits of a feature, whatever the histograms count."""

import numpy as np

from sumwise.kernels.jit import routine


@routine
def best_candidate(n_candidates, both_ways, right, left):
    """Return (gain, bin, missing goes left): the highest gain, then the lowest bin, then right."""
    best, best_bin, best_left = -np.inf, 0, False
    for i in range(n_candidates):
        if right[i] > best:
            best, best_bin, best_left = right[i], i + 1, False
        if both_ways and left[i] > best:
            best, best_bin, best_left = left[i], i + 1, True
    return best, best_bin, best_left


@routine
def sum_left(bins, n_stats, split_bin, missing_left, left):
    """Write the totals of the rows that a split sends left."""
    n_bins = bins.size // n_stats
    for s in range(n_stats):
        place = s * n_bins
        left[s] = bins[place] if missing_left else 0
        for b in range(1, split_bin + 1):
            left[s] += bins[place + b]
