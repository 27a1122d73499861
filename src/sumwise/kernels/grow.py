"""Grow one tree: one compiled call, the same for every growth policy and every payload.

All threads run :func:`grow_tree` together. Each owns a part of the rows, which it partitions, and
a part of the features, which it sums and scores; thread 0 alone decides. Between the steps they
meet at a barrier. What is summed is integers, so nothing depends on how the work was divided.
"""

import numpy as np

from sumwise.kernels.histogram import clear_tile
from sumwise.kernels.jit import kernel, routine, inlined
from sumwise.kernels.layout import (
    ABORTED,
    BUILD_BOTH,
    CHILD,
    DONE,
    GROWING,
    LEVEL,
    LEVEL_FIRST,
    LEVEL_SIZE,
    LEVEL_WISE,
    MODE,
    N_FREE,
    N_HEAP,
    N_LEAVES,
    N_NODES,
    NO_HISTOGRAMS,
    NODE,
    NOISE,
    NOT_FINITE,
    SMALL,
    STATUS,
    SUBTRACT,
    SYMMETRIC,
    TREE,
    USABLE,
)
from sumwise.kernels.partition import partition_records
from sumwise.kernels.payload import (
    add_rows,
    count_stats,
    fill_gains,
    load_rows,
    node_score,
    set_value,
    split_gain,
    sum_rows,
)
from sumwise.kernels.random import (
    COLUMNS_BY_LEVEL,
    COLUMNS_BY_NODE,
    COLUMNS_BY_TREE,
    choose_features,
    extend_key,
)
from sumwise.kernels.split import best_candidate, sum_left
from sumwise.kernels.threads import ABORT, atomic_load, share, wait_for_all

# --- the frontier: a heap of nodes that can be split ---------------------------------------------


@routine
def _comes_before(nodes, growth, a, b):
    """Whether node a is split before node b."""
    if growth == LEVEL_WISE and nodes[a].depth != nodes[b].depth:
        return nodes[a].depth < nodes[b].depth
    if nodes[a].gain != nodes[b].gain:
        return nodes[a].gain > nodes[b].gain
    return a < b


@routine
def _push_node(work, nodes, growth, node):
    heap = work.heap
    i = work.control[N_HEAP]
    work.control[N_HEAP] += 1
    heap[i] = node
    while i > 0 and _comes_before(nodes, growth, heap[i], heap[(i - 1) >> 1]):
        parent = (i - 1) >> 1
        heap[i], heap[parent] = heap[parent], heap[i]
        i = parent


@routine
def _pop_node(work, nodes, growth):
    heap = work.heap
    top = heap[0]
    work.control[N_HEAP] -= 1
    n = work.control[N_HEAP]
    heap[0] = heap[n]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= n:
            return top
        if child + 1 < n and _comes_before(nodes, growth, heap[child + 1], heap[child]):
            child += 1
        if not _comes_before(nodes, growth, heap[child], heap[i]):
            return top
        heap[i], heap[child] = heap[child], heap[i]
        i = child


# --- slots of the histogram pool -----------------------------------------------------------------


@routine
def _take_slot(work, scratch):
    """Return a free slot, or a scratch one if the pool is used up."""
    if work.control[N_FREE] == 0:
        return np.int32(work.free_slots.size + scratch)
    work.control[N_FREE] -= 1
    return work.free_slots[work.control[N_FREE]]


@routine
def _release_slot(work, nodes, node):
    slot = nodes[node].slot
    if 0 <= slot < work.free_slots.size:
        work.free_slots[work.control[N_FREE]] = slot
        work.control[N_FREE] += 1
    nodes[node].slot = -1


# --- what thread 0 decides -----------------------------------------------------------------------


@routine
def _count_columns(rate, n_features):
    return max(1, np.int64(np.floor(rate * n_features + 0.5)))


@routine
def _allow_features(work, options, key, purpose, number, rate, source, target):
    """Mark the features that may be used: a share of those marked in row ``source``."""
    pool = work.allowed[source]
    n_pool = 0
    for f in range(pool.size):
        n_pool += pool[f]
    key = extend_key(extend_key(key, purpose), number)
    choose_features(key, pool, _count_columns(rate, n_pool), work.allowed[target])


