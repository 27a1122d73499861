"""The best split of a node of a forest's tree.

A node draws features one by one until it has drawn ``max_features`` of them and found at least one
that is not constant, as in scikit-learn. What it draws depends only on the tree and the node's
number, not on which features are known to be constant. Among equal gains, the first feature drawn
wins.

The search ends early if no other feature can be better: the node has two rows; a split separates
two classes; or, in a small node, the gain is that of the best possible cut in target order.

A threshold lies half way between the neighboring bins of the node's rows, as scikit-learn's lies
between values.
"""

import numpy as np

from sumwise.kernels.forest.bins import (
    add_bin,
    count_rows,
    list_filled,
    list_touched,
    shuffle_bins,
    sort_by_ratio,
)
from sumwise.kernels.forest.cuts import draw_value, find_bin, find_kept_bin, gather_bins, keep_cut
from sumwise.kernels.forest.drawing import (
    draw_feature,
    note_constant,
    put_back,
    recall_constants,
)
from sumwise.kernels.forest.layout import (
    ALL_BUT_NOISE,
    BOUNDED_ROWS,
    CHUNK,
    FEW_ROWS,
    FREE,
    N_BINS,
    SET_WORDS,
    WITH_LARGER,
)
from sumwise.kernels.forest.targets import (
    add_rows,
    bound_gain,
    clear_bins,
    gather,
    pack_rows,
    rate_bins,
    scan,
    sweep,
    try_cut,
    try_packed_cut,
    weigh_bins,
)
from sumwise.kernels.runtime.jit import NO, ZERO, inlined, merged, routine
from sumwise.kernels.runtime.random import extend_key, uniform

_ONE = np.uint64(1)


@routine
def clear_totals(totals):
    """Set all sums to zero."""
    for k in range(totals.size):
        totals[k] = 0.0


@inlined
def between(low, high):
    """Half way between two bins of the node."""
    return (low + high) >> 1


@inlined
def _draw_cut(key, centers, present, n_present):
    """Draw a cut; return its bin and the place of the last present bin on its left."""
    begin = 1 if present[0] == 0 and n_present > 1 else 0
    if begin == n_present - 1:  # missing values and one other bin
        return present[begin], np.int64(begin)
    low, high = present[begin], present[n_present - 1]
    split_bin = find_bin(centers, draw_value(key, centers, low, high), low, high)
    place = np.int64(begin)
    while present[place + 1] <= split_bin:
        place += 1
    return split_bin, place


@inlined
def _collect_set(present, place, best_set):
    """Write the set of bins that go left."""
    for word in range(SET_WORDS):
        best_set[word] = 0
    for i in range(place + 1):
        add_bin(best_set, np.uint64(present[i]))


# One feature


@inlined
def _examine(table, target, options, work, node, f, slot, key, best):
    """Write the best split on a feature to the node if it gains more than ``best``.

    The histogram of the feature is in a slot, which is zero again afterwards. Returns the number of
    bins of the node, and the gain of the best split so far.
    """
    present, n_stats, n_rows = work.present, work.totals.size, node.last - node.first
    weigh_bins(target, work, slot, table.n_bins[f])
    if n_rows <= FEW_ROWS:
        n_present = list_touched(work.touched, present)
    else:
        histogram = work.histograms[slot * N_BINS * n_stats :]
        n_present = list_filled(histogram, table.n_bins[f], n_stats, present)
    if n_present > 1 and options.min_rows_leaf > 1:
        for i in range(n_present):
            work.counts[present[i]] = 0
        stride, feature = np.uint64(table.stride), np.uint64(f) * np.uint64(table.step)
        count_rows(table.bins, stride, feature, work.rows, node.first, node.last, work.counts)
    return n_present, examine_bins(
        table, target, options, work, node, f, slot, n_present, key, best
    )


@routine
def examine_bins(table, target, options, work, node, f, slot, n_present, key, best):
    """The same, given the present bins; counts of rows are known if leaves need several."""
    present, n_rows = work.present, node.last - node.first
    if n_present > 1:
        has_missing, is_ordered = present[0] == 0, not table.is_category[f]
        cut, split_bin = np.int64(-1), np.int64(0)
        feature_key = extend_key(key, work.order.size + f)
        if not is_ordered:
            if options.random_cuts:
                shuffle_bins(feature_key, present, n_present)
                cut = np.int64(uniform(feature_key, ZERO) * (n_present - 1))
            else:
                rate_bins(target, work, slot, n_present)
                sort_by_ratio(work.ratio, present, n_present)
        elif options.random_cuts:
            split_bin, cut = _draw_cut(feature_key, table.centers[f], present, n_present)
        direction = table.direction[f] if table.direction.size else FREE
        bounds = (direction, node.lower, node.upper)
        gain, place, missing_left = sweep(
            target, options, work, slot, n_rows, n_present, is_ordered, cut, bounds
        )
        if gain > best:
            best = gain
            node.feature = f
            node.missing_left = missing_left if has_missing else WITH_LARGER
            if not is_ordered:
                _collect_set(present, place, work.best_set)
                if has_missing:
                    node.missing_left = np.uint8(work.best_set[0] & _ONE)
            elif place == n_present - 1:
                split_bin = table.n_bins[f] - 1  # all values on the left
            elif cut < 0:
                split_bin = between(present[place], present[place + 1])
            node.split_bin = np.uint8(split_bin)
    clear_bins(target, work, slot, n_present)
    return best


