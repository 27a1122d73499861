"""Shallow trees on the binned table, grown level by level: the learners of AdaBoost.

Weights of rows are integers, so their sums are exact: no tree depends on the number of threads, and
equal splits have equal gains. For classes, a bin has one sum of weights per class, c_k. For
numbers, it has two sums: the weights w, and weight times target m. A node scores
``sum_k c_k^2 / sum_k c_k`` or ``m^2 / w``, and the gain of a split is the score of the children
minus that of the node. This ranks splits as weighted Gini impurity and weighted squared error do.

Each thread sums and scores its own features, over all rows of a level at once. Then the first
thread decides, and each thread moves its own rows. Rows without weight take no part in this: they
walk down the finished tree.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.grow.layout import NOISE
from sumwise.kernels.grow.missing import follows_larger
from sumwise.kernels.grow.partition import is_left_code, left_range
from sumwise.kernels.runtime.jit import NONE, ZERO, inlined, kernel, routine
from sumwise.kernels.runtime.threads import share, wait_for_all

# A total weight of 1 is this many units, so that no sum overflows.
UNITS = float(1 << 60)
# Features whose histograms are summed together: a row's weight is read once for all of them.
FEATURES_TOGETHER = 4
# In place of a direction for missing values, if a node has none: that of the larger child.
_WITH_LARGER = 2
# Places in ``control``.
N_NODES, N_ACTIVE = 0, 1
CONTROL_LENGTH = 2


class ShallowTarget(NamedTuple):
    """Targets and weights of rows. Weights sum to 1 or less."""

    class_idx: Any  # uint16 (n_rows,); all zero for numbers
    value: Any  # float64 (n_rows,), within [-1, 1]; empty for classes
    weight: Any  # float64 (n_rows,)
    n_stats: int  # sums per bin: the number of classes, or 2


class ShallowWork(NamedTuple):
    """Buffers that live as long as a fit. A slot is the position of a node in its level."""

    control: Any  # int64 (CONTROL_LENGTH,)
    weight: Any  # int64 (n_rows,): in units
    moment: Any  # int64 (n_rows,): weight times target; empty for classes
    base: Any  # uint32 (n_rows,): where the bins of a row's slot and class begin
    node: Any  # uint16 (n_rows,): the node that a row has reached
    histograms: Any  # int64 (n_threads, FEATURES_TOGETHER, (n_slots + 1) * n_stats * n_bins)
    left: Any  # int64 (n_threads, n_slots + 1, n_stats): sums of left children; the last is scratch
    best: Any  # BEST_SPLIT (n_threads, n_slots)
    sums: Any  # int64 (n_threads, n_stats): the root's sums over the rows of a thread
    totals: Any  # int64 (n_nodes, n_stats)
    count: Any  # int64 (n_threads, n_nodes): rows with weight
    slot: Any  # int64 (n_nodes,): -1 for a node that is not to be split
    active: Any  # int64 (n_slots,): the nodes of a level


class ShallowNodes(NamedTuple):
    """The tree while it grows."""

    feature: Any  # int32 (n_nodes,)
    split_bin: Any  # uint8 (n_nodes,)
    missing_left: Any  # uint8 (n_nodes,)
    left: Any  # int32 (n_nodes,)
    gain: Any  # float64 (n_nodes,)


BEST_SPLIT = np.dtype(
    [
        ("gain", np.float64),
        ("feature", np.int32),
        ("split_bin", np.uint8),
        ("missing_left", np.uint8),
    ],
    align=True,
)


@inlined
def _to_units(weight):
    """Round a weight to units; a positive weight is at least one unit."""
    units = np.int64(weight * UNITS + 0.5)
    return max(units, np.int64(1)) if weight > 0.0 else ZERO


@routine
def _load_rows(thread, n_threads, target, n_bins, work):
    """Put the thread's rows into the root and sum them."""
    first, last = share(target.weight.size, thread, n_threads)
    sums, n_rows = work.sums[thread], ZERO
    sums[:] = 0
    for row in range(first, last):
        units = _to_units(target.weight[row])
        work.weight[row] = units
        work.node[row] = 0
        work.base[row] = np.uint32(target.class_idx[row] * n_bins)
        n_rows += units > 0
        if target.value.size > 0:
            # Rounded toward zero: the sum of moments stays below that of weights.
            moment = np.int64(target.weight[row] * target.value[row] * UNITS)
            work.moment[row] = moment
            sums[0] += units
            sums[1] += moment
        else:
            sums[target.class_idx[row]] += units
    work.count[thread] = 0
    work.count[thread, 0] = n_rows


