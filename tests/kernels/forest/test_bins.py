"""Sets and lists of bins, against Python's sets and sorting."""

import numpy as np
import pytest

from sumwise.kernels.forest.bins import (
    add_bin,
    count_rows,
    has_bin,
    list_filled,
    list_touched,
    shuffle_bins,
    sort_by_ratio,
)
from sumwise.kernels.forest.layout import N_BINS, SET_WORDS
from sumwise.kernels.runtime.jit import kernel
from tests.naive.random import uniform


@kernel
def run_set(bins, words, found):
    for b in bins:
        add_bin(words, b)
    for b in range(np.uint64(found.size)):
        found[b] = has_bin(words, b)


@kernel
def run_lists(words, histogram, n_stats, touched, filled):
    n_touched = list_touched(words, touched)
    return n_touched, list_filled(histogram, histogram.size // n_stats, n_stats, filled)


@kernel
def run_count(bins, stride, feature, rows, counts):
    count_rows(bins, stride, feature, rows, 1, rows.size, counts)


@kernel
def run_sort(ratio, order):
    sort_by_ratio(ratio, order, ratio.size)


@kernel
def run_shuffle(key, present):
    shuffle_bins(key, present, present.size)


@pytest.mark.parametrize("own", [[], [0], [63, 64, 255], list(range(0, 256, 7)), list(range(256))])
def test_sets_and_lists(own):
    words, found = np.zeros(SET_WORDS, dtype=np.uint64), np.empty(N_BINS, dtype=np.uint64)
    run_set(np.array(own[::-1], dtype=np.uint64), words, found)
    assert np.flatnonzero(found).tolist() == own
    assert set(found.tolist()) <= {0, 1}
    histogram = np.zeros((N_BINS, 3))
    histogram[own, 0] = 0.5
    histogram[:, 1:] = 1.0  # other sums do not count
    touched, filled = np.zeros((2, N_BINS), dtype=np.int64)
    n_touched, n_filled = run_lists(words, histogram.reshape(-1), 3, touched, filled)
    assert touched[:n_touched].tolist() == filled[:n_filled].tolist() == own
    assert not words.any()


def test_counts():
    rng = np.random.default_rng(0)
    table = rng.integers(0, N_BINS, (40, 3)).astype(np.uint8)
    rows, counts = np.arange(4, 30, dtype=np.uint32), np.zeros(N_BINS, dtype=np.int64)
    run_count(table.reshape(-1), np.uint64(3), np.uint64(2), rows, counts)
    assert np.array_equal(counts, np.bincount(table[5:30, 2], minlength=N_BINS))


def test_sorting_keeps_the_order_of_equal_ratios():
    rng = np.random.default_rng(1)
    for n in (0, 1, 2, 30):
        ratio, order = rng.integers(0, 5, n) / 4, rng.permutation(n)
        expected = sorted(range(n), key=lambda i: ratio[i])
        by_hand = ratio[expected].tolist(), order[expected].tolist()
        run_sort(ratio, order)
        assert (ratio.tolist(), order.tolist()) == by_hand


def test_shuffles():
    present = np.arange(3, 12)
    run_shuffle(np.uint64(77), present)
    expected = list(range(3, 12))
    for i in range(8):
        j = i + int(uniform(77, 2 + i) * (9 - i))
        expected[i], expected[j] = expected[j], expected[i]
    assert present.tolist() == expected
