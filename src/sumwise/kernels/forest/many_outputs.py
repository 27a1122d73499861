"""Statistics with several columns: more than two classes, or several targets to predict."""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.forest.cuts import keep_if
from sumwise.kernels.forest.impurity import score_columns, score_others
from sumwise.kernels.forest.layout import N_BINS, POISSON, QUADRATIC, SET_WORDS
from sumwise.kernels.runtime.bits import find_lowest_bit
from sumwise.kernels.runtime.jit import ZERO, merged, routine

_ONE, _SIX, _LOW = (np.uint64(number) for number in (1, 6, 63))


class Labels(NamedTuple):
    """A target of classes, numbered from 0."""

    label: Any  # int64 (n_rows,)


class Vectors(NamedTuple):
    """A target of several numbers a row."""

    value: Any  # float64 (n_rows, n_columns)


class MultiLabels(NamedTuple):
    """A target of several classes per row, one for each output.

    The columns of all classes of the first output come first, then those of the second, and so on.
    """

    column: Any  # int64 (n_rows, n_outputs): that of a row's class
    first: Any  # int64 (n_outputs,): the first column of an output


@merged
def gather_labels(target, weight, rows, first, last, lead, work):
    """Put the weights and classes of up to CHUNK rows in order, and add them to the totals."""
    start = target.label[lead]
    is_pure = True
    for i in range(np.uint64(last - first)):
        row = np.uint64(rows[np.uint64(first) + i])
        w, label = weight[row], target.label[row]
        work.chunk[i] = w
        work.chunk_label[i] = label + 1
        work.totals[0] += w
        work.totals[np.uint64(label + 1)] += w
        is_pure &= label == start
    return is_pure


@routine
def gather_vectors(target, weight, rows, first, last, lead, work):
    """The same for vectors, which stay where they are."""
    n_columns = target.value.shape[1]
    is_pure = True
    for i in range(last - first):
        row = rows[first + i]
        w = weight[row]
        work.chunk[i] = w
        work.totals[0] += w
        for k in range(n_columns):
            work.totals[k + 1] += w * target.value[row, k]
            is_pure &= target.value[row, k] == target.value[lead, k]
    return is_pure


@routine
def gather_multi_labels(target, weight, rows, first, last, lead, work):
    """The same for the classes of several outputs, which stay where they are."""
    n_outputs = target.column.shape[1]
    is_pure = True
    for i in range(last - first):
        row = rows[first + i]
        w = weight[row]
        work.chunk[i] = w
        work.totals[0] += w
        for k in range(n_outputs):
            work.totals[target.column[row, k] + 1] += w
            is_pure &= target.column[row, k] == target.column[lead, k]
    return is_pure


@merged
def add_labels(target, bins, stride, feature, rows, first, last, work, slot, marks):
    """Add the gathered rows to the histogram of a feature, but for the weights of its bins."""
    n_stats = np.uint64(work.totals.size)
    histogram = work.histograms[slot * N_BINS * work.totals.size :]
    chunk, labels, touched = work.chunk, work.chunk_label, work.touched
    for i in range(np.uint64(last - first)):
        row = np.uint64(rows[np.uint64(first) + i])
        b = np.uint64(bins[row * stride + feature])
        histogram[n_stats * b + np.uint64(labels[i])] += chunk[i]
        if marks:
            touched[b >> _SIX] |= _ONE << (b & _LOW)


@routine
def weigh_labels(target, work, slot, n_bins):
    """The weight of a bin is that of its classes."""
    n_stats = work.totals.size
    histogram = work.histograms[slot * N_BINS * n_stats :]
    for b in range(n_bins):
        weight = 0.0
        for k in range(1, n_stats):
            weight += histogram[b * n_stats + k]
        histogram[b * n_stats] = weight


@routine
def weigh_nothing(target, work, slot, n_bins):
    """The weights of rows have been added with their targets."""