@routine
def _copy_features(work, source, target):
    for f in range(work.allowed.shape[1]):
        work.allowed[target, f] = work.allowed[source, f]


@routine
def _allow_for_node(work, options, key, depth, node, child):
    """Draw the features of a node: a share of its level's, which are a share of the tree's."""
    by_level, by_node = options.columns_by_level, options.columns_by_node
    if by_level < 1.0:
        _allow_features(work, options, key, COLUMNS_BY_LEVEL, depth, by_level, TREE, LEVEL)
    else:
        _copy_features(work, TREE, LEVEL)
    if by_node < 1.0:
        _allow_features(work, options, key, COLUMNS_BY_NODE, node, by_node, LEVEL, CHILD + child)
    else:
        _copy_features(work, LEVEL, CHILD + child)


@routine
def _create_node(work, nodes, options, depth, anchor):
    """Append a leaf; its rows and totals are set by the caller."""
    node = work.control[N_NODES]
    work.control[N_NODES] += 1
    nodes[node].feature = -1
    nodes[node].left = -1
    nodes[node].depth = depth
    nodes[node].gain = 0.0
    nodes[node].anchor = node if anchor < 0 else anchor
    nodes[node].slot = -1
    nodes[node].splittable = 0
    return node


@routine
def _create_children(work, nodes, options, n_stats, node, anchor):
    """Append the children of a node with the totals that its split gives them."""
    depth = nodes[node].depth + 1
    left = _create_node(work, nodes, options, depth, anchor)
    right = _create_node(work, nodes, options, depth, anchor)
    nodes[node].left = left
    for s in range(n_stats):
        work.totals[left, s] = work.left_totals[node, s]
        work.totals[right, s] = work.totals[node, s] - work.left_totals[node, s]
    min_rows = 2 * options.min_samples_leaf
    for child in (left, right):
        enough = work.totals[child, n_stats - 1] >= min_rows
        nodes[child].splittable = enough and depth < options.max_depth
    work.control[N_LEAVES] += 1


@routine
def _smaller_child(work, nodes, n_stats, node):
    left = nodes[node].left
    right_is_smaller = work.totals[left + 1, n_stats - 1] < work.totals[left, n_stats - 1]
    return left + 1 if right_is_smaller else left


@routine
def _adopt_split(payload, table, work, nodes, options, n_stats, node, child):
    """Give a node its best candidate if that is good enough; return whether it is."""
    best, best_feature = -np.inf, -1
    for f in range(table.n_value_bins.size):
        if work.allowed[CHILD + child, f] and work.candidates[child, f].gain > best:
            best, best_feature = work.candidates[child, f].gain, f
    noise = NOISE * abs(node_score(payload, work.totals[node]))
    if not best > options.min_gain + noise:
        return False
    f = best_feature
    bins = work.histograms[nodes[node].slot][n_stats * table.bin_start[f] : n_stats * table.bin_start[f + 1]]
    missing_left = work.candidates[child, f].missing_left != 0
    left = work.left_totals[node]
    sum_left(bins, n_stats, work.candidates[child, f].split_bin, missing_left, left)
    if bins[(n_stats - 1) * (table.n_value_bins[f] + 1)] == 0:  # none missing here: they go with the larger child
        missing_left = 2 * left[n_stats - 1] >= work.totals[node, n_stats - 1]
    nodes[node].feature = f
    nodes[node].split_bin = work.candidates[child, f].split_bin
    nodes[node].missing_left = missing_left
    nodes[node].gain = best
    return True


