"""Histograms of small nodes stay packed: one word per bin with all three sums.

A word is ``(g << 38) + (h << 12) + count``. As long as a node has no more than 4,095 rows, neither
a bin nor any sum of bins overflows. So whole words are added and subtracted, at a third of the
work. The words of a feature are stored where its gradients would be; see layout.py.
"""

import numpy as np

from sumwise.kernels.runtime.jit import ZERO, routine

HESSIAN_SHIFT, GRADIENT_SHIFT = 12, 38
COUNT_MASK, HESSIAN_MASK = (1 << 12) - 1, (1 << 26) - 1


@routine
def pack_sums(gradient, hessian, count):
    """Put three sums into one word."""
    return (gradient << GRADIENT_SHIFT) + (hessian << HESSIAN_SHIFT) + count


@routine
def unpack_sums(word):
    """Return (gradient, hessian, count)."""
    return (
        word >> GRADIENT_SHIFT,
        (word >> HESSIAN_SHIFT) & HESSIAN_MASK,
        word & COUNT_MASK,
    )


@routine
def subtract_packed(bins, words, pack):
    """Subtract packed words from a feature's plain sums; pack what is left if asked."""
    n_bins = bins.size // 3
    gradient, hessian, count = bins[:n_bins], bins[n_bins : 2 * n_bins], bins[2 * n_bins :]
    for b in range(n_bins):
        g, h, n = unpack_sums(words[b])
        gradient[b] -= g
        hessian[b] -= h
        count[b] -= n
    if pack:
        for b in range(n_bins):
            gradient[b] = pack_sums(gradient[b], hessian[b], count[b])


@routine
def sum_left_packed(words, split_bin, missing_left, left):
    """Write the totals of the rows that a split sends left."""
    word = words[0] if missing_left else np.int64(0)
    for b in range(1, split_bin + 1):
        word += words[b]
    left[0], left[1], left[2] = unpack_sums(word)


@routine
def first_with_count(running, n, count):
    """The first of ``n`` running sums with at least so many rows, ``n`` if there is none.

    Rows only grow, so the sums with fewer are counted: a vector at a time, where a binary search
    would guess a branch at every step.
    """
    first = ZERO
    for i in range(n):
        first += np.int64(running[i] & COUNT_MASK < count)
    return first