@routine
def _add_four_columns(columns, features, weight, base, histograms):
    """Add all rows to the histograms of four features."""
    first, second = columns[features[0]], columns[features[1]]
    third, fourth = columns[features[2]], columns[features[3]]
    of_first, of_second = histograms[0], histograms[1]
    of_third, of_fourth = histograms[2], histograms[3]
    for row in range(np.uint64(weight.size)):
        units, place = weight[row], np.uint64(base[row])
        of_first[place + np.uint64(first[row])] += units
        of_second[place + np.uint64(second[row])] += units
        of_third[place + np.uint64(third[row])] += units
        of_fourth[place + np.uint64(fourth[row])] += units


@routine
def _add_column(column, weight, base, histogram):
    """Add all rows to the histogram of one feature."""
    for row in range(np.uint64(weight.size)):
        histogram[np.uint64(base[row]) + np.uint64(column[row])] += weight[row]


@routine
def _add_moments(column, weight, moment, base, n_bins, histogram):
    """Add weights and moments of all rows to the histogram of one feature."""
    of_moment = histogram[n_bins:]
    for row in range(np.uint64(weight.size)):
        place = np.uint64(base[row]) + np.uint64(column[row])
        histogram[place] += weight[row]
        of_moment[place] += moment[row]


@routine
def _shallow_score(stats, is_number):
    """Return the score of a node with these sums."""
    if is_number:
        return np.float64(stats[1]) * np.float64(stats[1]) / np.float64(stats[0])
    squares, weight = 0.0, 0.0
    for k in range(stats.size):
        squares += np.float64(stats[k]) * np.float64(stats[k])
        weight += np.float64(stats[k])
    return squares / weight


@routine
def _score_children(left, totals, is_number):
    """Return the sum of both children's scores; -1 if one of them has no weight."""
    if is_number:
        left_weight, right_weight = np.float64(left[0]), np.float64(totals[0] - left[0])
        moment, other = np.float64(left[1]), np.float64(totals[1] - left[1])
        left_squares, right_squares = moment * moment, other * other
    else:
        left_weight, right_weight, left_squares, right_squares = 0.0, 0.0, 0.0, 0.0
        for k in range(totals.size):
            own, other = np.float64(left[k]), np.float64(totals[k] - left[k])
            left_weight += own
            right_weight += other
            left_squares += own * own
            right_squares += other * other
    if left_weight <= 0.0 or right_weight <= 0.0:
        return -1.0
    return left_squares / left_weight + right_squares / right_weight


