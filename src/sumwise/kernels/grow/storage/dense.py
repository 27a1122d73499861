"""Features with one byte per row in a column of their own.

Tiles, their histograms, and splits between bins serve other storages, too: narrow categorical
features and bundles lie in tiles, and bundled features are scored as dense ones are.

A tile is summed by one task, over the rows of a node or of a part of it; then the parts are merged.
"""

import numpy as np

from sumwise.kernels.grow.candidates import (
    add_gain,
    count_rows,
    feature_bins,
    is_drawn,
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
from sumwise.kernels.grow.layout import CHILD, N_STATS, PACKED_ROWS, YET_TO_SCORE
from sumwise.kernels.grow.missing import follows_larger
from sumwise.kernels.grow.packed import unpack_sums
from sumwise.kernels.grow.partition import (
    child_records,
    count_span,
    is_left_code,
    left_range,
    move_span,
    name_records,
    node_records,
)
from sumwise.kernels.grow.plan import FIRST, LAST, N_TILED, SUM_PLACE, SUMMED
from sumwise.kernels.grow.split import best_candidate
from sumwise.kernels.runtime.jit import NONE, ZERO, inlined, routine, verb
from sumwise.kernels.runtime.random import RANDOM_SPLITS, choose_between, extend_key
from sumwise.kernels.runtime.threads import prefetch_near
from sumwise.kernels.table.layout import BUNDLED, DENSE

# Histograms


@verb
def build_histogram(job, item, tile):
    """Sum the rows of an item: into the node's histogram, or aside."""
    work, table, own = job.work, job.table, job.work.plan.items[item]
    node, first, last, place = own[SUMMED], own[FIRST], own[LAST], own[SUM_PLACE]
    used = False
    for f in tile_features(table, tile):
        used |= is_drawn(job, f)
    if used:
        records, words = node_records(job, node)[first:last], work.packed[job.thread]
        histogram = work.histograms[job.nodes[node].slot] if place < 0 else work.partial[place]
        packed = _is_packed(job, item)
        add_rows(job.payload, job.exact, table, tile, records, (0, True), words, histogram)
        finish_rows(job.exact, table, tile, packed, words, histogram)
    return ZERO


@inlined
def _is_packed(job, item):
    """Whether the sums of an item are packed words: small parts of large nodes are, too."""
    own = job.work.plan.items[item]
    is_small = own[SUM_PLACE] >= 0 and own[LAST] - own[FIRST] <= PACKED_ROWS
    return job.nodes[own[SUMMED]].packed != 0 or (is_small and not job.exact)


@routine
def _add_part(part, n_bins, part_packed, node_packed, target):
    """Add the sums of a part to those of a node."""
    if part_packed and not node_packed:
        gradient, hessian = target[:n_bins], target[n_bins : 2 * n_bins]
        count = target[2 * n_bins :]
        for b in range(n_bins):
            g, h, n = unpack_sums(part[b])
            gradient[b] += g
            hessian[b] += h
            count[b] += n
    else:
        for i in range(target.size):
            target[i] += part[i]


@verb
def merge_parts(job, item, end, begin, last):
    """Add up what was summed aside."""
    work, table, plan = job.work, job.table, job.work.plan
    if plan.items[item, SUM_PLACE] < 0:
        return ZERO
    node = plan.items[item, SUMMED]
    histogram, node_packed = work.histograms[job.nodes[node].slot], job.nodes[node].packed != 0
    n_stats = 1 if node_packed else N_STATS
    for position in range(begin, min(last, plan.rules[N_TILED])):
        f = plan.features[position]
        if is_drawn(job, f):
            start, n_bins = N_STATS * table.bin_start[f], table.n_value_bins[f] + 1
            target = histogram[start : start + n_stats * n_bins]
            target[:] = 0
            for own in range(item, end):
                part = work.partial[plan.items[own, SUM_PLACE]][start : start + target.size]
                _add_part(part, n_bins, _is_packed(job, own), node_packed, target)
    return ZERO


# Scores


@inlined
def _is_ours(job, child, f):
    """Whether a feature is to be scored as a dense one."""
    kind = job.table.storage[f]
    is_yet = job.work.allowed[CHILD + child, f] == YET_TO_SCORE
    return is_yet and is_drawn(job, f) and (kind == DENSE or kind == BUNDLED)


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
        if job.nodes[node].splittable:
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
            if split_bin > 0 and nodes[node].splittable and (both_ways or not side):
                sum_side(job, node, f, split_bin, side, left)
                gain = split_gain(find_limits(job, node, order), left, work.totals[node])
                total = add_gain(gain, total)
        if total > best:
            best, missing_left = total, side
    note_candidate(job, child, f, (best, split_bin, missing_left))


@verb
def score_node(job, node, child, begin, end):
    """Find the best split of each of some features for a node."""
    work, totals = job.work, job.work.totals[node]
    prefix, gains = work.prefix[job.thread], work.gains[job.thread]
    for position in range(begin, end):
        f = work.plan.features[position]
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
def score_level(job, first, last, begin, end):
    """Find the best split of each of some features for nodes [first, last) together.

    A split's gain is the sum over the nodes, in their order; a node where a child would be too
    small adds nothing.
    """
    work, nodes = job.work, job.nodes
    prefix, gains = work.prefix[job.thread], work.gains[job.thread]
    right, left, sum_right, sum_left = gains[0], gains[1], gains[2], gains[3]
    for position in range(begin, end):
        f = work.plan.features[position]
        if not _is_ours(job, ZERO, f):
            continue
        if job.options.random_splits:
            _score_random(job, ZERO, f, first, last)
            continue
        both_ways = False
        for node in range(first, last):
            if nodes[node].splittable:
                both_ways |= count_rows(job, node, f, ZERO) > 0
        n = _count_candidates(job, f, both_ways)
        for i in range(n):
            sum_right[i] = sum_left[i] = -np.inf
        for node in range(first, last):
            if nodes[node].splittable:
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


@inlined
def _find_split(job, node):
    """Return the column that a node is split on, and (skip, bound) of the bins that go left."""
    own = job.nodes[node]
    skip, bound = left_range(own.split_bin, own.missing_left)
    return job.table.columns[own.feature], skip, bound


@verb
def count_left(job, node, first, last):
    """Return how many of the records [first, last) of a node go left."""
    return count_span(node_records(job, node)[first:last], *_find_split(job, node))


@verb
def move_records(job, node, first, last, left, right, step):
    """Move a span of a node's records to its children; return where the next would go left."""
    span = (first, last, left, right, step)
    places = (node_records(job, node), child_records(job, node), span)
    return move_span(*places, *_find_split(job, node))


@verb
def name_leaves(job, node, first, last):
    """Write the leaf of each row of a node's records [first, last); return how many go right."""
    left = np.int64(job.nodes[node].left)
    records = node_records(job, node)[first:last]
    return name_records(records, *_find_split(job, node), left, job.work.leaf)


@inlined
def goes_left(table, tree, node, row):
    """Whether a row of the table goes left in a node of a finished tree."""
    skip, bound = left_range(tree.split_bin[node], tree.missing_left[node])
    return is_left_code(table.columns[tree.feature[node], row], skip, bound)
