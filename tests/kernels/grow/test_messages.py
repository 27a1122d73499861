"""Histograms in messages: sums of words are words of sums."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.kernels.grow.layout import GRADIENT_LIMIT, HESSIAN_LIMIT, PACKED_ROWS
from sumwise.kernels.grow.messages import (
    PACKED,
    PAIR_ROWS,
    PAIRS,
    PLAIN,
    count_words,
    read_bins,
    write_bins,
)
from sumwise.kernels.grow.packed import pack_sums
from sumwise.kernels.runtime.jit import kernel


@kernel
def _count(form, n_bins):
    return count_words(form, n_bins)


@kernel
def _write(form, bins, n_bins, words):
    write_bins(form, bins, n_bins, words)


@kernel
def _read(form, bins, n_bins, words):
    read_bins(form, bins, n_bins, words)


def list_words(form, bins):
    """Return the words of bins (n_bins, 3): the definition, with Python's integers."""
    if form == PACKED:
        return [(g << 38) + (h << 12) + n for g, h, n in bins]
    if form == PLAIN:
        return [own[s] for s in range(3) for own in bins]
    pairs = [(g << 32) + h for g, h, _ in bins]
    counts = [n for _, _, n in bins]
    thirds = [counts[first : first + 3] for first in range(0, len(counts), 3)]
    return pairs + [sum(n << (21 * i) for i, n in enumerate(third)) for third in thirds]


def lay_out(form, bins):
    """Return bins (n_bins, 3) as they are in a histogram."""
    own = np.array(bins, dtype=np.int64).reshape(-1, 3)
    if form != PACKED:
        return np.ascontiguousarray(own.T).ravel()
    words = np.array(list_words(PACKED, own.tolist()), dtype=np.int64)
    return np.concatenate([words, np.full(2 * len(own), -1)])


@st.composite
def draw_histograms(draw):
    """The bins of some processes, which together have as many rows as the form allows."""
    form = draw(st.sampled_from([PACKED, PAIRS, PLAIN]))
    limit = {PACKED: PACKED_ROWS, PAIRS: PAIR_ROWS, PLAIN: 1 << 32}[form]
    n_bins, n_peers = draw(st.integers(1, 8)), draw(st.integers(1, 3))
    most = limit // (n_bins * n_peers)
    count = st.sampled_from([0, 1, most]) | st.integers(0, most)
    share = st.sampled_from([-1.0, 0.0, 0.5, 1.0])

    def draw_bin():
        n = draw(count)
        g, h = draw(share) * n * GRADIENT_LIMIT, abs(draw(share)) * n * HESSIAN_LIMIT
        return [int(g), int(h), n]

    return form, [[draw_bin() for _ in range(n_bins)] for _ in range(n_peers)]


@settings(deadline=None)
@given(histograms=draw_histograms())
def test_sums_of_words_are_words_of_sums(histograms):
    form, every = histograms
    n_bins = len(every[0])
    total = np.zeros(_count(form, n_bins), dtype=np.int64)
    for bins in every:
        words = np.empty_like(total)
        _write(form, lay_out(form, bins), n_bins, words)
        assert words.tolist() == list_words(form, bins)
        total += words
    sums = np.sum(every, axis=0)
    found = np.full(3 * n_bins, -1)
    _read(form, found, n_bins, total)
    assert found.tolist() == lay_out(form, sums).tolist()


@pytest.mark.parametrize(("form", "rows"), [(PAIRS, PAIR_ROWS), (PACKED, PACKED_ROWS)])
def test_the_fullest_node_fits(form, rows):
    """All rows in one bin, with the largest gradients and hessians; the other bins are empty."""
    for sign in (-1, 1):
        bins = [[0, 0, 0], [sign * rows * GRADIENT_LIMIT, rows * HESSIAN_LIMIT, rows], [0, 0, 0]]
        words = np.empty(_count(form, 3), dtype=np.int64)
        _write(form, lay_out(form, bins), 3, words)
        found = np.full(9, -1)
        _read(form, found, 3, words)
        assert found.tolist() == lay_out(form, bins).tolist()


def test_a_packed_word_is_that_of_the_histogram():
    assert lay_out(PACKED, [[-5, 7, 3]])[0] == pack_sums.py_func(-5, 7, 3)