@routine
def _search_feature(bins, n_bins, n_value_bins, totals, is_number, scratch, left, best, feature):
    """Write the best split of a feature to ``best`` if it is better than the best so far.

    ``bins`` has ``n_bins`` items for each sum. Among equal gains the lowest bin wins, then missing
    to the right.
    """
    n_stats = totals.size
    own_score = _shallow_score(totals, is_number)
    has_missing = False
    for s in range(n_stats):
        scratch[s] = 0
        has_missing |= bins[s * n_bins] != 0
    for split_bin in range(1, n_value_bins + 1):
        is_empty = True
        for s in range(n_stats):
            in_bin = bins[s * n_bins + split_bin]
            scratch[s] += in_bin
            is_empty &= in_bin == 0
        # The same split as after the previous bin. After the first bin it is not: missing values
        # may be on the left.
        if is_empty and split_bin > 1:
            continue
        for missing_left in range(2 if has_missing and split_bin < n_value_bins else 1):
            if missing_left:
                for s in range(n_stats):
                    scratch[s] += bins[s * n_bins]
            score = _score_children(scratch, totals, is_number)
            gain = score - own_score
            if gain > best.gain and gain > NOISE * score:
                best.gain = gain
                best.feature = feature
                best.split_bin = split_bin
                best.missing_left = missing_left if has_missing else _WITH_LARGER
                for s in range(n_stats):
                    left[s] = scratch[s]
            if missing_left:
                for s in range(n_stats):
                    scratch[s] -= bins[s * n_bins]


@routine
def _search_level(thread, n_threads, columns, n_value_bins, features, target, n_bins, work):
    """Find the best split of each node of a level among the thread's features."""
    n_active, n_stats = work.control[N_ACTIVE], target.n_stats
    is_number = target.value.size > 0
    slot_length = n_stats * n_bins
    # Rows in nodes that are not active are summed in one more slot.
    length = (n_active + 1) * slot_length
    histograms, best, left = work.histograms[thread], work.best[thread], work.left[thread]
    scratch = left[left.shape[0] - 1]
    for slot in range(n_active):
        best[slot].gain = 0.0
        best[slot].feature = NONE
    first, last = share(features.size, thread, n_threads)
    for begin in range(first, last, FEATURES_TOGETHER):
        n_together = min(FEATURES_TOGETHER, last - begin)
        for j in range(n_together):
            histograms[j, :length] = 0
        if is_number:
            for j in range(n_together):
                column = columns[features[begin + j]]
                _add_moments(column, work.weight, work.moment, work.base, n_bins, histograms[j])
        elif n_together == FEATURES_TOGETHER:
            _add_four_columns(columns, features[begin:], work.weight, work.base, histograms)
        else:
            for j in range(n_together):
                column = columns[features[begin + j]]
                _add_column(column, work.weight, work.base, histograms[j])
        for j in range(n_together):
            feature = features[begin + j]
            for slot in range(n_active):
                _search_feature(
                    histograms[j, slot * slot_length : (slot + 1) * slot_length],
                    n_bins,
                    n_value_bins[feature],
                    work.totals[work.active[slot]],
                    is_number,
                    scratch,
                    left[slot],
                    best[slot],
                    feature,
                )


@routine
def _make_leaf(node, nodes):
    nodes.feature[node] = NONE
    nodes.left[node] = NONE
    nodes.gain[node] = 0.0
    nodes.split_bin[node] = 0
    nodes.missing_left[node] = 0


@routine
def _decide_level(n_threads, depth_left, work, nodes):
    """Split the nodes of a level that have a gain; their children are the next level."""
    n_active, n_nodes = work.control[N_ACTIVE], work.control[N_NODES]
    level_first = n_nodes
    for slot in range(n_active):
        node, chosen = work.active[slot], ZERO
        # Features ascend with threads: the first thread with the largest gain has the lowest.
        for thread in range(1, n_threads):
            if work.best[thread, slot].gain > work.best[chosen, slot].gain:
                chosen = thread
        split = work.best[chosen, slot]
        if split.feature < 0:
            continue
        for s in range(work.totals.shape[1]):
            own = work.left[chosen, slot, s]
            work.totals[n_nodes, s] = own
            work.totals[n_nodes + 1, s] = work.totals[node, s] - own
        nodes.feature[node] = split.feature
        nodes.left[node] = n_nodes
        nodes.gain[node] = split.gain
        nodes.split_bin[node] = split.split_bin
        nodes.missing_left[node] = split.missing_left
        n_nodes += 2
    n_next = ZERO
    for child in range(level_first, n_nodes):
        _make_leaf(child, nodes)
        work.slot[child] = NONE
        if depth_left > 1:
            work.slot[child] = n_next
            work.active[n_next] = child
            n_next += 1
    work.control[N_NODES] = n_nodes
    work.control[N_ACTIVE] = n_next