@inlined
def _choose_next(sync, work, nodes, options, n_stats, key):
    """Pop the next node to split, create its children and say what is to be done for them."""
    control = work.control
    if atomic_load(sync, ABORT):
        control[STATUS] = ABORTED
        return
    if control[N_HEAP] == 0 or control[N_LEAVES] >= options.max_leaves:
        control[STATUS] = DONE
        return
    node = _pop_node(work, nodes, options.growth)
    _create_children(work, nodes, options, n_stats, node, -1)
    small = _smaller_child(work, nodes, n_stats, node)
    large = 2 * nodes[node].left + 1 - small
    control[NODE] = node
    control[SMALL] = small
    # The larger child has at least as many rows at the same depth: if it cannot, neither can.
    if not nodes[large].splittable or control[N_LEAVES] >= options.max_leaves:
        control[MODE] = NO_HISTOGRAMS
        _release_slot(work, nodes, node)
        return
    for child in range(2):
        _allow_for_node(
            work, options, key, nodes[small].depth, nodes[node].left + child, child
        )
    nodes[small].slot = _take_slot(work, 0)
    if nodes[node].slot >= 0:
        control[MODE] = SUBTRACT
        nodes[large].slot = nodes[node].slot
        nodes[node].slot = -1
    else:
        control[MODE] = BUILD_BOTH
        nodes[large].slot = _take_slot(work, 1)


@inlined
def _settle_children(payload, table, work, nodes, options, n_stats):
    """Queue the children that can be split and release the histograms of the others."""
    left = nodes[work.control[NODE]].left
    for child in range(2):
        node = left + child
        if nodes[node].slot < 0:
            continue
        found = nodes[node].splittable and _adopt_split(
            payload, table, work, nodes, options, n_stats, node, child
        )
        if found:
            _push_node(work, nodes, options.growth, node)
        if not found or nodes[node].slot >= work.free_slots.size:
            _release_slot(work, nodes, node)


# --- what all threads do -------------------------------------------------------------------------


@routine
def _tile_is_used(table, work, tile):
    for f in range(table.tile_first[tile], table.tile_first[tile + 1]):
        if work.allowed[TREE, f]:
            return True
    return False


@routine
def _build_histogram(thread, n_threads, payload, exact, table, work, nodes, n_stats, node, which):
    """Sum a node's rows: whole tiles into its slot, the thread's part of shared ones aside."""
    records = work.records[nodes[node].depth & 1]
    words = work.packed[thread]
    for tile in range(table.tile_start.size):
        if not _tile_is_used(table, work, tile):
            continue
        owner = work.tile_owner[tile]
        if owner == thread:
            histogram = work.histograms[nodes[node].slot]
            clear_tile(table, tile, n_stats, histogram)
            for t in range(n_threads):
                part = records[work.first[t, node] : work.last[t, node]]
                add_rows(payload, exact, table, tile, part, words, histogram)
        elif owner < 0:
            histogram = work.partial[which * n_threads + thread]
            clear_tile(table, tile, n_stats, histogram)
            part = records[work.first[thread, node] : work.last[thread, node]]
            add_rows(payload, exact, table, tile, part, words, histogram)


@routine
def _merge_parts(thread, n_threads, table, work, nodes, n_stats, node, which):
    """Add up what the threads have set aside, feature by feature."""
    histogram = work.histograms[nodes[node].slot]
    for tile in range(table.tile_start.size):
        if work.tile_owner[tile] >= 0:
            continue
        for f in range(table.tile_first[tile], table.tile_first[tile + 1]):
            if work.feature_owner[f] != thread or not work.allowed[TREE, f]:
                continue
            first, last = n_stats * table.bin_start[f], n_stats * table.bin_start[f + 1]
            for i in range(first, last):
                histogram[i] = work.partial[which * n_threads, i]
            for t in range(1, n_threads):
                part = work.partial[which * n_threads + t]
                for i in range(first, last):
                    histogram[i] += part[i]


@routine
def _subtract_histogram(thread, table, work, nodes, n_stats, small, large):
    """The larger child's histogram is its parent's, in whose slot it lies, less its sibling's."""
    small_histogram = work.histograms[nodes[small].slot]
    large_histogram = work.histograms[nodes[large].slot]
    for f in range(table.n_value_bins.size):
        if work.feature_owner[f] == thread and work.allowed[TREE, f]:
            first, last = n_stats * table.bin_start[f], n_stats * table.bin_start[f + 1]
            for i in range(first, last):
                large_histogram[i] -= small_histogram[i]


