"""Features with one byte per row in a column of their own.

Tiles, their histograms, and splits between bins serve other storages, too: narrow categorical
features and bundles lie in tiles, and bundled features are scored as dense ones are.

A thread sums the tiles it owns over the rows of all threads. Tiles that do not divide evenly are
shared: each thread sums its own rows aside, then the sums are merged. It scores the features it
owns.
"""

import numpy as np

from sumwise.kernels.grow.candidates import (
    add_gain,
    count_rows,
    feature_bins,
    is_owned,
    note_candidate,
    sum_side,
)
from sumwise.kernels.grow.gain import (
    best_packed_split,
    best_split,
    fill_gains,
    fill_packed_gains,
    find_limits,
    split_gain,
)
from sumwise.kernels.grow.histogram import add_rows, finish_rows, tile_features
from sumwise.kernels.grow.layout import CHILD, N_STATS, TREE, YET_TO_SCORE
from sumwise.kernels.grow.missing import follows_larger
from sumwise.kernels.grow.partition import (
    is_left_code,
    left_range,
    name_records,
    own_records,
    partition_records,
)
from sumwise.kernels.grow.split import best_candidate
from sumwise.kernels.runtime.jit import NONE, ZERO, inlined, routine, verb
from sumwise.kernels.runtime.random import RANDOM_SPLITS, choose_between, extend_key
from sumwise.kernels.runtime.threads import prefetch_near
from sumwise.kernels.table.layout import BUNDLED, DENSE

# Histograms


@verb
def build_histogram(job, node, which):
    """Sum a node's rows: whole tiles into its slot, the thread's part of shared ones aside."""
    work, table, thread = job.work, job.table, job.thread
    records = work.records[job.nodes[node].depth & 1]
    for tile in range(table.tile_start.size):
        used = False
        for f in tile_features(table, tile):
            used |= work.allowed[TREE, f] != 0
        owner = work.tile_owner[tile]
        if not used or (owner >= 0 and owner != thread):
            continue
        # One loop for both kinds of tiles, so that the summing code is compiled only once.
        whole = owner == thread
        slot = job.nodes[node].slot if whole else which * job.n_threads + thread
        histogram = work.histograms[slot] if whole else work.partial[slot]
        words = work.packed[thread]
        state = (0, True)
        for t in range(job.n_threads):
            if whole or t == thread:
                part = records[work.first[t, node] : work.last[t, node]]
                state = add_rows(job.payload, job.exact, table, tile, part, state, words, histogram)
        finish_rows(job.exact, table, tile, job.nodes[node].packed, words, histogram)
    return ZERO


@verb
def merge_parts(job, node, which):
    """Add up the shared tiles that the threads have set aside."""
    work, table = job.work, job.table
    histogram = work.histograms[job.nodes[node].slot]
    n_stats = 1 if job.nodes[node].packed else N_STATS
    for tile in range(table.tile_start.size):
        if work.tile_owner[tile] >= 0:
            continue
        for f in tile_features(table, tile):
            if is_owned(job, f):
                first = N_STATS * table.bin_start[f]
                last = first + n_stats * (table.n_value_bins[f] + 1)
                for i in range(first, last):
                    histogram[i] = 0
                for t in range(job.n_threads):
                    part = work.partial[which * job.n_threads + t]
                    for i in range(first, last):
                        histogram[i] += part[i]
    return ZERO


# Scores


@inlined
def _is_ours(job, child, f):
    """Whether the thread is to score a feature as a dense one."""
    kind = job.table.storage[f]
    is_yet = job.work.allowed[CHILD + child, f] == YET_TO_SCORE
    return is_yet and is_owned(job, f) and (kind == DENSE or kind == BUNDLED)


@inlined
def _count_candidates(job, f, both_ways):
    """Splits of a feature; with missing rows, all values against the missing ones is one, too."""
    return job.table.n_value_bins[f] - (0 if both_ways else 1)


@inlined
def _draw_split(job, f, first, last):
    """Draw the bin that a feature may be split after in nodes [first, last), 0 if there is none.

    Any split between their lowest and highest bin is as likely; where some of their rows are
    missing, which is returned as well, so is one of all values against these.
    """
    n_value_bins, lowest, highest, n_missing = job.table.n_value_bins[f], ZERO, ZERO, ZERO
    for node in range(first, last):
        if job.nodes[node].slot >= 0:
            n_missing += count_rows(job, node, f, ZERO)
            for b in range(1, n_value_bins + 1):
                if count_rows(job, node, f, b) > 0:
                    lowest = b if lowest == 0 else min(lowest, b)
                    highest = max(highest, b)
    n = highest - lowest + (1 if n_missing > 0 and highest > 0 else 0)
    if n == 0:
        return ZERO, False
    key = extend_key(extend_key(job.key, RANDOM_SPLITS), first)
    drawn = choose_between(key, f, lowest, n)
    return n_value_bins if drawn == highest else drawn, n_missing > 0


@routine
def _score_random(job, child, f, first, last):
    """Score a random split of a feature for nodes [first, last) together."""
    work, nodes = job.work, job.nodes
    split_bin, both_ways = _draw_split(job, f, first, last)
    order = NONE if split_bin == job.table.n_value_bins[f] else f
    left, best, missing_left = work.prefix[job.thread, 0], -np.inf, False
    for side in (False, True):
        total = -np.inf
        for node in range(first, last):
            if split_bin > 0 and nodes[node].slot >= 0 and (both_ways or not side):
                sum_side(job, node, f, split_bin, side, left)
                gain = split_gain(find_limits(job, node, order), left, work.totals[node])
                total = add_gain(gain, total)
        if total > best:
            best, missing_left = total, side
    note_candidate(job, child, f, (best, split_bin, missing_left))


