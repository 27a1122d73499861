"""The best split of a node of a forest's tree."""

import numpy as np

from sumwise.kernels.forest.cuts import draw_value, find_bin, gather_bins
from sumwise.kernels.forest.layout import (
    ALL_BUT_NOISE,
    BOUNDED_ROWS,
    CHUNK,
    FEW_ROWS,
    FREE,
    N_BINS,
    SET_WORDS,
    WITH_MORE,
)
from sumwise.kernels.forest.targets import (
    add_rows,
    bound_gain,
    clear_bins,
    gather,
    rate_bins,
    scan,
    sweep,
    try_cut,
    weigh_bins,
)
from sumwise.kernels.runtime.bits import find_lowest_bit
from sumwise.kernels.runtime.jit import ZERO, inlined, merged, routine
from sumwise.kernels.runtime.random import extend_key, uniform

_ONE, _SIX, _LOW = np.uint64(1), np.uint64(6), np.uint64(63)


@routine
def clear_totals(totals):
    """Set all sums to zero."""
    for k in range(totals.size):
        totals[k] = 0.0


@inlined
def _count_rows(bins, stride, feature, rows, first, last, counts):
    """Count the rows of each bin."""
    for i in range(np.uint64(first), np.uint64(last)):
        counts[np.uint64(bins[np.uint64(rows[i]) * stride + feature])] += 1


@inlined
def _list_touched(touched, present):
    """List the marked bins in order, and take the marks away; return their number."""
    n_present = np.int64(0)
    for word in range(SET_WORDS):
        bits = touched[word]
        touched[word] = 0
        while bits:
            present[n_present] = np.int64(find_lowest_bit(bits)) + 64 * word
            n_present += 1
            bits &= bits - _ONE
    return n_present


@inlined
def _list_filled(histogram, n_bins, n_stats, present):
    """List the bins with weight in order; return their number."""
    n_present = np.int64(0)
    for b in range(n_bins):
        present[n_present] = b
        n_present += histogram[b * n_stats] > 0.0
    return n_present


@routine
def _sort_bins(ratio, present, n_present):
    """Put bins in the order of their ratios; equal ones stay in the order of the bins."""
    for i in range(1, n_present):
        r, b = ratio[i], present[i]
        j = i
        while j > 0 and ratio[j - 1] > r:
            ratio[j], present[j] = ratio[j - 1], present[j - 1]
            j -= 1
        ratio[j], present[j] = r, b


@routine
def _shuffle_bins(key, present, n_present):
    """Put bins in a random order."""
    for i in range(n_present - 1):
        j = i + np.int64(uniform(key, 2 + i) * (n_present - i))
        present[i], present[j] = present[j], present[i]


@inlined
def _draw_cut(key, centers, present, n_present):
    """Return the bin after which to cut, and the place of the last present bin up to it."""
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
    """Note the bins that go left."""
    for word in range(SET_WORDS):
        best_set[word] = 0
    for i in range(place + 1):
        b = np.uint64(present[i])
        best_set[b >> _SIX] |= _ONE << (b & _LOW)


@routine
def _look_at(table, target, options, work, node, f, slot, key, best):
    """Write the best split on a feature to the node if it gains more than ``best``.

    The histogram of the feature lies in a slot, and is zero again afterwards. Returns the number
    of bins that the node has of it, and the gain of the best split so far.
    """
    present, n_stats = work.present, work.totals.size
    weigh_bins(target, work, slot, table.n_bins[f])
    if node.last - node.first <= FEW_ROWS:
        n_present = _list_touched(work.touched, present)
    else:
        histogram = work.histograms[slot * N_BINS * n_stats :]
        n_present = _list_filled(histogram, table.n_bins[f], n_stats, present)
    if n_present > 1:
        if options.min_rows_leaf > 1:
            for i in range(n_present):
                work.counts[present[i]] = 0
            stride, feature = np.uint64(table.stride), np.uint64(f) * np.uint64(table.step)
            _count_rows(table.bins, stride, feature, work.rows, node.first, node.last, work.counts)
        has_missing, is_ordered = present[0] == 0, not table.is_category[f]
        cut, split_bin = np.int64(-1), np.int64(0)
        feature_key = extend_key(key, work.order.size + f)
        if not is_ordered:
            if options.random_cuts:
                _shuffle_bins(feature_key, present, n_present)
                cut = np.int64(uniform(feature_key, ZERO) * (n_present - 1))
            else:
                rate_bins(target, work, slot, n_present)
                _sort_bins(work.ratio, present, n_present)
        elif options.random_cuts:
            split_bin, cut = _draw_cut(feature_key, table.centers[f], present, n_present)
        direction = table.direction[f] if table.direction.size else FREE
        gain, place, missing_left = sweep(
            target,
            options,
            work,
            slot,
            n_present,
            is_ordered,
            cut,
            direction,
            node.lower,
            node.upper,
        )
        if gain > best:
            best = gain
            node.feature = f
            node.missing_left = missing_left if has_missing else WITH_MORE
            if not is_ordered:
                _collect_set(present, place, work.best_set)
                if has_missing:
                    node.missing_left = np.uint8(work.best_set[0] & _ONE)
            elif place == n_present - 1:
                split_bin = table.n_bins[f] - 1  # all values on the left
            elif cut < 0:
                split_bin = _between(present[place], present[place + 1])
            node.split_bin = np.uint8(split_bin)
    clear_bins(target, work, slot, n_present)
    return n_present, best


