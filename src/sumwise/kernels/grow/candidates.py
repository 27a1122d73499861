"""The best split of each feature, and sums read off histograms."""

import numpy as np

from sumwise.kernels.grow.layout import COUNT, N_STATS, TREE
from sumwise.kernels.grow.packed import sum_left_packed, unpack_sums
from sumwise.kernels.grow.split import sum_left
from sumwise.kernels.runtime.jit import inlined, routine


@inlined
def is_drawn(job, f):
    """Whether the tree may be split on a feature."""
    return job.work.allowed[TREE, f] != 0


@inlined
def feature_bins(job, node, f):
    """A feature's part of a node's histogram."""
    start = job.table.bin_start
    first, last = N_STATS * start[f], N_STATS * start[f + 1]
    return job.work.histograms[job.nodes[node].slot, first:last]


@inlined
def count_rows(job, node, f, b):
    """The rows of a node in a bin."""
    bins = feature_bins(job, node, f)
    if job.nodes[node].packed:
        return unpack_sums(bins[b])[2]
    return bins[bins.size // N_STATS * COUNT + b]


@routine
def sum_side(job, node, f, split_bin, missing_left, left):
    """Write the totals of the rows that a split of a node sends left."""
    bins = feature_bins(job, node, f)
    if job.nodes[node].packed:
        sum_left_packed(bins, split_bin, missing_left, left)
    else:
        sum_left(bins, N_STATS, split_bin, missing_left, left)


@inlined
def note_candidate(job, child, f, found):
    """Keep the best split of a feature: its gain, its bin, and whether missing goes left."""
    best = job.work.candidates[child, f]
    best.gain, best.split_bin, best.missing_left = found


@inlined
def add_gain(gain, total):
    """Add the gain of a node to that of its level; -inf (a child would be too small) adds nothing.

    The total is -inf as long as no node has added anything.
    """
    if gain > -np.inf:
        return gain + (total if total > -np.inf else 0.0)
    return total
