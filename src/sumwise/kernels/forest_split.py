"""The best split of a node of a forest's tree."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from sumwise.kernels.forest_layout import CHUNK, FEW_ROWS, FREE, N_BINS, SET_WORDS, WITH_MORE
from sumwise.kernels.forest_targets import add_rows, clear_bins, gather, rate_bins, sweep
from sumwise.kernels.jit import inlined, routine
from sumwise.kernels.layout import ZERO
from sumwise.kernels.random import extend_key, uniform

_ONE, _SIX, _LOW = np.uint64(1), np.uint64(6), np.uint64(63)


@intrinsic
def _find_lowest_bit(typing_context, word):
    """The place of the lowest bit that is set."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.IntType(1)(1))

    return types.uint64(types.uint64), generate


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
            present[n_present] = np.int64(_find_lowest_bit(bits)) + 64 * word
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
def _draw_cut(key, present, n_present):
    """Draw one of the bins from the first that has values to the last but one.

    Returns the bin after which to cut, and the place of the last present bin up to it.
    """
    begin = 1 if present[0] == 0 and n_present > 1 else 0
    low, high = present[begin], present[n_present - 1]
    split_bin = low + np.int64(uniform(key, ZERO) * (high - low))
    place = np.int64(begin)
    while place + 1 < n_present - 1 and present[place + 1] <= split_bin:
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
def find_split(table, target, options, work, node, key):
    """Write the best split of a node's rows, whose totals are known, to the node.

    A node of up to CHUNK rows has been gathered. Features are drawn one by one; those that are
    constant in the node count, but at least one other is looked at, if there is one.
    """
    first, last = node.first, node.last
    rows, order, present, counts = work.rows, work.order, work.present, work.counts
    stride = np.uint64(table.stride)
    n_stats = work.totals.size
    n_slots = work.histograms.size // (N_BINS * n_stats)
    is_small = last - first <= CHUNK
    is_tiny = last - first <= FEW_ROWS
    draws = options.n_drawn < order.size
    best = -np.inf
    n_seen, found = np.int64(0), False
    while n_seen < order.size and (n_seen < options.n_drawn or not found):
        wanted = max(options.n_drawn - n_seen, np.int64(1))
        n_batch = min(np.int64(1) if is_small else n_slots, wanted, order.size - n_seen)
        if draws:
            for i in range(n_seen, n_seen + n_batch):
                j = i + np.int64(uniform(key, i) * (order.size - i))
                order[i], order[j] = order[j], order[i]
        if is_small:
            feature = np.uint64(order[n_seen])
            add_rows(target, table.bins, stride, feature, rows, first, last, work, ZERO, is_tiny)
        else:
            clear_totals(work.totals)  # gathered again, to the same
            begin = first
            while begin < last:
                end = min(begin + CHUNK, last)
                gather(target, work.weight, rows, begin, end, rows[first], work)
                for slot in range(n_batch):
                    feature = np.uint64(order[n_seen + slot])
                    add_rows(
                        target, table.bins, stride, feature, rows, begin, end, work, slot, is_tiny
                    )
                begin = end
        for slot in range(n_batch):
            f = order[n_seen + slot]
            histogram = work.histograms[slot * N_BINS * n_stats : (slot + 1) * N_BINS * n_stats]
            if is_tiny:
                n_present = _list_touched(work.touched, present)
            else:
                n_present = _list_filled(histogram, table.n_bins[f], n_stats, present)
            if n_present > 1:
                found = True
                is_ordered = not table.is_category[f]
                feature_key = extend_key(key, order.size + f)
                if options.min_rows_leaf > 1:
                    for i in range(n_present):
                        counts[present[i]] = 0
                    _count_rows(table.bins, stride, np.uint64(f), rows, first, last, counts)
                cut, split_bin = np.int64(-1), np.int64(0)
                if not is_ordered:
                    if options.random_cuts:
                        _shuffle_bins(feature_key, present, n_present)
                        cut = np.int64(uniform(feature_key, ZERO) * (n_present - 1))
                    else:
                        rate_bins(target, work, slot, n_present)
                        _sort_bins(work.ratio, present, n_present)
                elif options.random_cuts:
                    split_bin, cut = _draw_cut(feature_key, present, n_present)
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
                    has_missing = present[0] == 0
                    node.missing_left = missing_left if has_missing else WITH_MORE
                    if not is_ordered:
                        _collect_set(present, place, work.best_set)
                        node.missing_left = np.uint8(work.best_set[0] & _ONE)
                    elif place == n_present - 1:
                        split_bin = table.n_bins[f] - 1  # all values on the left
                    elif cut < 0:
                        # Half way between the values of the node, as far as bins tell.
                        split_bin = (present[place] + present[place + 1]) >> 1
                    node.split_bin = np.uint8(split_bin)
            clear_bins(target, work, slot, n_present)
        n_seen += n_batch
    node.gain = best
