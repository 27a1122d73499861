"""Choose among the splits of a feature, whatever the histograms count."""

import numpy as np

from sumwise.kernels.runtime.jit import routine


@routine
def _ordered(bits):
    """Turn the bits of a float into an integer that is ordered as the floats are."""
    return bits ^ ((bits >> 63) & 0x7FFFFFFFFFFFFFFF)


@routine
def best_candidate(n_candidates, both_ways, right, left):
    """Return (gain, bin, missing goes left): the highest gain, then the lowest bin, then right.

    A maximum of floats does not vectorize, because of nan; one of integers does.
    """
    right_bits, left_bits = right.view(np.int64), left.view(np.int64)
    nothing = _ordered(np.float64(-np.inf).view(np.int64))
    best = nothing
    for i in range(n_candidates):
        best = max(best, _ordered(right_bits[i]))
    if both_ways:
        for i in range(n_candidates):
            best = max(best, _ordered(left_bits[i]))
    if best > nothing:
        for i in range(n_candidates):
            if _ordered(right_bits[i]) == best:
                return right[i], i + 1, False
            if both_ways and _ordered(left_bits[i]) == best:
                return left[i], i + 1, True
    return -np.inf, 0, False


@routine
def sum_left(bins, n_stats, split_bin, missing_left, left):
    """Write the totals of the rows that a split sends left."""
    n_bins = bins.size // n_stats
    for s in range(n_stats):
        place = s * n_bins
        left[s] = bins[place] if missing_left else 0
        for b in range(1, split_bin + 1):
            left[s] += bins[place + b]
