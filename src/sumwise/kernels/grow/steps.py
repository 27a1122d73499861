"""The steps of growing that all threads take together, each doing its part.

A thread partitions its own rows. It sums the tiles it owns over the rows of all threads; tiles
that do not divide evenly are shared: each thread sums its own rows aside, then the sums are
merged. It scores the features it owns.
"""

import numpy as np

from sumwise.kernels.grow.constraints import best_packed_split, best_split, fill_gains, split_gain
from sumwise.kernels.grow.gradients import add_rows, finish_rows
from sumwise.kernels.grow.histogram import tile_features
from sumwise.kernels.grow.layout import CHILD, NO, SCORED, TREE, YET_TO_SCORE, ZERO
from sumwise.kernels.grow.packed import subtract_packed, sum_left_packed, unpack_sums
from sumwise.kernels.grow.partition import left_range, partition_records
from sumwise.kernels.grow.split import best_candidate, sum_left
from sumwise.kernels.grow.storage.bundled import (
    build_entries,
    drop_hopeless,
    merge_entries,
    move_bundled_records,
)
from sumwise.kernels.grow.storage.categories import by_job, is_categorical
from sumwise.kernels.grow.storage.category_splits import (
    build_wide,
    gain_of_set,
    keep_set,
    partition_by_set,
    score_sets,
    sum_best_set,
    sum_level_set,
)
from sumwise.kernels.grow.storage.exact_splits import (
    fill_lists,
    move_by_rank,
    note_children_lists,
    note_sides,
    part_lists,
    score_level_lists,
    score_lists,
    sum_ranked_level_side,
    take_ranked_side,
)
from sumwise.kernels.grow.storage.presorted import is_ranked
from sumwise.kernels.runtime.jit import inlined, routine
from sumwise.kernels.runtime.random import RANDOM_SPLITS, choose_between, extend_key


@inlined
def feature_bins(job, node, f):
    """A feature's part of a node's histogram."""
    start = job.table.bin_start
    first, last = job.n_stats * start[f], job.n_stats * start[f + 1]
    return job.work.histograms[job.nodes[node].slot, first:last]


