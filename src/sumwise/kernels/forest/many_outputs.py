"""Statistics with several columns: more than two classes, or several targets to predict.

The arguments are those of one_output.py.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.forest.bins import add_bin, list_touched
from sumwise.kernels.forest.by_type import choose_by_type
from sumwise.kernels.forest.cuts import is_before, keep_if
from sumwise.kernels.forest.impurity import has_enough, score_columns, score_others
from sumwise.kernels.forest.layout import N_BINS, POISSON, QUADRATIC, SET_WORDS
from sumwise.kernels.forest.packing import scan_packed
from sumwise.kernels.runtime.bits import find_lowest_bit
from sumwise.kernels.runtime.jit import NO, ZERO, merged, routine

_ONE, _SIX, _LOW = (np.uint64(number) for number in (1, 6, 63))
_FIRST_COLUMN = np.int64(1)


class Labels(NamedTuple):
    """A target of one class per row, numbered from 0."""

    label: Any  # int64 (n_rows,)


class Vectors(NamedTuple):
    """A target of several numbers per row."""

    value: Any  # float64 (n_rows, n_columns)


class MultiLabels(NamedTuple):
    """A target of several outputs per row, a class of each.

    There is one column per class of each output: first all classes of the first output, then those
    of the second, and so on. The sum over columns is the sum over outputs, so impurities are
    averaged over outputs, up to a factor.
    """

    column: Any  # int64 (n_rows, n_outputs): that of the row's class
    first: Any  # int64 (n_outputs,): the first column of an output


# Sums of rows


@merged
def gather_labels(target, weight, rows, first, last, lead, work):
    """Copy the weights and classes of rows to ``work``, and add them to the totals."""
    start, total_weight = target.label[lead], work.totals[0]
    is_pure = True
    for i in range(np.uint64(last - first)):
        row = np.uint64(rows[np.uint64(first) + i])
        w, label = weight[row], target.label[row]
        work.chunk[i] = w
        work.chunk_label[i] = label + 1
        total_weight += w
        work.totals[np.uint64(label + 1)] += w
        is_pure &= label == start
    work.totals[0] = total_weight
    return is_pure


@merged
def add_labels(target, bins, stride, feature, rows, first, last, work, slot, marks):
    """Add the gathered rows to the histogram of a feature, except for the weights of its bins."""
    n_stats = np.uint64(work.totals.size)
    histogram = work.histograms[slot * N_BINS * work.totals.size :]
    chunk, labels, touched = work.chunk, work.chunk_label, work.touched
    for i in range(np.uint64(last - first)):
        row = np.uint64(rows[np.uint64(first) + i])
        b = np.uint64(bins[row * stride + feature])
        histogram[n_stats * b + np.uint64(labels[i])] += chunk[i]
        if marks:
            add_bin(touched, b)


@routine
def weigh_labels(target, work, slot, n_bins):
    """Write the weight of each bin: the sum of its classes."""
    n_stats = work.totals.size
    histogram = work.histograms[slot * N_BINS * n_stats :]
    for b in range(n_bins):
        weight = 0.0
        for k in range(1, n_stats):
            weight += histogram[b * n_stats + k]
        histogram[b * n_stats] = weight


@routine
def _add_vector(target, row, weight, sums, place):
    """Add weight times target of a row to the sums from ``place`` on."""
    for k in range(target.value.shape[1]):
        sums[place + k] += weight * target.value[row, k]


@routine
def _add_class(target, row, weight, sums, place):
    """The same for a class."""
    sums[place + target.label[row]] += weight


@routine
def _add_classes(target, row, weight, sums, place):
    """The same for the classes of several outputs."""
    for k in range(target.column.shape[1]):
        sums[place + target.column[row, k]] += weight


_add_row = choose_by_type(
    "add_row", {Vectors: _add_vector, Labels: _add_class, MultiLabels: _add_classes}
)


@routine
def _are_equal(items, row, other):
    """Whether two rows have the same items."""
    is_same = True
    for k in range(items.shape[1]):
        is_same &= items[row, k] == items[other, k]
    return is_same


@routine
def gather_columns(target, weight, rows, first, last, lead, work):
    """Copy the weights of rows to ``work.chunk``, and add the rows to the totals.

    Vectors and classes of several outputs are not copied.
    """
    items, is_pure = target[0], True  # the values of vectors, or the columns of classes
    for i in range(last - first):
        row = np.int64(rows[first + i])
        w = weight[row]
        work.chunk[i] = w
        work.totals[0] += w
        _add_row(target, row, w, work.totals, _FIRST_COLUMN)
        is_pure &= _are_equal(items, row, np.int64(lead))
    return is_pure


@routine
def add_columns(target, bins, stride, feature, rows, first, last, work, slot, marks):
    """Add the gathered rows to the histogram of a feature."""
    n_stats = work.totals.size
    histogram = work.histograms[slot * N_BINS * n_stats :]
    for i in range(last - first):
        row = np.int64(rows[first + i])
        b = np.uint64(bins[np.uint64(row) * stride + feature])
        place = n_stats * np.int64(b)
        histogram[place] += work.chunk[i]
        _add_row(target, row, work.chunk[i], histogram, place + 1)
        if marks:
            add_bin(work.touched, b)


@routine
def add_entries(target, work, n_entries, n_rows, default):
    """Add the rows of a sparse node to the first histogram, and mark their bins.

    Rows without an entry are in the default bin, and have what remains of the totals.
    """
    n_stats, entries = work.totals.size, work.entries
    of_default = n_stats * np.int64(default)
    for k in range(n_stats):
        work.histograms[of_default + k] = work.totals[k]
    for i in range(n_entries):
        row, b = np.int64(entries.own_row[i]), np.uint64(entries.own_bin[i])
        w, place = work.weight[row], n_stats * np.int64(b)
        work.histograms[place] += w
        work.histograms[of_default] -= w
        _add_row(target, row, w, work.histograms, place + 1)
        _add_row(target, row, -w, work.histograms, of_default + 1)
        add_bin(work.touched, b)
    if n_entries < n_rows:
        add_bin(work.touched, np.uint64(default))


@routine
def clear_bins(target, work, slot, n_present):
    """Set the sums of the present bins to zero."""
    n_stats = work.totals.size
    for i in range(n_present):
        place = (slot * N_BINS + work.present[i]) * n_stats
        for k in range(n_stats):
            work.histograms[place + k] = 0.0


# Splits


@routine
def rate_bins(target, work, slot, n_present):
    """Write the means by which categories are sorted: of the column with the largest sum."""
    n_stats = work.totals.size
    column = 1
    for k in range(2, n_stats):
        if work.totals[k] > work.totals[column]:
            column = k
    for i in range(n_present):
        place = (slot * N_BINS + work.present[i]) * n_stats
        work.ratio[i] = work.histograms[place + column] / work.histograms[place]


@merged
def scan_labels(target, work, bins, stride, feature, rows, first, last, n_bins, n_words):
    """Find the best split of a gathered node on a plain feature, with plain options.

    Returns what ``scan`` of one_output.py does. Rows of the same bin are chained. Then they move
    from the right side to the left, bin by bin, and each updates the sums of squares: the time per
    row does not depend on the number of classes. Rows of packed counts are summed instead.
    """
    if n_words > 0:
        return scan_packed(work, bins, stride, feature, rows, first, last, n_words)
    return _scan_chains(work, bins, stride, feature, rows, first, last)


@merged
def _scan_chains(work, bins, stride, feature, rows, first, last):
    """Find the best split of a gathered node; see :func:`scan_labels`."""
    totals, left, touched = work.totals, work.left, work.touched
    next_row, bin_row, labels, chunk = work.next_row, work.bin_row, work.chunk_label, work.chunk
    for i in range(np.uint64(last - first)):
        b = np.uint64(bins[np.uint64(rows[np.uint64(first) + i]) * stride + feature])
        bit = _ONE << (b & _LOW)  # has_bin and add_bin at once; the time of forests shows it
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
    # If both sides are pure, the score of the split is the weight of the node.
    return n_distinct, best - parent, low, high, best == total_weight


@merged
def _move_bin(target, work, i, of_side, of_other):
    """Move the chained rows of a bin from one side to the other, whose sums are ``work.left``.

    Returns the sums of squares of both sides, and the weight that was moved.
    """
    totals, side, entries = work.totals, work.left, work.entries
    moved = 0.0
    while i >= 0:
        row = np.uint64(entries.own_row[np.uint64(i)])
        k, more = np.uint64(target.label[row] + 1), work.weight[row]
        old = side[k]
        of_side += more * (2.0 * old + more)
        of_other -= more * (2.0 * (totals[k] - old) - more)
        side[k] = old + more
        moved += more
        i = work.next_row[np.uint64(i)]
    return of_side, of_other, moved


@merged
def scan_entries(target, work, n_entries, n_rows, default):
    """:func:`scan_labels` for a sparse node.

    Bins below the default bin move to the left one by one, bins above it to the right, beginning
    with the highest: the rows of the default bin need not be visited.
    """
    totals, side, touched, entries = work.totals, work.left, work.touched, work.entries
    next_row, bin_row, present = work.next_row, work.bin_row, work.present
    for i in range(np.uint64(n_entries)):
        b = np.uint64(entries.own_bin[i])
        bit = _ONE << (b & _LOW)
        next_row[i] = bin_row[b] if touched[b >> _SIX] & bit else -1
        bin_row[b] = i
        touched[b >> _SIX] |= bit
    if n_entries < n_rows:
        add_bin(touched, np.uint64(default))
    n_present = list_touched(touched, present)
    total_weight, squares = totals[0], 0.0
    for k in range(1, totals.size):
        squares += totals[k] * totals[k]
        side[k] = 0.0
    # The sums of squares and the weight of the left side, if the bins from a place on are right.
    left, right, weight = work.prefix[:N_BINS], work.prefix[N_BINS:], work.ratio
    of_side, of_other, w, n_below = 0.0, squares, 0.0, np.int64(0)
    while n_below < n_present and (present[n_below] != default or n_entries == n_rows):
        of_side, of_other, more = _move_bin(
            target, work, bin_row[present[n_below]], of_side, of_other
        )
        w += more
        n_below += 1
        left[n_below], right[n_below], weight[n_below] = of_side, of_other, w
    for i in range(np.uint64(n_entries)):
        side[np.uint64(target.label[entries.own_row[i]] + 1)] = 0.0
    of_side, of_other, w = 0.0, squares, total_weight
    for i in range(n_present - 1, n_below, -1):
        of_side, of_other, more = _move_bin(target, work, bin_row[present[i]], of_side, of_other)
        w -= more
        left[i], right[i], weight[i] = of_other, of_side, w
    best, place = -np.inf, np.int64(0)
    for i in range(1, n_present):
        w = weight[i]
        rest = total_weight - w
        score, scale = left[i] * rest + right[i] * w, w * rest
        if score > best * scale and scale > 0.0:
            best, place = score / scale, np.int64(i)
    low = present[max(place - 1, 0)]
    return n_present, best - squares / total_weight, low, present[place], best == total_weight


@merged
def try_cut(target, work, n_rows, cut):
    """Return the gain of a random cut of the gathered rows, and whether both sides are pure."""
    codes, chunk, labels = work.codes, work.chunk, work.chunk_label
    totals, left = work.totals, work.left
    for k in range(totals.size):
        left[k] = 0.0
    for i in range(np.uint64(n_rows)):
        more = keep_if(is_before(cut, codes[i]), chunk[i])
        left[0] += more
        left[np.uint64(labels[i])] += more
    score = score_columns(QUADRATIC, left) + score_others(QUADRATIC, totals, left)
    return score - score_columns(QUADRATIC, totals), score == totals[0]


@merged
def try_cut_of_entries(target, work, n_entries, default, cut):
    """:func:`try_cut` for a sparse node."""
    totals, left, entries = work.totals, work.left, work.entries
    is_default_left = is_before(cut, default)
    for k in range(totals.size):
        left[k] = totals[k] if is_default_left else 0.0
    for i in range(np.uint64(n_entries)):
        row = np.uint64(entries.own_row[i])
        is_left = is_before(cut, entries.own_bin[i])
        more = keep_if(is_left != is_default_left, work.weight[row])
        more = -more if is_default_left else more
        left[0] += more
        left[np.uint64(target.label[row] + 1)] += more
    score = score_columns(QUADRATIC, left) + score_others(QUADRATIC, totals, left)
    return score - score_columns(QUADRATIC, totals), score == totals[0]


@routine
def bound_gain(target, work, n_rows):
    """Return infinity: no bound is known."""
    return np.inf


@routine
def scan_nothing(target, work, n_entries, n_rows, default):
    """Find no split: several outputs are never plain, so this is never called."""
    return ZERO, -np.inf, ZERO, ZERO, NO


@routine
def try_nothing(target, work, n_entries, default, cut):
    """Try no cut, for the same reason."""
    return -np.inf, NO


@routine
def _has_events(left, histogram, present, begin, n_present, missing_right):
    """Whether each column has events on both sides; the bins from ``begin`` on are on the right.

    The bins are examined, because rounding may leave events in differences of sums.
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
def sweep(target, options, work, slot, n_rows, n_present, is_ordered, cut, bounds):
    """Find the best place to cut the present bins in two; see one_output.py.

    Several columns have no monotone constraints, so ``bounds`` is not used.
    """
    n_stats = work.totals.size
    histogram = work.histograms[slot * N_BINS * n_stats : (slot + 1) * N_BINS * n_stats]
    present, counts, criterion = work.present, work.counts, options.criterion
    totals, left = work.totals, work.left
    parent = score_columns(criterion, totals)
    has_missing = is_ordered and present[0] == 0
    best, best_place, best_missing = -np.inf, np.int64(-1), np.uint8(0)
    for way in range(2 if has_missing else 1):
        for k in range(n_stats):
            left[k] = histogram[k] if way else 0.0
        n_left = counts[0] if way else np.int64(0)
        # With missing values on the right, the last place separates them from all others.
        last = n_present if has_missing and way == 0 else n_present - 1
        for i in range(1 if has_missing else 0, last):
            place = n_stats * present[i]
            for k in range(n_stats):
                left[k] += histogram[place + k]
            n_left += counts[present[i]]
            if cut >= 0 and i != cut:
                continue
            if not has_enough(options, left[0], totals[0] - left[0], n_left, n_rows - n_left):
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