@routine
def add_vectors(target, bins, stride, feature, rows, first, last, work, slot, marks):
    """Add the gathered rows to the histogram of a feature."""
    n_stats = work.totals.size
    histogram = work.histograms[slot * N_BINS * n_stats :]
    for i in range(last - first):
        row = np.int64(rows[first + i])
        w = work.chunk[i]
        b = np.uint64(bins[np.uint64(row) * stride + feature])
        place = n_stats * np.int64(b)
        histogram[place] += w
        for k in range(1, n_stats):
            histogram[place + k] += w * target.value[row, k - 1]
        if marks:
            work.touched[b >> _SIX] |= _ONE << (b & _LOW)


@routine
def add_multi_labels(target, bins, stride, feature, rows, first, last, work, slot, marks):
    """Add the gathered rows to the histogram of a feature."""
    n_stats, n_outputs = work.totals.size, target.column.shape[1]
    histogram = work.histograms[slot * N_BINS * n_stats :]
    for i in range(last - first):
        row = np.int64(rows[first + i])
        w = work.chunk[i]
        b = np.uint64(bins[np.uint64(row) * stride + feature])
        place = n_stats * np.int64(b)
        histogram[place] += w
        for k in range(n_outputs):
            histogram[place + 1 + target.column[row, k]] += w
        if marks:
            work.touched[b >> _SIX] |= _ONE << (b & _LOW)


@routine
def clear_bins(target, work, slot, n_present):
    """Set the sums of the present bins to zero again."""
    n_stats = work.totals.size
    for i in range(n_present):
        place = (slot * N_BINS + work.present[i]) * n_stats
        for k in range(n_stats):
            work.histograms[place + k] = 0.0


@routine
def rate_bins(target, work, slot, n_present):
    """By what categories are put in order: their means of the column that has the largest sum."""
    n_stats = work.totals.size
    column = 1
    for k in range(2, n_stats):
        if work.totals[k] > work.totals[column]:
            column = k
    for i in range(n_present):
        place = (slot * N_BINS + work.present[i]) * n_stats
        work.ratio[i] = work.histograms[place + column] / work.histograms[place]


@merged
def scan_labels(target, work, bins, stride, feature, rows, first, last, n_bins):
    """Find the best split of a gathered node on a numeric feature, where all is plain.

    See forest_numbers.py. Rows of one bin are chained; then they go from the right to the left,
    bin by bin, and each changes the sums of squares by a little: however many classes there are,
    a row takes the same time.
    """
    totals, left, touched = work.totals, work.left, work.touched
    next_row, bin_row, labels, chunk = work.next_row, work.bin_row, work.chunk_label, work.chunk
    for i in range(np.uint64(last - first)):
        b = np.uint64(bins[np.uint64(rows[np.uint64(first) + i]) * stride + feature])
        bit = _ONE << (b & _LOW)
        next_row[i] = bin_row[b] if touched[b >> _SIX] & bit else -1
        bin_row[b] = i
        touched[b >> _SIX] |= bit
    best, low, high, n_distinct, previous = -np.inf, np.int64(0), np.int64(0), np.int64(0), ZERO
    total_weight, of_right, of_left, w = totals[0], 0.0, 0.0, 0.0
    for k in range(1, totals.size):
        of_right += totals[k] * totals[k]
        left[k] = 0.0
    parent = of_right / total_weight
    for word in range(SET_WORDS):
        bits = touched[np.uint64(word)]
        touched[np.uint64(word)] = 0
        while bits:
            b = find_lowest_bit(bits) | np.uint64(word) << _SIX
            bits &= bits - _ONE
            rest = total_weight - w
            score, scale = of_left * rest + of_right * w, w * rest
            if score > best * scale and scale > 0.0:
                best, low, high = score / scale, previous, np.int64(b)
            i = bin_row[b]
            while i >= 0:
                k, more = np.uint64(labels[i]), chunk[i]
                old = left[k]
                of_left += more * (2.0 * old + more)
                of_right -= more * (2.0 * (totals[k] - old) - more)
                left[k] = old + more
                w += more
                i = next_row[i]
            previous = np.int64(b)
            n_distinct += 1
    # Both sides are pure if the squares of the classes are those of the whole.
    return n_distinct, best - parent, low, high, best == total_weight