@inlined
def _between(low, high):
    """Half way between the values of the node, as far as bins tell."""
    return (low + high) >> 1


@inlined
def _recall_constants(work, n_constant):
    """Keep the first features of those known to be constant: the node below knows no more."""
    for i in range(n_constant, work.n_constant[0]):
        work.is_constant[work.constant[i]] = 0
    work.n_constant[0] = n_constant


@inlined
def _note_constant(work, f):
    """A feature that is constant in a node is so in all nodes below."""
    work.constant[work.n_constant[0]] = f
    work.n_constant[0] += 1
    work.is_constant[f] = 1


@inlined
def _draw_feature(key, order, swaps, n_seen):
    """Draw one of the features that have not been drawn."""
    j = n_seen + np.int64(uniform(key, n_seen) * (order.size - n_seen))
    swaps[n_seen] = j
    order[n_seen], order[j] = order[j], order[n_seen]
    return np.int64(order[n_seen])


@inlined
def _put_back(order, swaps, n_seen):
    """Undo the draws: those of a node do not depend on any other's."""
    for i in range(n_seen - 1, -1, -1):
        order[i], order[swaps[i]] = order[swaps[i]], order[i]


@merged
def find_split(table, target, options, work, node, key):
    """Write the best split of a node's rows, whose totals are known, to the node.

    A node of up to CHUNK rows has been gathered. Features are drawn one by one, or as many at once
    as there are slots if the node is large. Those that are constant in the node count, but at least
    one other is looked at, if there is one.
    """
    first, last, rows, order, drawn = node.first, node.last, work.rows, work.order, work.drawn
    stride, step = np.uint64(table.stride), np.uint64(table.step)
    n_slots = work.histograms.size // (N_BINS * work.totals.size)
    is_small = last - first <= CHUNK
    is_tiny = last - first <= FEW_ROWS
    _recall_constants(work, np.int64(node.n_constant))
    best, found, is_done, n_seen = -np.inf, False, False, np.int64(0)
    most = np.inf
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
            f = _draw_feature(key, order, work.swaps, n_seen)
            n_seen += 1
            drawn[n_drawn] = f
            n_drawn += work.is_constant[f] == 0
        if not is_small and n_drawn > 0:
            clear_totals(work.totals)  # gathered again, to the same
            begin = first
            while begin < last:
                stop = min(begin + CHUNK, last)
                gather(target, work.weight, rows, begin, stop, rows[first], work)
                for slot in range(n_drawn):
                    feature = np.uint64(drawn[slot]) * step
                    add_rows(
                        target, table.bins, stride, feature, rows, begin, stop, work, slot, False
                    )
                begin = stop
        for slot in range(n_drawn):
            f = np.int64(drawn[slot])
            is_perfect = False
            if is_small and options.is_plain and table.is_plain[f] and options.random_cuts:
                feature = np.uint64(f) * step
                low, high = gather_bins(table.bins, stride, feature, rows, first, last, work.codes)
                n_bins = np.int64(1) + (low < high)
                if low < high:
                    centers = table.centers[f]
                    value = draw_value(extend_key(key, order.size + f), centers, low, high)
                    gain, is_perfect = try_cut(target, work, last - first, centers, value, low)
                    if gain > best:
                        best = gain
                        node.feature, node.missing_left = f, WITH_MORE
                        node.split_bin = np.uint8(find_bin(centers, value, low, high))
            elif is_small and options.is_plain and table.is_plain[f]:
                n_bins, gain, low, high, is_perfect = scan(
                    target,
                    work,
                    table.bins,
                    stride,
                    np.uint64(f) * step,
                    rows,
                    first,
                    last,
                    table.n_bins[f],
                )
                if gain > best:
                    best = gain
                    node.feature, node.missing_left = f, WITH_MORE
                    node.split_bin = np.uint8(_between(low, high))
            else:
                if is_small:
                    feature = np.uint64(f) * step
                    add_rows(
                        target, table.bins, stride, feature, rows, first, last, work, ZERO, is_tiny
                    )
                n_bins, best = _look_at(table, target, options, work, node, f, slot, key, best)
            if n_bins > 1:
                found = True
                # No other split can be better. (Others than plain ones round in other ways.)
                is_done |= options.is_plain and (
                    best >= most or last - first == 2 or (is_perfect and options.is_class)
                )
            else:
                _note_constant(work, f)
    _put_back(order, work.swaps, n_seen)
    node.gain = best
    node.n_constant = work.n_constant[0]
