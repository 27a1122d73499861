"""The bins of a node's rows: sets of bins, lists of them, and their order.

A set has one bit per bin, in SET_WORDS words of 64 bits.
"""

import numpy as np

from sumwise.kernels.forest.layout import SET_WORDS
from sumwise.kernels.runtime.bits import find_lowest_bit
from sumwise.kernels.runtime.jit import inlined, routine
from sumwise.kernels.runtime.random import uniform

_ONE, _SIX, _LOW = (np.uint64(number) for number in (1, 6, 63))


@inlined
def has_bin(words, b):
    """Return 1 if a set contains a bin, else 0; both are uint64."""
    return (words[b >> _SIX] >> (b & _LOW)) & _ONE


@inlined
def add_bin(words, b):
    """Add a bin, a uint64, to a set."""
    words[b >> _SIX] |= _ONE << (b & _LOW)


@inlined
def count_rows(bins, stride, feature, rows, first, last, counts):
    """Count the rows of each bin."""
    for i in range(np.uint64(first), np.uint64(last)):
        counts[np.uint64(bins[np.uint64(rows[i]) * stride + feature])] += 1


@inlined
def list_touched(touched, present):
    """List the marked bins in order and remove the marks; return their number."""
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
def list_filled(histogram, n_bins, n_stats, present):
    """List the bins with weight in order; return their number."""
    n_present = np.int64(0)
    for b in range(n_bins):
        present[n_present] = b
        n_present += histogram[b * n_stats] > 0.0
    return n_present


@routine
def sort_by_ratio(ratio, order, n):
    """Sort ``n`` bins or rows by their ratios; those with equal ratios keep their order."""
    for i in range(1, n):
        r, own = ratio[i], order[i]
        j = i
        while j > 0 and ratio[j - 1] > r:
            ratio[j], order[j] = ratio[j - 1], order[j - 1]
            j -= 1
        ratio[j], order[j] = r, own


@routine
def shuffle_bins(key, present, n_present):
    """Put bins in a random order."""
    for i in range(n_present - 1):
        j = i + np.int64(uniform(key, 2 + i) * (n_present - i))
        present[i], present[j] = present[j], present[i]