@merged
def try_cut(target, work, n_rows, centers, value, low):
    """The gain of a split of the gathered rows after a value; and whether either side is pure."""
    codes, chunk, labels, totals, left = (
        work.codes,
        work.chunk,
        work.chunk_label,
        work.totals,
        work.left,
    )
    for k in range(totals.size):
        left[k] = 0.0
    for i in range(np.uint64(n_rows)):
        is_left = (centers[np.uint64(codes[i])] <= value) | (codes[i] == low)
        more = keep_if(is_left, chunk[i])
        left[0] += more
        left[np.uint64(labels[i])] += more
    score = score_columns(QUADRATIC, left) + score_others(QUADRATIC, totals, left)
    return score - score_columns(QUADRATIC, totals), score == totals[0]


@routine
def bound_gain(target, work, n_rows):
    """Nothing is known of what can be gained."""
    return np.inf


@routine
def _has_events(left, histogram, present, begin, n_present, missing_right):
    """Whether each column has events on both sides; on the right are the bins from ``begin`` on.

    The bins are asked, for rounding may leave events in differences of sums.
    """
    n_stats = left.size
    for k in range(1, n_stats):
        on_right = missing_right and histogram[k] > 0.0
        for i in range(begin, n_present):
            on_right |= histogram[n_stats * present[i] + k] > 0.0
        if not (on_right and left[k] > 0.0):
            return False
    return True


@routine
def sweep(target, options, work, slot, n_present, is_ordered, cut, direction, lower, upper):
    """Find the best place to cut the present bins in two; see forest_numbers.py.

    There are no monotone constraints on several columns.
    """
    n_stats = work.totals.size
    histogram = work.histograms[slot * N_BINS * n_stats : (slot + 1) * N_BINS * n_stats]
    present, counts, criterion = work.present, work.counts, options.criterion
    totals, left = work.totals, work.left
    n_rows = np.int64(0)
    for i in range(n_present):
        n_rows += counts[present[i]]
    parent = score_columns(criterion, totals)
    has_missing = is_ordered and present[0] == 0
    best, best_place, best_missing = -np.inf, np.int64(-1), np.uint8(0)
    for way in range(2 if has_missing else 1):
        for k in range(n_stats):
            left[k] = histogram[k] if way else 0.0
        n_left = counts[0] if way else np.int64(0)
        # With missing values on the right, the last place parts them from all others.
        last = n_present if has_missing and way == 0 else n_present - 1
        for i in range(1 if has_missing else 0, last):
            place = n_stats * present[i]
            for k in range(n_stats):
                left[k] += histogram[place + k]
            n_left += counts[present[i]]
            if cut >= 0 and i != cut:
                continue
            if min(left[0], totals[0] - left[0]) < options.min_weight_leaf or (
                min(n_left, n_rows - n_left) < options.min_rows_leaf and options.min_rows_leaf > 1
            ):
                continue
            gain = score_columns(criterion, left) + score_others(criterion, totals, left) - parent
            if gain > best:
                # A leaf that expects no events at all has no Poisson deviance.
                if criterion == POISSON and not _has_events(
                    left, histogram, present, i + 1, n_present, has_missing and way == 0
                ):
                    continue
                best, best_place, best_missing = gain, i, np.uint8(way)
    return best, best_place, best_missing


@routine
def write_value(target, totals, lower, upper, value):
    """Write the value of a node: the means of all columns."""
    for k in range(value.size):
        value[k] = totals[k + 1] / totals[0]