@inlined
def count_missing(job, node, f):
    """The rows in bin 0 of a node; the row count is the last statistic."""
    bins = feature_bins(job, node, f)
    if job.nodes[node].packed:
        return unpack_sums(bins[0])[2]
    return bins[bins.size // job.n_stats * (job.n_stats - 1)]


@routine
def sum_side(job, node, f, split_bin, missing_left, left):
    """Write the totals of the rows that a split of a node sends left."""
    bins = feature_bins(job, node, f)
    if job.nodes[node].packed:
        sum_left_packed(bins, split_bin, missing_left, left)
    else:
        sum_left(bins, job.n_stats, split_bin, missing_left, left)


@routine
def _take_side(job, node, child, f, left):
    """Write the totals of what a node's best split sends left; return where missing goes."""
    best = job.work.candidates[child, f]
    missing_left = best.missing_left != 0
    sum_side(job, node, f, best.split_bin, missing_left, left)
    if count_missing(job, node, f) == 0:  # none missing here: they go with the larger child
        missing_left = 2 * left[job.n_stats - 1] >= job.work.totals[node, job.n_stats - 1]
    return missing_left


@routine
def _take_side_or_set(job, node, child, f, left):
    if not is_categorical(job.table.categories, f):
        return _take_side(job, node, child, f, left)
    sum_best_set(job.table.categories, job, child, f, left)
    keep_set(job.table.categories, job, node, child, f)
    return job.work.candidates[child, f].missing_left != 0


_take_binned_side = by_job(_take_side, _take_side_or_set)


@routine
def _take_exact_side(job, node, child, f, left):
    if is_ranked(job.table.presorted, f):
        return take_ranked_side(job, node, child, f, left)
    return _take_binned_side(job, node, child, f, left)


take_side = by_job(_take_side, _take_side_or_set, None, _take_exact_side)


@inlined
def is_owned(job, f):
    """Whether this thread sums up and scores a feature of the tree."""
    return job.work.feature_owner[f] == job.thread and job.work.allowed[TREE, f] != 0


@routine
def _move_records(job, node):
    """Copy the thread's records of a node to where its children will find them."""
    work, thread, depth = job.work, job.thread, job.nodes[node].depth
    skip, bound = left_range(job.nodes[node].split_bin, job.nodes[node].missing_left)
    return partition_records(
        work.records[depth & 1],
        work.records[(depth + 1) & 1],
        work.first[thread, node],
        work.last[thread, node],
        job.table.columns[job.nodes[node].feature],
        skip,
        bound,
    )


@routine
def _move_records_by_either(job, node):
    if is_categorical(job.table.categories, job.nodes[node].feature):
        return partition_by_set(job.table.categories, job, node)
    return _move_records(job, node)


_move_binned_records = by_job(_move_records, _move_records_by_either)


@routine
def _move_exact_records(job, node):
    if job.thread == 0:
        note_children_lists(job, node)
    if is_ranked(job.table.presorted, job.nodes[node].feature):
        return move_by_rank(job, node)
    middle = _move_binned_records(job, node)
    note_sides(job, node, middle)
    return middle


move_records = by_job(
    _move_records, _move_records_by_either, move_bundled_records, _move_exact_records
)


@inlined
def partition_node(job, node):
    """Move the thread's records of a node to its children."""
    work, thread, left = job.work, job.thread, job.nodes[node].left
    first, last = work.first[thread, node], work.last[thread, node]
    middle = move_records(job, node)
    work.first[thread, left], work.last[thread, left] = first, middle
    work.first[thread, left + 1], work.last[thread, left + 1] = middle, last


@inlined
def leave_records(job, node):
    """Leave the records of a node where they are, because its children will not be split.

    Their leaves will be told from the node's; see values.py.
    """
    left, thread = job.nodes[node].left, job.thread
    for child in range(left, left + 2):
        job.work.first[thread, child] = job.work.last[thread, child] = 0


@routine
def _build_tiles(job, node, which):
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
        packed = job.nodes[node].packed
        finish_rows(job.payload, job.exact, table, tile, packed, words, histogram)


@routine
def _build_tiles_and_wide(job, node, which):
    _build_tiles(job, node, which)
    build_wide(job.table.categories, job, node)


@routine
def _build_tiles_and_entries(job, node, which):
    _build_tiles(job, node, which)
    build_entries(job, node, which)


_build_binned = by_job(_build_tiles, _build_tiles_and_wide)


@routine
def _build_tiles_and_lists(job, node, which):
    """Lists of a node's children are parted together, when the first is asked for."""
    if node == 0:
        fill_lists(job)
    elif which == 0:
        part_lists(job, node)
    _build_binned(job, node, which)


build_histogram = by_job(
    _build_tiles, _build_tiles_and_wide, _build_tiles_and_entries, _build_tiles_and_lists
)


@routine
def _merge_tiles(job, node, which):
    """Add up the shared tiles that the threads have set aside."""
    work, table = job.work, job.table
    histogram = work.histograms[job.nodes[node].slot]
    n_stats = 1 if job.nodes[node].packed else job.n_stats
    for tile in range(table.tile_start.size):
        if work.tile_owner[tile] >= 0:
            continue
        for f in tile_features(table, tile):
            if is_owned(job, f):
                first = job.n_stats * table.bin_start[f]
                last = first + n_stats * (table.n_value_bins[f] + 1)
                for i in range(first, last):
                    histogram[i] = 0
                for t in range(job.n_threads):
                    part = work.partial[which * job.n_threads + t]
                    for i in range(first, last):
                        histogram[i] += part[i]


@routine
def _merge_tiles_and_entries(job, node, which):
    _merge_tiles(job, node, which)
    merge_entries(job, node, which)


merge_parts = by_job(_merge_tiles, _merge_tiles, _merge_tiles_and_entries)


@routine
def subtract_histogram(job, small, large, parent_packed):
    """The larger child's histogram is its parent's, in whose slot it lies, less its sibling's."""
    for f in range(job.table.n_value_bins.size):
        if is_owned(job, f):
            small_bins, large_bins = feature_bins(job, small, f), feature_bins(job, large, f)
            if job.nodes[small].packed and not parent_packed:
                subtract_packed(large_bins, small_bins, job.nodes[large].packed)
            else:
                n = job.table.n_value_bins[f] + 1 if parent_packed else small_bins.size
                for i in range(n):
                    large_bins[i] -= small_bins[i]


@routine
def _add_gains(gains, sums, n):
    """Add a node's gains; -inf (a child would be too small) adds nothing."""
    for i in range(n):
        before = sums[i] if sums[i] > -np.inf else 0.0
        sums[i] = before + gains[i] if gains[i] > -np.inf else sums[i]


@inlined
def _count_candidates(job, f, both_ways):
    """Splits a feature has; with missing rows, all values against the missing is one, too."""
    return job.table.n_value_bins[f] - (0 if both_ways else 1)


@inlined
def _note_candidate(job, child, f, found):
    """Keep the best split of a feature."""
    gain, split_bin, missing_left = found
    job.work.candidates[child, f].gain = gain
    job.work.candidates[child, f].split_bin = split_bin
    job.work.candidates[child, f].missing_left = missing_left


@inlined
def _count_rows(job, node, f, b):
    """The rows of a node in a bin."""
    bins = feature_bins(job, node, f)
    if job.nodes[node].packed:
        return unpack_sums(bins[b])[2]
    return bins[bins.size // job.n_stats * (job.n_stats - 1) + b]


@inlined
def _draw_split(job, f, first, last):
    """Draw the bin that a feature may be split after in nodes [first, last), 0 if there is none.

    Any split between their lowest and highest bin is as likely; where some of their rows are
    missing, which is returned as well, so is one of all values against these.
    """
    n_value_bins, lowest, highest, n_missing = job.table.n_value_bins[f], ZERO, ZERO, ZERO
    for node in range(first, last):
        if job.nodes[node].slot >= 0:
            n_missing += count_missing(job, node, f)
            for b in range(1, n_value_bins + 1):
                if _count_rows(job, node, f, b) > 0:
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
    work, nodes, min_rows = job.work, job.nodes, job.options.min_samples_leaf
    split_bin, both_ways = _draw_split(job, f, first, last)
    left, best, goes_left = work.prefix[job.thread, 0], -np.inf, False
    for missing_left in (False, True):
        total = -np.inf
        for node in range(first, last):
            if split_bin > 0 and nodes[node].slot >= 0 and (both_ways or not missing_left):
                sum_side(job, node, f, split_bin, missing_left, left)
                place = (node, f, split_bin == job.table.n_value_bins[f])
                totals = work.totals[node]
                gain = split_gain(job.constraints, job.payload, place, left, totals, min_rows)
                if gain > -np.inf:
                    total = gain + (total if total > -np.inf else 0.0)
        if total > best:
            best, goes_left = total, missing_left
    _note_candidate(job, child, f, (best, split_bin, goes_left))


@routine
def _score_numbers(job, node, child):
    """Find the best split of each of the thread's numeric features for a node."""
    work, totals = job.work, job.work.totals[node]
    prefix, gains = work.prefix[job.thread], work.gains[job.thread]
    min_rows = job.options.min_samples_leaf
    for f in range(job.table.n_value_bins.size):
        if is_owned(job, f) and work.allowed[CHILD + child, f] == YET_TO_SCORE:
            if is_categorical(job.table.categories, f):
                continue
            if job.options.random_splits:
                _score_random(job, child, f, node, node + 1)
                continue
            bins = feature_bins(job, node, f)
            both_ways = count_missing(job, node, f) > 0
            n = _count_candidates(job, f, both_ways)
            rules = job.constraints
            place, split = (node, f, NO), (bins, n, both_ways, totals, min_rows, prefix, gains)
            if job.nodes[node].packed:
                found = best_packed_split(rules, job.payload, place, *split)
            else:
                found = best_split(rules, job.payload, place, *split)
            _note_candidate(job, child, f, found)


@routine
def _score_no_sets(job, node, child):
    pass


@routine
def _score_sets(job, node, child):
    for f in range(job.table.n_value_bins.size):
        if is_owned(job, f) and job.work.allowed[CHILD + child, f]:
            if is_categorical(job.table.categories, f):
                score_sets(job.table.categories, job, child, f, node, node + 1)


_score_any_sets = by_job(_score_no_sets, _score_sets)


@routine
def _score_features(job, node, child):
    _score_numbers(job, node, child)
    _score_sets(job, node, child)


@routine
def _score_pairs(job, node, child):
    """Score the thread's features with two bins of values: they have one split, and there are many.

    Those that are missing somewhere in the node are left to others.
    """
    work, table, payload, rules = job.work, job.table, job.payload, job.constraints
    totals, min_rows, packed = (
        work.totals[node],
        job.options.min_samples_leaf,
        job.nodes[node].packed,
    )
    for f in range(table.n_value_bins.size):
        if table.n_value_bins[f] == 2 and is_owned(job, f) and work.allowed[CHILD + child, f]:
            bins = feature_bins(job, node, f)
            if packed:
                n_missing = unpack_sums(bins[0])[2]
                left = unpack_sums(bins[1])
            else:
                n_missing = bins[6]
                left = (bins[1], bins[4], bins[7])
            if n_missing == 0:
                gain = split_gain(rules, payload, (node, f, NO), left, totals, min_rows)
                _note_candidate(job, child, f, (gain, np.int64(1), NO))
                work.allowed[CHILD + child, f] = SCORED


@routine
def _score_bundled(job, node, child):
    drop_hopeless(job, child, node, node + 1)
    _score_pairs(job, node, child)
    _score_numbers(job, node, child)


@routine
def _score_exactly(job, node, child):
    score_lists(job, node, child)
    _score_any_sets(job, node, child)


score_node = by_job(_score_numbers, _score_features, _score_bundled, _score_exactly)


@routine
def _score_level_numbers(job, first, last):
    """Find the best split of each of the thread's features for nodes [first, last) together.

    A split's gain is the sum over the nodes, in their order; a node where a child would be too
    small adds nothing.
    """
    work, nodes = job.work, job.nodes
    prefix, gains = work.prefix[job.thread], work.gains[job.thread]
    right, left, sum_right, sum_left = gains[0], gains[1], gains[2], gains[3]
    min_rows = job.options.min_samples_leaf
    for f in range(job.table.n_value_bins.size):
        if not is_owned(job, f) or not work.allowed[CHILD, f]:
            continue
        if is_categorical(job.table.categories, f):
            continue
        if job.options.random_splits:
            _score_random(job, ZERO, f, first, last)
            continue
        both_ways = False
        for node in range(first, last):
            if nodes[node].slot >= 0:
                both_ways |= count_missing(job, node, f) > 0
        n = _count_candidates(job, f, both_ways)
        for i in range(n):
            sum_right[i] = sum_left[i] = -np.inf
        for node in range(first, last):
            if nodes[node].slot >= 0:
                bins, totals = feature_bins(job, node, f), work.totals[node]
                split = (bins, n, both_ways, totals, min_rows, prefix, right, left)
                fill_gains(job.constraints, job.payload, (node, f, NO), *split)
                _add_gains(right, sum_right, n)
                if both_ways:
                    _add_gains(left, sum_left, n)
        _note_candidate(job, ZERO, f, best_candidate(n, both_ways, sum_right, sum_left))


@routine
def _score_no_level_sets(job, first, last):
    pass


@routine
def _score_level_sets(job, first, last):
    for f in range(job.table.n_value_bins.size):
        if is_owned(job, f) and job.work.allowed[CHILD, f]:
            if is_categorical(job.table.categories, f):
                score_sets(job.table.categories, job, ZERO, f, first, last)


_score_any_level_sets = by_job(_score_no_level_sets, _score_level_sets)


@routine
def _score_level_features(job, first, last):
    _score_level_numbers(job, first, last)
    _score_level_sets(job, first, last)


@routine
def _score_level_bundled(job, first, last):
    drop_hopeless(job, ZERO, first, last)
    _score_level_numbers(job, first, last)


@routine
def _score_level_exactly(job, first, last):
    score_level_lists(job, first, last)
    _score_any_level_sets(job, first, last)


score_level = by_job(
    _score_level_numbers, _score_level_features, _score_level_bundled, _score_level_exactly
)


@routine
def _level_side(job, node, f, left):
    """Write the totals of the rows of a node that its level's split sends left."""
    best = job.work.candidates[0, f]
    sum_side(job, node, f, best.split_bin, best.missing_left != 0, left)


@routine
def _level_side_or_set(job, node, f, left):
    if is_categorical(job.table.categories, f):
        sum_level_set(job.table.categories, job, node, f, left)
    else:
        _level_side(job, node, f, left)


_sum_binned_level_side = by_job(_level_side, _level_side_or_set)


@routine
def _exact_level_side(job, node, f, left):
    if is_ranked(job.table.presorted, f):
        sum_ranked_level_side(job, node, f, left)
    else:
        _sum_binned_level_side(job, node, f, left)


sum_level_side = by_job(_level_side, _level_side_or_set, None, _exact_level_side)


@routine
def _level_gain(job, node, f):
    """Return the gain that its level's split has in a node, -inf if a child is too small."""
    work = job.work
    if job.nodes[node].slot < 0:
        return -np.inf
    left, totals, min_rows = work.left_totals[node], work.totals[node], job.options.min_samples_leaf
    place = (node, f, work.candidates[0, f].split_bin == job.table.n_value_bins[f])
    return split_gain(job.constraints, job.payload, place, left, totals, min_rows)


@routine
def _level_gain_or_set(job, node, f):
    if not is_categorical(job.table.categories, f):
        return _level_gain(job, node, f)
    keep_set(job.table.categories, job, node, ZERO, f)
    if job.nodes[node].slot < 0:
        return -np.inf
    return gain_of_set(job.table.categories, job, node, f, job.work.left_totals[node])


find_level_gain = by_job(_level_gain, _level_gain_or_set)
