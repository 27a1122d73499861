"""Statistics with one column: a number to predict, or two classes."""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.forest.cuts import keep_if
from sumwise.kernels.forest.impurity import keeps_order, score_number
from sumwise.kernels.forest.layout import FEW_ROWS, FREE, N_BINS, POISSON, SET_WORDS
from sumwise.kernels.runtime.bits import find_lowest_bit
from sumwise.kernels.runtime.jit import ZERO, merged, routine

_ZERO, _ONE, _TWO, _SIX, _LOW = (np.uint64(number) for number in (0, 1, 2, 6, 63))


_BYTE = np.int64(255)


class Numbers(NamedTuple):
    """A target of one number a row."""

    value: Any  # float64 (n_rows,)


@merged
def gather(target, weight, rows, first, last, lead, work):
    """Put the weights and targets of up to CHUNK rows in order, and add them to the totals.

    Returns whether all targets are that of row ``lead``.
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
        # All is read before anything is written, so that both sums are one vector.
        w, s = chunk[_TWO * i], chunk[_TWO * i + _ONE]
        old_w, old_s = histogram[_TWO * b], histogram[_TWO * b + _ONE]
        histogram[_TWO * b] = old_w + w
        histogram[_TWO * b + _ONE] = old_s + s
        if marks:
            touched[b >> _SIX] |= _ONE << (b & _LOW)


@routine
def weigh_nothing(target, work, slot, n_bins):
    """The weights of bins have been added with the rest."""


@routine
def clear_bins(target, work, slot, n_present):
    """Set the sums of the present bins to zero again."""
    histogram, present = work.histograms[slot * 2 * N_BINS :], work.present
    for i in range(np.uint64(n_present)):
        b = _TWO * np.uint64(present[i])
        histogram[b] = 0.0
        histogram[b + _ONE] = 0.0


@routine
def rate_bins(target, work, slot, n_present):
    """The means of the present bins, by which categories are put in order."""
    base = slot * 2 * N_BINS
    for i in range(n_present):
        place = base + 2 * work.present[i]
        work.ratio[i] = work.histograms[place + 1] / work.histograms[place]


@merged
def scan(target, work, bins, stride, feature, rows, first, last, n_bins):
    """Find the best split of a gathered node on a numeric feature, where all is plain.

    Returns (distinct bins, gain, bin below the split, bin above it, whether of two classes only
    one is left on either side).

    The gain of a split is ``(s W - S w)**2 / (w (W - w) W)`` with sums w, s of the left side and
    W, S of the node. Sums come first and gains after them, without a branch that depends on them:
    to guess such a branch wrongly takes longer than a division.
    """
    histogram, touched, present, prefix = work.histograms, work.touched, work.present, work.prefix
    total_weight, total = work.totals[0], work.totals[1]
    is_tiny = last - first <= FEW_ROWS
    add_rows(target, bins, stride, feature, rows, first, last, work, ZERO, is_tiny)
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
    # Positive numbers have the order of their bits. The last eight of them are given up for the
    # place, so that one maximum finds both; of gains that equal otherwise, the first is taken.
    best = np.int64(0)
    for i in range(_ONE, n_present):
        w, s = prefix[_TWO * i], prefix[_TWO * i + _ONE]
        apart = s * total_weight - total * w
        gain = np.float64(apart * apart / (w * (total_weight - w))).view(np.int64)
        best = max(best, (gain | _BYTE) - np.int64(i))
    place = np.uint64(_BYTE - (best & _BYTE)) if n_present > 1 else _ONE
    w, s = prefix[_TWO * place], prefix[_TWO * place + _ONE]
    apart = s * total_weight - total * w
    most = apart * apart / (w * (total_weight - w)) if n_present > 1 else -np.inf
    is_perfect = (s == 0.0 or s == w) and (s == total or total - s == total_weight - w)
    low, high = present[place - _ONE], present[place]
    return np.int64(n_present), most / total_weight, low, high, is_perfect


@merged
def try_cut(target, work, n_rows, centers, value, low):
    """The gain of a split of the gathered rows after a value; and whether either side is pure.

    Rows of the bin ``low`` go left, wherever the value is.
    """
    codes, chunk = work.codes, work.chunk
    total_weight, total = work.totals[0], work.totals[1]
    # Two sums of each kind, for rows of even and odd numbers: neither has to wait for the other.
    w, s, other_w, other_s = 0.0, 0.0, 0.0, 0.0
    n = np.uint64(n_rows)
    for i in range(_ZERO, n - _ONE, _TWO):
        is_left = (centers[np.uint64(codes[i])] <= value) | (codes[i] == low)
        w += keep_if(is_left, chunk[_TWO * i])
        s += keep_if(is_left, chunk[_TWO * i + _ONE])
        j = i + _ONE
        is_left = (centers[np.uint64(codes[j])] <= value) | (codes[j] == low)
        other_w += keep_if(is_left, chunk[_TWO * j])
        other_s += keep_if(is_left, chunk[_TWO * j + _ONE])
    if n & _ONE:
        i = n - _ONE
        is_left = (centers[np.uint64(codes[i])] <= value) | (codes[i] == low)
        w += keep_if(is_left, chunk[_TWO * i])
        s += keep_if(is_left, chunk[_TWO * i + _ONE])
    w += other_w
    s += other_s
    apart = s * total_weight - total * w
    is_perfect = (s == 0.0 or s == w) and (s == total or total - s == total_weight - w)
    return apart * apart / (w * (total_weight - w)) / total_weight, is_perfect


@routine
def bound_gain(target, work, n_rows):
    """The most that any split of a few gathered rows can gain: by a cut in the order of targets."""
    order, ratio, chunk = work.present, work.ratio, work.chunk
    for i in range(n_rows):
        y = chunk[2 * i + 1] / chunk[2 * i]
        j = i
        while j > 0 and ratio[j - 1] > y:
            ratio[j], order[j] = ratio[j - 1], order[j - 1]
            j -= 1
        ratio[j], order[j] = y, i
    total_weight, total, best, w, s = work.totals[0], work.totals[1], 0.0, 0.0, 0.0
    for i in range(n_rows - 1):
        w += chunk[2 * order[i]]
        s += chunk[2 * order[i] + 1]
        apart = s * total_weight - total * w
        best = max(best, apart * apart / (w * (total_weight - w)))
    return best / total_weight


@routine
def sweep(target, options, work, slot, n_present, is_ordered, cut, direction, lower, upper):
    """Find the best place to cut the present bins in two.

    Returns (gain, place of the last bin on the left, missing goes left). Missing values may go
    either way where the feature is ordered. ``cut`` is the only place to look at, if not negative.
    """
    histogram = work.histograms[slot * 2 * N_BINS : (slot + 1) * 2 * N_BINS]
    present, counts, criterion = work.present, work.counts, options.criterion
    total_weight, total = work.totals[0], work.totals[1]
    has_missing = is_ordered and present[0] == 0
    n_rows = np.int64(0)
    for i in range(n_present):
        n_rows += counts[present[i]]
    missing_weight, missing_total, n_missing = 0.0, 0.0, np.int64(0)
    if has_missing:
        missing_weight, missing_total, n_missing = histogram[0], histogram[1], counts[0]
    # Sums of the right side are differences, in which rounding may leave events where there are
    # none, or none where there are some: what has events is told by the sums of bins.
    last_events = np.int64(-1)
    if criterion == POISSON:
        for i in range(np.int64(has_missing), n_present):
            if histogram[2 * present[i] + 1] > 0.0:
                last_events = np.int64(i)
    parent = score_number(criterion, total_weight, total)
    best, best_place, best_missing = -np.inf, np.int64(-1), np.uint8(0)
    w, s, n = 0.0, 0.0, np.int64(0)
    # With missing values, the last place parts them from all others.
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
            if min(left_weight, right_weight) < options.min_weight_leaf or (
                min(n_left, n_rows - n_left) < options.min_rows_leaf and options.min_rows_leaf > 1
            ):
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
    """Write the value of a node, within its bounds."""
    value[0] = min(max(totals[1] / totals[0], lower), upper)
