"""Counts of classes, packed into words.

If weights are whole numbers, sums are counts, and several of them fit into a word. Words are summed
in any order and several at a time, and rows of all classes are added in the same way: no step waits
for another. With two classes, a word has the weight in its upper half and that of the second class
in its lower half. With more, each class of the node has a field of 16 bits, FIELDS to a word. Nodes
with more weight or more classes than that are not packed.

Gains are computed from the same numbers by the same formulas as from floats, so splits do not
depend on packing.
"""

import numpy as np

from sumwise.kernels.forest.bins import add_bin
from sumwise.kernels.forest.cuts import find_bin
from sumwise.kernels.forest.impurity import scaled_gain, separates_classes
from sumwise.kernels.forest.layout import FIELDS, MOST_WORDS, SET_WORDS
from sumwise.kernels.runtime.bits import find_lowest_bit
from sumwise.kernels.runtime.jit import ZERO, inlined, merged

_ZERO, _ONE, _TWO, _SIX = (np.uint64(number) for number in (0, 1, 2, 6))
_HALF, _LOW_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)
_MANY_ROWS = 64
_FIELD_BITS, _FIELD = np.uint64(16), np.uint64(0xFFFF)


@merged
def pack_numbers(target, work, n_rows):
    """Pack the gathered rows of two classes; return the number of words.

    A few rows are not packed, because sums of floats take less time.
    """
    words, n = work.packed.words, np.uint64(n_rows)
    if n_rows < _MANY_ROWS:
        return ZERO
    for i in range(n):
        weight, of_second = work.chunk[_TWO * i], work.chunk[_TWO * i + _ONE]
        words[i] = np.uint64(np.int64(weight)) << _HALF | np.uint64(np.int64(of_second))
    return np.int64(1)


@merged
def pack_labels(target, work, n_rows):
    """Pack the gathered rows; return the number of words, 0 if the node cannot be packed."""
    totals, packed, n = work.totals, work.packed, np.uint64(n_rows)
    if totals[0] > _FIELD:
        return ZERO
    n_classes = np.uint64(0)
    for k in range(np.uint64(1), np.uint64(totals.size)):
        packed.word_of_class[k] = n_classes // np.uint64(FIELDS)
        packed.shift[k] = n_classes % np.uint64(FIELDS) * _FIELD_BITS
        n_classes += np.uint64(totals[k] > 0.0)
    if n_classes > np.uint64(FIELDS * MOST_WORDS):
        return ZERO
    for word in range(MOST_WORDS):
        packed.total[word] = 0
    for k in range(np.uint64(1), np.uint64(totals.size)):
        if totals[k] > 0.0:
            count = np.uint64(np.int64(totals[k])) << np.uint64(packed.shift[k])
            packed.total[packed.word_of_class[k]] += count
    for i in range(n):
        k = np.uint64(work.chunk_label[i])
        weight = np.uint64(np.int64(work.chunk[i]))
        packed.words[i] = weight << np.uint64(packed.shift[k])
        packed.word_of_row[i] = packed.word_of_class[k]
    return np.int64((n_classes + np.uint64(FIELDS - 1)) // np.uint64(FIELDS))


@merged
def pack_nothing(target, work, n_rows):
    """Pack nothing: several outputs are not plain."""
    return ZERO


@inlined
def _sum_squares(word):
    """Return the sum of the squares of the fields of a word."""
    a, b = word & _FIELD, word >> _FIELD_BITS & _FIELD
    c, d = word >> _HALF & _FIELD, word >> np.uint64(48)
    return a * a + b * b + c * c + d * d


@inlined
def _sum_fields(word):
    """Return the sum of the fields of a word."""
    a, b = word & _FIELD, word >> _FIELD_BITS & _FIELD
    c, d = word >> _HALF & _FIELD, word >> np.uint64(48)
    return a + b + c + d


@inlined
def _as_float(count):
    """Return a count as a float; it is less than 2**63."""
    return np.float64(np.int64(count))


@merged
def _measure_sides(packed, n_words):
    """Return the sums of squares of the left and the right side, and the left weight."""
    of_left, of_right, weight = np.uint64(0), np.uint64(0), np.uint64(0)
    for word in range(np.uint64(n_words)):
        left = packed.left[word]
        of_left += _sum_squares(left)
        of_right += _sum_squares(packed.total[word] - left)
        weight += _sum_fields(left)
    return _as_float(of_left), _as_float(of_right), _as_float(weight)


@merged
def scan_packed(work, bins, stride, feature, rows, first, last, n_words):
    """Find the best split of a node with packed counts on a plain feature; see ``scan_labels``."""
    packed, touched, total_weight = work.packed, work.touched, work.totals[0]
    words, word_of_row, histogram = packed.words, packed.word_of_row, packed.histogram
    n = np.uint64(n_words)
    for i in range(np.uint64(last - first)):
        b = np.uint64(bins[np.uint64(rows[np.uint64(first) + i]) * stride + feature])
        histogram[b * n + np.uint64(word_of_row[i])] += words[i]
        add_bin(touched, b)
    for word in range(n):
        packed.left[word] = 0
    _, of_right, _ = _measure_sides(packed, n_words)
    parent = of_right / total_weight
    best, low, high, n_distinct, previous = -np.inf, np.int64(0), np.int64(0), np.int64(0), ZERO
    for word in range(SET_WORDS):
        bits = touched[np.uint64(word)]
        touched[np.uint64(word)] = 0
        while bits:
            b = find_lowest_bit(bits) | np.uint64(word) << _SIX
            bits &= bits - _ONE
            of_left, of_right, w = _measure_sides(packed, n_words)
            rest = total_weight - w
            score, scale = of_left * rest + of_right * w, w * rest
            if score > best * scale and scale > 0.0:
                best, low, high = score / scale, previous, np.int64(b)
            for k in range(n):
                packed.left[k] += histogram[b * n + k]
                histogram[b * n + k] = 0
            previous = np.int64(b)
            n_distinct += 1
    return n_distinct, best - parent, low, high, best == total_weight


@merged
def try_cut_of_numbers(target, work, n_rows, cut, n_words):
    """Return the gain of a random cut, and whether it separates two classes."""
    codes, words = work.codes, work.packed.words
    left, split_bin = np.uint64(0), np.uint8(find_bin(*cut))
    for i in range(np.uint64(n_rows)):
        left += words[i] & (_ZERO - np.uint64(codes[i] <= split_bin))
    w, s = _as_float(left >> _HALF), _as_float(left & _LOW_HALF)
    total_weight, total = work.totals[0], work.totals[1]
    is_perfect = separates_classes(w, s, total_weight, total)
    return scaled_gain(w, s, total_weight, total) / total_weight, is_perfect


@merged
def try_cut_of_labels(target, work, n_rows, cut, n_words):
    """Return the gain of a random cut, and whether both sides are pure."""
    codes, packed, total_weight = work.codes, work.packed, work.totals[0]
    words, word_of_row = packed.words, packed.word_of_row
    of_all, split_bin = np.uint64(0), np.uint8(find_bin(*cut))
    for word in range(np.uint64(n_words)):
        left = np.uint64(0)
        for i in range(np.uint64(n_rows)):
            is_in = (codes[i] <= split_bin) & (word_of_row[i] == word)
            left += words[i] & (_ZERO - np.uint64(is_in))
        packed.left[word] = left
        of_all += _sum_squares(packed.total[word])
    of_left, of_right, w = _measure_sides(packed, n_words)
    score = of_left / w + of_right / (total_weight - w)
    return score - _as_float(of_all) / total_weight, score == total_weight