@routine
def _score_node(thread, payload, table, work, nodes, options, n_stats, node, child):
    """Find the best split of each of the thread's features in a node."""
    histogram = work.histograms[nodes[node].slot]
    prefix, gains = work.prefix[thread], work.gains[thread]
    min_rows = options.min_samples_leaf
    for f in range(table.n_value_bins.size):
        if work.feature_owner[f] != thread or not work.allowed[CHILD + child, f]:
            continue
        bins = histogram[n_stats * table.bin_start[f] : n_stats * table.bin_start[f + 1]]
        both_ways = bins[(n_stats - 1) * (table.n_value_bins[f] + 1)] > 0
        # With missing rows, all values against the missing is a split, too.
        n_candidates = table.n_value_bins[f] - (0 if both_ways else 1)
        totals = work.totals[node]
        fill_gains(
            payload, bins, n_candidates, both_ways, totals, min_rows, prefix, gains[0], gains[1]
        )
        gain, split_bin, missing_left = best_candidate(n_candidates, both_ways, gains[0], gains[1])
        work.candidates[child, f].gain = gain
        work.candidates[child, f].split_bin = split_bin
        work.candidates[child, f].missing_left = missing_left


@routine
def _partition_node(thread, table, work, nodes, node):
    """Move the thread's part of a node's records to its children."""
    left = nodes[node].left
    depth = nodes[node].depth
    first, last = work.first[thread, node], work.last[thread, node]
    middle = partition_records(
        work.records[depth & 1],
        work.records[(depth + 1) & 1],
        first,
        last,
        table.columns[nodes[node].feature],
        nodes[node].split_bin,
        nodes[node].missing_left,
    )
    work.first[thread, left], work.last[thread, left] = first, middle
    work.first[thread, left + 1], work.last[thread, left + 1] = middle, last


@routine
def _has_shared_tiles(work):
    for tile in range(work.tile_owner.size):
        if work.tile_owner[tile] < 0:
            return True
    return False


@inlined
def _grow_best_first(
    thread, n_threads, sync, payload, exact, table, work, nodes, options, n_stats, key
):
    """Split the best leaf (or the best of the highest level) until nothing is left to split."""
    control = work.control
    if thread == 0 and nodes[0].slot >= 0:
        if _adopt_split(payload, table, work, nodes, options, n_stats, 0, 0):
            _push_node(work, nodes, options.growth, 0)
        else:
            _release_slot(work, nodes, 0)
    shared = _has_shared_tiles(work)
    while True:
        if thread == 0:
            _choose_next(sync, work, nodes, options, n_stats, key)
        wait_for_all(sync, n_threads)
        if control[STATUS] != GROWING:
            return
        node, small, mode = control[NODE], control[SMALL], control[MODE]
        left = nodes[node].left
        large = 2 * left + 1 - small
        _partition_node(thread, table, work, nodes, node)
        wait_for_all(sync, n_threads)
        if mode == NO_HISTOGRAMS:
            continue
        _build_histogram(thread, n_threads, payload, exact, table, work, nodes, n_stats, small, 0)
        if mode == BUILD_BOTH:
            _build_histogram(
                thread, n_threads, payload, exact, table, work, nodes, n_stats, large, 1
            )
        if shared:
            wait_for_all(sync, n_threads)
            _merge_parts(thread, n_threads, table, work, nodes, n_stats, small, 0)
            if mode == BUILD_BOTH:
                _merge_parts(thread, n_threads, table, work, nodes, n_stats, large, 1)
        if mode == SUBTRACT:
            _subtract_histogram(thread, table, work, nodes, n_stats, small, large)
        for child in range(2):
            if nodes[left + child].splittable:
                _score_node(
                    thread, payload, table, work, nodes, options, n_stats, left + child, child
                )
        wait_for_all(sync, n_threads)
        if thread == 0:
            _settle_children(payload, table, work, nodes, options, n_stats)


# --- symmetric growth: one split for a whole level -----------------------------------------------


