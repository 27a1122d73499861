"""Packed sums against plain ones."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.kernels.grow.gain import Limits, best_packed_split, best_split
from sumwise.kernels.grow.layout import GRADIENT_LIMIT, HESSIAN_LIMIT, PACKED_ROWS
from sumwise.kernels.grow.packed import (
    first_with_count,
    pack_sums,
    subtract_packed,
    sum_left_packed,
    unpack_sums,
)
from sumwise.kernels.grow.split import sum_left
from sumwise.kernels.runtime.jit import kernel

MOST_G, MOST_H = PACKED_ROWS * GRADIENT_LIMIT, PACKED_ROWS * HESSIAN_LIMIT


@kernel
def run_pack(g, h, n):
    return pack_sums(g, h, n)


@kernel
def run_unpack(word):
    return unpack_sums(word)


@kernel
def run_subtract(bins, words, pack):
    subtract_packed(bins, words, pack)


@kernel
def run_sum_packed(words, split_bin, missing_left, left):
    sum_left_packed(words, split_bin, missing_left, left)


@kernel
def run_sum_plain(bins, split_bin, missing_left, left):
    sum_left(bins, 3, split_bin, missing_left, left)


@kernel
def run_first(running, n, count):
    return first_with_count(running, n, count)


@kernel
def run_best(limits, bins, n, both_ways, totals, prefix, gains):
    return best_split(limits, bins, n, both_ways, totals, prefix, gains)


@kernel
def run_best_packed(limits, words, n, both_ways, totals, prefix, gains):
    return best_packed_split(limits, words, n, both_ways, totals, prefix, gains)


def random_bins(rng, n_bins, n_rows, missing=True):
    """Plain sums (3, n_bins) of rows with extreme values, and the same packed."""
    codes = rng.integers(0 if missing else 1, n_bins, n_rows)
    bins = np.zeros((3, n_bins), dtype=np.int64)
    np.add.at(bins[0], codes, rng.choice([-GRADIENT_LIMIT, -1, 0, 5, GRADIENT_LIMIT], n_rows))
    np.add.at(bins[1], codes, rng.choice([0, 1, 77, HESSIAN_LIMIT], n_rows))
    np.add.at(bins[2], codes, 1)
    words = np.array([run_pack(*column) for column in bins.T], dtype=np.int64)
    return bins, words


@settings(deadline=None)  # the first example compiles
@given(
    st.integers(-MOST_G, MOST_G),
    st.integers(0, MOST_H),
    st.integers(0, PACKED_ROWS),
)
def test_a_word_holds_three_sums(g, h, n):
    word = run_pack(g, h, n)
    assert -(2**63) <= word < 2**63
    assert run_unpack(word) == (g, h, n)


@pytest.mark.parametrize("pack", [False, True])
def test_subtracting_packed_from_plain(pack):
    rng = np.random.default_rng(0)
    small, words = random_bins(rng, 57, 1500)
    large, expected = random_bins(rng, 57, 2500)
    found = (small + large).ravel()
    run_subtract(found, words, pack)
    assert found[:57].tolist() == (expected if pack else large[0]).tolist()
    if not pack:
        assert found.tolist() == large.ravel().tolist()


@pytest.mark.parametrize("missing_left", [False, True])
def test_sums_of_a_side(missing_left):
    bins, words = random_bins(np.random.default_rng(1), 100, PACKED_ROWS)
    plain, packed = np.empty(3, dtype=np.int64), np.empty(3, dtype=np.int64)
    for split_bin in range(1, 100):
        run_sum_plain(bins.ravel(), split_bin, missing_left, plain)
        run_sum_packed(words, split_bin, missing_left, packed)
        assert packed.tolist() == plain.tolist()


def test_the_first_sum_with_enough_rows():
    running = np.array([run_pack(-5, 7, n) for n in (0, 0, 3, 3, 4, 9)])
    assert [run_first(running, 6, count) for count in (0, 1, 3, 4, 5, 9, 10)] == [
        0,
        2,
        2,
        4,
        5,
        5,
        6,
    ]
    assert run_first(running, 0, 1) == 0


@pytest.mark.parametrize("max_delta_step", [0.0, 0.5])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("n_rows", [1, 2, 30, 700, PACKED_ROWS])
def test_best_split_is_that_of_plain_sums(n_rows, missing, max_delta_step):
    rng = np.random.default_rng(n_rows)
    penalties = (0.5, 1.0, max_delta_step, 1.0)
    prefix, gains = np.empty((3, 256), dtype=np.int64), np.empty((4, 256))
    for n_bins in (2, 3, 30, 256):
        bins, words = random_bins(rng, n_bins, n_rows, missing)
        both_ways = bool(bins[2, 0])
        n = n_bins - (1 if both_ways else 2)
        for min_rows in (1, 5, n_rows // 2, n_rows):
            free = (0.0, 0.0, -np.inf, np.inf, 0.0)
            limits = Limits(0.25, 0.125, *penalties, max(1, min_rows), *free)
            rest = (n, both_ways, bins.sum(axis=1), prefix, gains)
            plain = run_best(limits, bins.ravel(), *rest)
            packed = run_best_packed(limits, words, *rest)
            assert packed[0] == plain[0]
            if plain[0] > -np.inf:
                assert packed == plain
