"""Bins in the order of their ratios, all or the ends only."""

import numpy as np
import pytest

from sumwise.kernels.grow.storage.ratio_order import select_ends, sort_by_ratio
from sumwise.kernels.runtime.jit import kernel


@kernel
def sort(ratios, orders, n):
    sort_by_ratio(ratios, orders, n)


@pytest.mark.parametrize("n", [0, 1, 2, 15, 16, 17, 33, 100, 1000])
@pytest.mark.parametrize("n_values", [1, 3, 10**6])
def test_bins_are_sorted_by_ratio_then_number(n, n_values):
    rng = np.random.default_rng(n)
    ratios, orders = np.full((2, n + 3), 99.0), np.full((2, n + 3), -1)
    ratios[0, :n], orders[0, :n] = rng.integers(0, n_values, n) - 1.5, rng.permutation(n)
    expected = sorted(zip(ratios[0, :n].tolist(), orders[0, :n].tolist(), strict=True))
    sort(ratios, orders, n)
    assert list(zip(ratios[0, :n].tolist(), orders[0, :n].tolist(), strict=True)) == expected
    assert ratios[0, n:].tolist() == [99.0] * 3


@kernel
def select(ratios, orders, n, length):
    select_ends(ratios, orders, n, length)


@pytest.mark.parametrize("n", [3, 10, 100, 1000])
@pytest.mark.parametrize("n_values", [1, 3, 10**6])
def test_ends_of_the_order(n, n_values):
    rng = np.random.default_rng(n)
    ratios, orders = np.full((2, n), 99.0), np.full((2, n), -1)
    ratios[0], orders[0] = rng.integers(0, n_values, n) - 1.5, rng.permutation(n)
    expected = sorted(zip(ratios[0].tolist(), orders[0].tolist(), strict=True))
    length = (n - 1) // 2 if n < 50 else 32
    select(ratios, orders, n, length)
    found = list(zip(ratios[0].tolist(), orders[0].tolist(), strict=True))[: 2 * length]
    assert found == expected[:length] + expected[-length:]