@inlined
def _score_level(thread, payload, table, work, nodes, options, n_stats, level_first, level_size):
    """Find the best split of each of the thread's features, by the sum of the nodes' gains."""
    prefix, gains = work.prefix[thread], work.gains[thread]
    right, left, sum_right, sum_left_ways = gains[0], gains[1], gains[2], gains[3]
    for f in range(table.n_value_bins.size):
        if work.feature_owner[f] != thread or not work.allowed[CHILD, f]:
            continue
        both_ways = False
        for node in range(level_first, level_first + level_size):
            if nodes[node].slot >= 0:
                bins = work.histograms[nodes[node].slot][n_stats * table.bin_start[f] : n_stats * table.bin_start[f + 1]]
                both_ways |= bins[(n_stats - 1) * (table.n_value_bins[f] + 1)] > 0
        n_candidates = table.n_value_bins[f] - (0 if both_ways else 1)
        sum_right[:n_candidates] = -np.inf
        sum_left_ways[:n_candidates] = -np.inf
        for node in range(level_first, level_first + level_size):
            if nodes[node].slot < 0:
                continue
            bins = work.histograms[nodes[node].slot][n_stats * table.bin_start[f] : n_stats * table.bin_start[f + 1]]
            totals, min_rows = work.totals[node], options.min_samples_leaf
            fill_gains(
                payload, bins, n_candidates, both_ways, totals, min_rows, prefix, right, left
            )
            _add_gains(right, sum_right, n_candidates)
            if both_ways:
                _add_gains(left, sum_left_ways, n_candidates)
        gain, split_bin, missing_left = best_candidate(
            n_candidates, both_ways, sum_right, sum_left_ways
        )
        work.candidates[0, f].gain = gain
        work.candidates[0, f].split_bin = split_bin
        work.candidates[0, f].missing_left = missing_left


@routine
def _add_gains(gains, sums, n):
    """Add the gains of a node; -inf (a child too small) adds nothing."""
    for i in range(n):
        if gains[i] > -np.inf:
            sums[i] = gains[i] if sums[i] == -np.inf else sums[i] + gains[i]


@inlined
def _choose_level_split(sync, payload, table, work, nodes, options, n_stats):
    """Adopt the best split for all nodes of the level and create their children."""
    control = work.control
    level_first, level_size = control[LEVEL_FIRST], control[LEVEL_SIZE]
    if atomic_load(sync, ABORT):
        control[STATUS] = ABORTED
        return
    best, f = -np.inf, -1
    for candidate in range(table.n_value_bins.size):
        if work.allowed[CHILD, candidate] and work.candidates[0, candidate].gain > best:
            best, f = work.candidates[0, candidate].gain, candidate
    noise = 0.0
    for node in range(level_first, level_first + level_size):
        if nodes[node].slot >= 0:
            noise += NOISE * abs(node_score(payload, work.totals[node]))
    if not best > options.min_gain + noise:
        control[STATUS] = DONE
        return
    split_bin, missing_left = work.candidates[0, f].split_bin, work.candidates[0, f].missing_left != 0
    n_missing, n_left, n_rows = 0, 0, 0
    for node in range(level_first, level_first + level_size):
        left = work.left_totals[node]
        left[:] = 0
        if nodes[node].slot >= 0:
            bins = work.histograms[nodes[node].slot][n_stats * table.bin_start[f] : n_stats * table.bin_start[f + 1]]
            sum_left(bins, n_stats, split_bin, missing_left, left)
            n_missing += bins[(n_stats - 1) * (table.n_value_bins[f] + 1)]
            n_left += left[n_stats - 1]
            n_rows += work.totals[node, n_stats - 1]
    if n_missing == 0:
        missing_left = 2 * n_left >= n_rows
    for node in range(level_first, level_first + level_size):
        # A node too small for the split has no histogram; its children keep its anchor's value.
        gain = -np.inf
        if nodes[node].slot >= 0:
            totals, min_rows = work.totals[node], options.min_samples_leaf
            gain = split_gain(payload, work.left_totals[node], totals, min_rows)
        nodes[node].feature = f
        nodes[node].split_bin = split_bin
        nodes[node].missing_left = missing_left
        nodes[node].gain = gain if gain > -np.inf else 0.0
        anchor = -1 if gain > -np.inf else nodes[node].anchor
        _create_children(work, nodes, options, n_stats, node, anchor)
        left_child = nodes[node].left
        if nodes[node].slot < 0:
            nodes[left_child].splittable = nodes[left_child + 1].splittable = 0
            continue
        small = _smaller_child(work, nodes, n_stats, node)
        large = 2 * left_child + 1 - small
        if nodes[large].splittable:
            nodes[small].slot = _take_slot(work, 0)
            nodes[large].slot = nodes[node].slot
            nodes[node].slot = -1
        else:
            _release_slot(work, nodes, node)
    control[LEVEL_FIRST] = level_first + level_size
    control[LEVEL_SIZE] = 2 * level_size