@inlined
def _examine_plain_cut(table, target, work, node, f, n_words, key, best):
    """The same for a random cut, if all is plain; also returns whether the split is perfect."""
    feature = np.uint64(f) * np.uint64(table.step)
    low, high = gather_bins(
        table.bins, np.uint64(table.stride), feature, work.rows, node.first, node.last, work.codes
    )
    is_perfect, n_rows = False, node.last - node.first
    if low < high:
        centers = table.centers[f]
        value = draw_value(extend_key(key, work.order.size + f), centers, low, high)
        cut = (centers, value, low, high)
        if n_words > 0:
            gain, is_perfect = try_packed_cut(target, work, n_rows, cut, n_words)
        else:
            gain, is_perfect = try_cut(target, work, n_rows, cut)
        if gain > best:
            best = gain
            node.feature, node.missing_left = f, WITH_LARGER
            keep_cut(work, value, low, high)
    return np.int64(1) + (low < high), best, is_perfect


@inlined
def _examine_plain(table, target, work, node, f, n_words, best):
    """The same for the best cut, if all is plain."""
    n_bins, gain, low, high, is_perfect = scan(
        target,
        work,
        table.bins,
        np.uint64(table.stride),
        np.uint64(f) * np.uint64(table.step),
        work.rows,
        node.first,
        node.last,
        table.n_bins[f],
        n_words,
    )
    if gain > best:
        best = gain
        node.feature, node.missing_left = f, WITH_LARGER
        node.split_bin = np.uint8(between(low, high))
    return n_bins, best, is_perfect


# All features


@inlined
def _add_chunk(table, target, work, first, last, f, slot, marks):
    """Add gathered rows to the histogram of a feature."""
    stride, feature = np.uint64(table.stride), np.uint64(f) * np.uint64(table.step)
    add_rows(target, table.bins, stride, feature, work.rows, first, last, work, slot, marks)


@inlined
def _sum_large_node(table, target, work, first, last, n_drawn):
    """Sum the rows of a large node for several features, chunk by chunk."""
    clear_totals(work.totals)  # gathering sums them again, to the same values
    begin = first
    while begin < last:
        stop = min(begin + CHUNK, last)
        gather(target, work.weight, work.rows, begin, stop, work.rows[first], work)
        for slot in range(n_drawn):
            _add_chunk(table, target, work, begin, stop, work.drawn[slot], slot, NO)
        begin = stop


@merged
def find_byte_split(table, target, options, work, node, key):
    """Write the best split of a node to it; the totals of its rows are known.

    A node of up to CHUNK rows has been gathered; features are drawn one by one. In a larger node,
    as many are drawn at once as there are slots for histograms.
    """
    first, last, order = node.first, node.last, work.order
    n_slots = work.histograms.size // (N_BINS * work.totals.size)
    is_small = last - first <= CHUNK
    recall_constants(work, np.int64(node.n_constant))
    best, found, is_done, n_seen = -np.inf, False, False, np.int64(0)
    most, n_words = np.inf, ZERO
    if is_small and options.is_plain and options.is_exact:
        n_words = pack_rows(target, work, last - first)
    if last - first <= BOUNDED_ROWS and options.is_plain and not options.is_class:
        most = ALL_BUT_NOISE * bound_gain(target, work, last - first)
    while n_seen < order.size and (n_seen < options.n_drawn or not found) and not is_done:
        n_drawn = np.int64(0)
        n_wanted = np.int64(1) if is_small else n_slots
        while (
            n_drawn < n_wanted
            and n_seen < order.size
            and (n_seen < options.n_drawn or not (found or n_drawn))
        ):
            f = draw_feature(key, order, work.swaps, n_seen)
            n_seen += 1
            work.drawn[n_drawn] = f
            n_drawn += work.is_constant[f] == 0
        if not is_small and n_drawn > 0:
            _sum_large_node(table, target, work, first, last, n_drawn)
        for slot in range(n_drawn):
            f = np.int64(work.drawn[slot])
            is_plain = is_small and options.is_plain and table.is_plain[f]
            is_perfect = False
            if is_plain and options.random_cuts:
                n_bins, best, is_perfect = _examine_plain_cut(
                    table, target, work, node, f, n_words, key, best
                )
            elif is_plain:
                n_bins, best, is_perfect = _examine_plain(
                    table, target, work, node, f, n_words, best
                )
            else:
                if is_small:
                    marks = last - first <= FEW_ROWS
                    _add_chunk(table, target, work, first, last, f, ZERO, marks)
                n_bins, best = _examine(table, target, options, work, node, f, slot, key, best)
            if n_bins > 1:
                found = True
                # No other split can be better, by the same rounding: so only if all is plain.
                is_done |= options.is_plain and (
                    best >= most or last - first == 2 or (is_perfect and options.is_class)
                )
            else:
                note_constant(work, f)
    if options.random_cuts and options.is_plain and is_small and best > -np.inf:
        if table.is_plain[node.feature]:
            node.split_bin = find_kept_bin(work, table.centers[node.feature])
    put_back(order, work.swaps, n_seen)
    node.gain = best
    node.n_constant = work.n_constant[0]