@inlined
def _find_child(columns, nodes, node, row):
    """Return the child that a row goes to; if missing is _WITH_LARGER, the row is not missing."""
    skip, bound = left_range(nodes.split_bin[node], nodes.missing_left[node])
    is_left = is_left_code(columns[nodes.feature[node], row], skip, bound)
    return np.int64(nodes.left[node]) + np.int64(not is_left)


@routine
def _move_rows(thread, n_threads, columns, target, n_bins, work, nodes):
    """Move the thread's rows that have weight from the nodes just split to their children."""
    first, last = share(target.weight.size, thread, n_threads)
    slot_length = target.n_stats * n_bins
    last_slot = work.control[N_ACTIVE]
    for row in range(first, last):
        if work.weight[row] == 0:
            continue
        node = np.int64(work.node[row])
        slot = NONE
        if nodes.left[node] >= 0:
            child = _find_child(columns, nodes, node, row)
            work.node[row] = child
            work.count[thread, child] += 1
            slot = work.slot[child]
        place = slot if slot >= 0 else last_slot
        work.base[row] = np.uint32(place * slot_length + target.class_idx[row] * n_bins)


@inlined
def _send_missing(n_threads, work, nodes):
    """Decide where missing values go in nodes that have none: all rows are counted now."""
    for node in range(work.control[N_NODES]):
        if nodes.missing_left[node] == _WITH_LARGER:
            n_left, n_rows = ZERO, ZERO
            for t in range(n_threads):
                n_left += work.count[t, nodes.left[node]]
                n_rows += work.count[t, node]
            nodes.missing_left[node] = np.uint8(follows_larger(n_left, n_rows))


@inlined
def _walk_others(thread, n_threads, columns, work, nodes):
    """Find the leaves of the thread's rows without weight."""
    first, last = share(work.weight.size, thread, n_threads)
    if work.count[thread, 0] == last - first:  # all have weight
        return
    for row in range(first, last):
        if work.weight[row] == 0:
            node = ZERO
            while nodes.left[node] >= 0:
                node = _find_child(columns, nodes, node, row)
            work.node[row] = node


@kernel
def grow_shallow_tree(
    thread, n_threads, sync, columns, n_value_bins, features, target, n_bins, max_depth, work, nodes
):
    """Grow a tree with at most ``max_depth`` levels of splits on the given features.

    ``n_bins`` is larger than any of ``n_value_bins``. After all threads have returned,
    ``work.control[N_NODES]`` is the number of nodes, ``work.totals`` has their sums, and
    ``work.node`` the leaf of each row.
    """
    _load_rows(thread, n_threads, target, n_bins, work)
    wait_for_all(sync, n_threads)
    if thread == 0:
        for s in range(target.n_stats):
            work.totals[0, s] = 0
            for t in range(n_threads):
                work.totals[0, s] += work.sums[t, s]
        _make_leaf(ZERO, nodes)
        work.active[0] = 0
        work.control[N_NODES] = 1
        work.control[N_ACTIVE] = 1
    for depth in range(max_depth):
        wait_for_all(sync, n_threads)
        if work.control[N_ACTIVE] == 0:
            break
        _search_level(thread, n_threads, columns, n_value_bins, features, target, n_bins, work)
        wait_for_all(sync, n_threads)
        if thread == 0:
            _decide_level(n_threads, max_depth - depth, work, nodes)
        wait_for_all(sync, n_threads)
        _move_rows(thread, n_threads, columns, target, n_bins, work, nodes)
    wait_for_all(sync, n_threads)
    if thread == 0:
        _send_missing(n_threads, work, nodes)
    wait_for_all(sync, n_threads)
    _walk_others(thread, n_threads, columns, work, nodes)