@inlined
def _grow_symmetric(
    thread, n_threads, sync, payload, exact, table, work, nodes, options, n_stats, key
):
    """Split all nodes of a level by one split, level after level."""
    control = work.control
    shared = _has_shared_tiles(work)
    if thread == 0:
        control[LEVEL_FIRST], control[LEVEL_SIZE] = 0, 1
        if nodes[0].slot < 0:
            control[STATUS] = DONE
    wait_for_all(sync, n_threads)
    for depth in range(options.max_depth):
        if control[STATUS] != GROWING:
            return
        first, size = control[LEVEL_FIRST], control[LEVEL_SIZE]
        _score_level(thread, payload, table, work, nodes, options, n_stats, first, size)
        wait_for_all(sync, n_threads)
        if thread == 0:
            _choose_level_split(sync, payload, table, work, nodes, options, n_stats)
            _allow_for_node(work, options, key, depth + 1, depth + 1, 0)
        wait_for_all(sync, n_threads)
        if control[STATUS] != GROWING:
            return
        for node in range(first, first + size):
            _partition_node(thread, table, work, nodes, node)
        wait_for_all(sync, n_threads)
        for node in range(first, first + size):
            small = _smaller_child(work, nodes, n_stats, node)
            large = 2 * nodes[node].left + 1 - small
            if nodes[large].slot < 0:
                continue
            _build_histogram(
                thread, n_threads, payload, exact, table, work, nodes, n_stats, small, 0
            )
            if shared:
                wait_for_all(sync, n_threads)
                _merge_parts(thread, n_threads, table, work, nodes, n_stats, small, 0)
                wait_for_all(sync, n_threads)
            _subtract_histogram(thread, table, work, nodes, n_stats, small, large)
        wait_for_all(sync, n_threads)
        if thread == 0:
            for node in range(control[LEVEL_FIRST], control[LEVEL_FIRST] + control[LEVEL_SIZE]):
                if not nodes[node].splittable:
                    _release_slot(work, nodes, node)
        wait_for_all(sync, n_threads)


# --- the whole tree ------------------------------------------------------------------------------


@inlined
def _plant_root(work, nodes, options, n_threads, n_rows, key):
    """Reset the buffers and create the root."""
    control = work.control
    control[:] = 0
    n_slots = work.free_slots.size
    for slot in range(n_slots):
        work.free_slots[slot] = n_slots - 1 - slot
    control[N_FREE] = n_slots
    by_tree = options.columns_by_tree
    _allow_features(work, options, key, COLUMNS_BY_TREE, 0, by_tree, USABLE, TREE)
    _allow_for_node(work, options, key, 0, 0, 0)
    _create_node(work, nodes, options, 0, -1)
    control[N_LEAVES] = 1
    for thread in range(n_threads):
        work.first[thread, 0], work.last[thread, 0] = share(n_rows, thread, n_threads)


@inlined
def _set_root_totals(table, work, nodes, options, n_stats, n_rows):
    """Read the root's totals off the histogram of any feature."""
    for f in range(table.n_value_bins.size):
        if work.allowed[TREE, f]:
            bins = work.histograms[nodes[0].slot][n_stats * table.bin_start[f] : n_stats * table.bin_start[f + 1]]
            n_bins = table.n_value_bins[f] + 1
            for s in range(n_stats):
                work.totals[0, s] = bins[s * n_bins : (s + 1) * n_bins].sum()
            return


