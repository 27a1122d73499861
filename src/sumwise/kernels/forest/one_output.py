"""Statistics with one column: a number to predict, or two classes.

Arguments that occur in several routines, here and in many_outputs.py:

target, work
    See targets.py and ``TreeWork``.
rows, first, last
    The rows are ``rows[first:last]``, at most CHUNK of them.
bins, stride, feature
    The bin of a row is ``bins[row * stride + feature]``; ``feature`` has been multiplied by the
    step of the table.
slot
    The place of a histogram among ``work.histograms``.
n_present
    The first items of ``work.present`` are the bins that the node's rows have.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.forest.bins import add_bin, sort_by_ratio
from sumwise.kernels.forest.cuts import is_before, keep_if
from sumwise.kernels.forest.impurity import (
    has_enough,
    keeps_order,
    scaled_gain,
    score_number,
    separates_classes,
)
from sumwise.kernels.forest.layout import FEW_ROWS, FREE, N_BINS, POISSON, SET_WORDS
from sumwise.kernels.runtime.bits import find_lowest_bit
from sumwise.kernels.runtime.jit import YES, ZERO, merged, routine

_ZERO, _ONE, _TWO, _SIX = (np.uint64(number) for number in (0, 1, 2, 6))
_BYTE = np.int64(255)


class Numbers(NamedTuple):
    """A target of one number per row."""

    value: Any  # float64 (n_rows,)


@merged
def gather(target, weight, rows, first, last, lead, work):
    """Copy the weights and targets of rows to ``work.chunk``, and add them to the totals.

    Returns whether all targets are equal to that of row ``lead``.
    """
    total_weight, total = 0.0, 0.0
    start = target.value[lead]
    is_pure = True
    for i in range(np.uint64(last - first)):
        row = np.uint64(rows[np.uint64(first) + i])
        w, y = weight[row], target.value[row]
        work.chunk[_TWO * i] = w
        work.chunk[_TWO * i + _ONE] = w * y
        total_weight += w
        total += w * y
        is_pure &= y == start
    work.totals[0] += total_weight
    work.totals[1] += total
    return is_pure


@merged
def add_rows(target, bins, stride, feature, rows, first, last, work, slot, marks):
    """Add the gathered rows to the histogram of a feature; mark the bins they touch, if asked."""
    histogram = work.histograms[slot * 2 * N_BINS : (slot + 1) * 2 * N_BINS]
    chunk, touched = work.chunk, work.touched
    for i in range(np.uint64(last - first)):
        b = np.uint64(bins[np.uint64(rows[np.uint64(first) + i]) * stride + feature])
        # Everything is read before anything is written, so that both sums are one vector.
        w, s = chunk[_TWO * i], chunk[_TWO * i + _ONE]
        old_w, old_s = histogram[_TWO * b], histogram[_TWO * b + _ONE]
        histogram[_TWO * b] = old_w + w
        histogram[_TWO * b + _ONE] = old_s + s
        if marks:
            add_bin(touched, b)


@merged
def add_entries(target, work, n_entries, n_rows, default):
    """Add the rows of a sparse node to the first histogram, and mark their bins.

    Rows without an entry are in the default bin, and have what remains of the totals.
    """
    histogram, touched, entries = work.histograms, work.touched, work.entries
    rest_w, rest_s = work.totals[0], work.totals[1]
    for i in range(np.uint64(n_entries)):
        row, b = np.uint64(entries.own_row[i]), np.uint64(entries.own_bin[i])
        w = work.weight[row]
        s = w * target.value[row]
        histogram[_TWO * b] += w
        histogram[_TWO * b + _ONE] += s
        rest_w -= w
        rest_s -= s
        add_bin(touched, b)
    if n_entries < n_rows:
        b = np.uint64(default)
        histogram[_TWO * b], histogram[_TWO * b + _ONE] = rest_w, rest_s
        add_bin(touched, b)


@routine
def weigh_nothing(target, work, slot, n_bins):
    """Do nothing: the weights of bins have been added together with the targets."""


@routine
def clear_bins(target, work, slot, n_present):
    """Set the sums of the present bins to zero."""
    histogram, present = work.histograms[slot * 2 * N_BINS :], work.present
    for i in range(np.uint64(n_present)):
        b = _TWO * np.uint64(present[i])
        histogram[b] = 0.0
        histogram[b + _ONE] = 0.0


@routine
def rate_bins(target, work, slot, n_present):
    """Write the means of the present bins, by which categories are sorted."""
    base = slot * 2 * N_BINS
    for i in range(n_present):
        place = base + 2 * work.present[i]
        work.ratio[i] = work.histograms[place + 1] / work.histograms[place]


@merged
def scan(target, work, bins, stride, feature, rows, first, last, n_bins, n_words):
    """Find the best split of a gathered node on a plain feature, with plain options.

    Returns (number of distinct bins, gain, bin below the split, bin above it, whether the split
    separates two classes).

    """
    is_tiny = last - first <= FEW_ROWS
    add_rows(target, bins, stride, feature, rows, first, last, work, ZERO, is_tiny)
    return _find_best_cut(work, is_tiny, n_bins)


@merged
def _find_best_cut(work, is_tiny, n_bins):
    """Find the best cut of the first histogram, and clear it; see :func:`scan`.

    All sums come first, then all gains, without a branch that depends on them: a mispredicted
    branch takes longer than a division. Bins are marked if the node is tiny.
    """
    histogram, touched, present, prefix = work.histograms, work.touched, work.present, work.prefix
    total_weight, total = work.totals[0], work.totals[1]
    n_present, w, s = np.uint64(0), 0.0, 0.0
    if is_tiny:
        for word in range(np.uint64(SET_WORDS)):
            bits = touched[word]
            touched[word] = 0
            while bits:
                b = find_lowest_bit(bits) | word << _SIX
                bits &= bits - _ONE
                present[n_present] = b
                prefix[_TWO * n_present], prefix[_TWO * n_present + _ONE] = w, s
                w += histogram[_TWO * b]
                s += histogram[_TWO * b + _ONE]
                histogram[_TWO * b] = 0.0
                histogram[_TWO * b + _ONE] = 0.0
                n_present += _ONE
    else:
        for b in range(_ONE, np.uint64(n_bins)):
            more = histogram[_TWO * b]
            present[n_present] = b
            prefix[_TWO * n_present], prefix[_TWO * n_present + _ONE] = w, s
            w += more
            s += histogram[_TWO * b + _ONE]
            histogram[_TWO * b] = 0.0
            histogram[_TWO * b + _ONE] = 0.0
            n_present += np.uint64(more > 0.0)
    # Positive floats have the order of their bits. The last eight bits are replaced by the place,
    # so that one maximum finds both; if the other bits are equal, the first place wins.
    best = np.int64(0)
    for i in range(_ONE, n_present):
        w, s = prefix[_TWO * i], prefix[_TWO * i + _ONE]
        gain = np.float64(scaled_gain(w, s, total_weight, total)).view(np.int64)
        best = max(best, (gain | _BYTE) - np.int64(i))
    place = np.uint64(_BYTE - (best & _BYTE)) if n_present > 1 else _ONE
    w, s = prefix[_TWO * place], prefix[_TWO * place + _ONE]
    most = scaled_gain(w, s, total_weight, total) if n_present > 1 else -np.inf
    is_perfect = separates_classes(w, s, total_weight, total)
    low, high = present[place - _ONE], present[place]
    return np.int64(n_present), most / total_weight, low, high, is_perfect


@merged
def scan_entries(target, work, n_entries, n_rows, default):
    """:func:`scan` for a sparse node."""
    add_entries(target, work, n_entries, n_rows, default)
    return _find_best_cut(work, YES, ZERO)


@merged
def try_cut(target, work, n_rows, cut):
    """Return the gain of a random cut of gathered rows, and whether it separates two classes.

    See cuts.py for ``cut``.
    """
    codes, chunk = work.codes, work.chunk
    total_weight, total = work.totals[0], work.totals[1]
    # Two sums of each kind, for even and odd rows: neither has to wait for the other.
    w, s, other_w, other_s = 0.0, 0.0, 0.0, 0.0
    n = np.uint64(n_rows)
    for i in range(_ZERO, n - _ONE, _TWO):
        is_left = is_before(cut, codes[i])
        w += keep_if(is_left, chunk[_TWO * i])
        s += keep_if(is_left, chunk[_TWO * i + _ONE])
        j = i + _ONE
        is_left = is_before(cut, codes[j])
        other_w += keep_if(is_left, chunk[_TWO * j])
        other_s += keep_if(is_left, chunk[_TWO * j + _ONE])
    if n & _ONE:
        i = n - _ONE
        is_left = is_before(cut, codes[i])
        w += keep_if(is_left, chunk[_TWO * i])
        s += keep_if(is_left, chunk[_TWO * i + _ONE])
    w += other_w
    s += other_s
    is_perfect = separates_classes(w, s, total_weight, total)
    return scaled_gain(w, s, total_weight, total) / total_weight, is_perfect


@merged
def try_cut_of_entries(target, work, n_entries, default, cut):
    """:func:`try_cut` for a sparse node."""
    entries, total_weight, total = work.entries, work.totals[0], work.totals[1]
    is_default_left = is_before(cut, default)
    w, s = 0.0, 0.0  # of the rows on the other side than the default bin
    for i in range(np.uint64(n_entries)):
        row = np.uint64(entries.own_row[i])
        is_left = is_before(cut, entries.own_bin[i])
        more = keep_if(is_left != is_default_left, work.weight[row])
        w += more
        s += more * target.value[row]
    if is_default_left:
        w, s = total_weight - w, total - s
    is_perfect = separates_classes(w, s, total_weight, total)
    return scaled_gain(w, s, total_weight, total) / total_weight, is_perfect


@routine
def bound_gain(target, work, n_rows):
    """Return the largest gain that any split of a few gathered rows can have.

    It is that of the best cut of the rows in the order of their targets.
    """
    order, ratio, chunk = work.present, work.ratio, work.chunk
    for i in range(n_rows):
        ratio[i], order[i] = chunk[2 * i + 1] / chunk[2 * i], i
    sort_by_ratio(ratio, order, n_rows)
    total_weight, total, best, w, s = work.totals[0], work.totals[1], 0.0, 0.0, 0.0
    for i in range(n_rows - 1):
        w += chunk[2 * order[i]]
        s += chunk[2 * order[i] + 1]
        best = max(best, scaled_gain(w, s, total_weight, total))
    return best / total_weight


@routine
def sweep(target, options, work, slot, n_rows, n_present, is_ordered, cut, bounds):
    """Find the best place to cut the present bins in two.

    Returns (gain, place of the last bin on the left, whether missing goes left). If the feature is
    ordered, missing values may go either way. If ``cut`` is not negative, it is the only place to
    consider. ``bounds`` has the direction of the feature, and the bounds of the children's values.
    """
    histogram = work.histograms[slot * 2 * N_BINS : (slot + 1) * 2 * N_BINS]
    present, counts, criterion = work.present, work.counts, options.criterion
    total_weight, total = work.totals[0], work.totals[1]
    direction, lower, upper = bounds
    has_missing = is_ordered and present[0] == 0
    missing_weight, missing_total, n_missing = 0.0, 0.0, np.int64(0)
    if has_missing:
        missing_weight, missing_total, n_missing = histogram[0], histogram[1], counts[0]
    # Sums of the right side are differences: rounding may leave events where there are none, or
    # none where there are some. The sums of the bins tell which bins have events.
    last_events = np.int64(-1)
    if criterion == POISSON:
        for i in range(np.int64(has_missing), n_present):
            if histogram[2 * present[i] + 1] > 0.0:
                last_events = np.int64(i)
    parent = score_number(criterion, total_weight, total)
    best, best_place, best_missing = -np.inf, np.int64(-1), np.uint8(0)
    w, s, n = 0.0, 0.0, np.int64(0)
    # With missing values, the last place separates them from all others.
    for i in range(np.int64(has_missing), n_present - np.int64(not has_missing)):
        b = np.uint64(present[i])
        w += histogram[_TWO * b]
        s += histogram[_TWO * b + _ONE]
        n += counts[b]
        if cut >= 0 and i != cut:
            continue
        for way in range(2 if has_missing and i < n_present - 1 else 1):
            left_weight, left = w + way * missing_weight, s + way * missing_total
            right_weight, right = total_weight - left_weight, total - left
            n_left = n + way * n_missing
            if not has_enough(options, left_weight, right_weight, n_left, n_rows - n_left):
                continue
            # A leaf that expects no events at all has no Poisson deviance.
            if criterion == POISSON and not (
                left > 0.0 and (i < last_events or (way == 0 and missing_total > 0.0))
            ):
                continue
            if direction != FREE and not keeps_order(
                direction, lower, upper, left / left_weight, right / right_weight
            ):
                continue
            gain = score_number(criterion, left_weight, left)
            gain += score_number(criterion, right_weight, right)
            if gain - parent > best:
                best, best_place, best_missing = gain - parent, i, np.uint8(way)
    return best, best_place, best_missing


@routine
def write_value(target, totals, lower, upper, value):
    """Write the value of a node: its mean, within its bounds."""
    value[0] = min(max(totals[1] / totals[0], lower), upper)