@verb
def score_node(job, node, child):
    """Find the best split of each of the thread's features for a node."""
    work, totals = job.work, job.work.totals[node]
    prefix, gains = work.prefix[job.thread], work.gains[job.thread]
    for f in range(job.table.n_value_bins.size):
        if not _is_ours(job, child, f):
            continue
        if job.options.random_splits:
            _score_random(job, child, f, node, node + 1)
            continue
        bins = feature_bins(job, node, f)
        both_ways = count_rows(job, node, f, ZERO) > 0
        n = _count_candidates(job, f, both_ways)
        limits = find_limits(job, node, f)
        if job.nodes[node].packed:
            found = best_packed_split(limits, bins, n, both_ways, totals, prefix, gains)
        else:
            found = best_split(limits, bins, n, both_ways, totals, prefix, gains)
        note_candidate(job, child, f, found)
    return ZERO


@routine
def _fetch_bins(job, node, f):
    """Ask for the words of a packed histogram, which is in the slot of another node's.

    The hardware notices a run of lines only after some of it.
    """
    bins = feature_bins(job, node, f)
    for i in range(0, job.table.n_value_bins[f] + 1, 8):
        prefetch_near(bins, i)


@routine
def _add_gains(gains, sums, n):
    """Add a node's gains to those of its level."""
    for i in range(n):
        sums[i] = add_gain(gains[i], sums[i])


@verb
def score_level(job, first, last):
    """Find the best split of each of the thread's features for nodes [first, last) together.

    A split's gain is the sum over the nodes, in their order; a node where a child would be too
    small adds nothing.
    """
    work, nodes = job.work, job.nodes
    prefix, gains = work.prefix[job.thread], work.gains[job.thread]
    right, left, sum_right, sum_left = gains[0], gains[1], gains[2], gains[3]
    for f in range(job.table.n_value_bins.size):
        if not _is_ours(job, ZERO, f):
            continue
        if job.options.random_splits:
            _score_random(job, ZERO, f, first, last)
            continue
        both_ways = False
        for node in range(first, last):
            if nodes[node].slot >= 0:
                both_ways |= count_rows(job, node, f, ZERO) > 0
        n = _count_candidates(job, f, both_ways)
        for i in range(n):
            sum_right[i] = sum_left[i] = -np.inf
        for node in range(first, last):
            if nodes[node].slot >= 0:
                bins, totals = feature_bins(job, node, f), work.totals[node]
                if node + 1 < last and nodes[node + 1].slot >= 0:
                    _fetch_bins(job, node + 1, f)
                limits = find_limits(job, node, f)
                start, n_found = ZERO, n
                if nodes[node].packed:
                    start, n_found = fill_packed_gains(
                        limits, bins, n, both_ways, totals, prefix, gains
                    )
                else:
                    fill_gains(limits, bins, n, both_ways, totals, prefix, right, left)
                _add_gains(right, sum_right[start:], n_found)
                if both_ways:
                    _add_gains(left, sum_left, n)
        note_candidate(job, ZERO, f, best_candidate(n, both_ways, sum_right, sum_left))
    return ZERO


# The chosen split


@verb
def take_side(job, node, child, f):
    """Note what a node's best split sends left; return whether missing goes left."""
    best, left = job.work.candidates[child, f], job.work.left_totals[node]
    missing_left = best.missing_left != 0
    sum_side(job, node, f, best.split_bin, missing_left, left)
    if count_rows(job, node, f, ZERO) == 0:
        missing_left = follows_larger(left[2], job.work.totals[node, 2])
    return np.int64(missing_left)


@verb
def take_level_side(job, node, f):
    """Note what the split of its level sends left in a node; return how many rows are missing."""
    best, left = job.work.candidates[0, f], job.work.left_totals[node]
    sum_side(job, node, f, best.split_bin, best.missing_left != 0, left)
    return count_rows(job, node, f, ZERO)


@verb
def take_level_gain(job, node, f):
    """Note the gain that its level's split has in a node; return whether it is allowed there."""
    work, gain = job.work, -np.inf
    if job.nodes[node].slot >= 0:
        is_missing_alone = work.candidates[0, f].split_bin == job.table.n_value_bins[f]
        limits = find_limits(job, node, NONE if is_missing_alone else f)
        gain = split_gain(limits, work.left_totals[node], work.totals[node])
    job.nodes[node].gain = gain
    return np.int64(gain > -np.inf)


@verb
def move_records(job, node):
    """Move the thread's records of a node to its children; return where the right one begins."""
    work, thread, own = job.work, job.thread, job.nodes[node]
    source, target = work.records[own.depth & 1], work.records[(own.depth + 1) & 1]
    first, last = work.first[thread, node], work.last[thread, node]
    skip, bound = left_range(own.split_bin, own.missing_left)
    column = job.table.columns[own.feature]
    return partition_records(source, target, first, last, column, skip, bound)


@verb
def name_leaves(job, node):
    """Write the leaf of each of the thread's rows of a node; return how many go right."""
    own, left = job.nodes[node], np.int64(job.nodes[node].left)
    skip, bound = left_range(own.split_bin, own.missing_left)
    column = job.table.columns[own.feature]
    return name_records(own_records(job, node), column, skip, bound, left, job.work.leaf)


@inlined
def goes_left(table, tree, node, row):
    """Whether a row of the table goes left in a node of a finished tree."""
    skip, bound = left_range(tree.split_bin[node], tree.missing_left[node])
    return is_left_code(table.columns[tree.feature[node], row], skip, bound)