@inlined
def _set_values(thread, n_threads, sync, payload, work, nodes, n_stats):
    """Sum every leaf's rows exactly; inner nodes are the sums of their children."""
    n_nodes = work.control[N_NODES]
    for node in range(n_nodes):
        sums = work.sums[thread, node]
        sums[:] = 0
        if nodes[node].left < 0:
            records = work.records[nodes[node].depth & 1]
            sum_rows(payload, records[work.first[thread, node] : work.last[thread, node]], sums)
    wait_for_all(sync, n_threads)
    if thread == 0:
        for node in range(n_nodes - 1, -1, -1):  # children come after their parents
            sums = work.sums[0, node]
            left = nodes[node].left
            if left < 0:
                for t in range(1, n_threads):
                    for s in range(n_stats):
                        sums[s] += work.sums[t, node, s]
                nodes[node].feature = -1
                nodes[node].split_bin = 0
                nodes[node].missing_left = 0
                nodes[node].gain = 0.0
            else:
                for s in range(n_stats):
                    sums[s] = work.sums[0, left, s] + work.sums[0, left + 1, s]
            nodes[node].weight = set_value(payload, sums, work.value[node])
        for node in range(n_nodes):
            if nodes[node].anchor != node:
                for k in range(work.value.shape[1]):
                    work.value[node, k] = work.value[nodes[node].anchor, k]
    wait_for_all(sync, n_threads)


@inlined
def _add_values(thread, work, nodes, scores):
    """Add each leaf's value to the scores of its rows."""
    for node in range(work.control[N_NODES]):
        if nodes[node].left < 0:
            value = work.value[node, 0]
            records = work.records[nodes[node].depth & 1]
            for i in range(work.first[thread, node], work.last[thread, node]):
                scores[records[i] >> np.uint64(32)] += value


@kernel
def grow_tree(thread, n_threads, sync, table, payload, options, rows, key, work, nodes, scores):
    """Grow a tree on ``rows``; add its values to their ``scores`` unless that array is empty.

    The result is in ``nodes`` and ``work.control``.
    """
    control = work.control
    n_stats = count_stats(payload)
    if thread == 0:
        _plant_root(work, nodes, options, n_threads, rows.size, key)
    finite, exact = load_rows(payload, thread, n_threads, sync, rows, work.records[0])
    if thread == 0:
        if not finite:
            control[STATUS] = NOT_FINITE
        elif rows.size >= 2 * options.min_samples_leaf and options.max_depth > 0:
            if options.max_leaves > 1 and work.allowed[TREE].any():
                nodes[0].splittable = 1
                nodes[0].slot = _take_slot(work, 0)
    wait_for_all(sync, n_threads)
    if control[STATUS] == NOT_FINITE:
        return
    if nodes[0].slot >= 0:
        _build_histogram(thread, n_threads, payload, exact, table, work, nodes, n_stats, 0, 0)
        wait_for_all(sync, n_threads)
        _merge_parts(thread, n_threads, table, work, nodes, n_stats, 0, 0)
        wait_for_all(sync, n_threads)
        if thread == 0:
            _set_root_totals(table, work, nodes, options, n_stats, rows.size)
        wait_for_all(sync, n_threads)
    if options.growth == SYMMETRIC:
        _grow_symmetric(
            thread, n_threads, sync, payload, exact, table, work, nodes, options, n_stats, key
        )
    else:
        if nodes[0].slot >= 0:
            _score_node(thread, payload, table, work, nodes, options, n_stats, 0, 0)
        wait_for_all(sync, n_threads)
        _grow_best_first(
            thread, n_threads, sync, payload, exact, table, work, nodes, options, n_stats, key
        )
    if control[STATUS] == ABORTED:
        return
    _set_values(thread, n_threads, sync, payload, work, nodes, n_stats)
    if scores.size > 0:
        _add_values(thread, work, nodes, scores)
