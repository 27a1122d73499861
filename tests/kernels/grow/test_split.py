"""The choice among candidates, and the totals of the left child."""

import numpy as np
import pytest

from sumwise.kernels.grow.split import best_candidate, sum_left
from sumwise.kernels.runtime.jit import kernel


@kernel
def run_best(n_candidates, both_ways, right, left):
    return best_candidate(n_candidates, both_ways, right, left)


@kernel
def run_sum_left(bins, n_stats, split_bin, missing_left, left):
    sum_left(bins, n_stats, split_bin, missing_left, left)


def test_candidates_tie_to_the_lowest_bin_then_right():
    gains = np.array([1.0, 3.0, 3.0, 2.0])
    lower = np.array([1.0, 2.0, 3.0, 3.0])
    assert run_best(4, False, gains, np.full(4, 99.0)) == (3.0, 2, False)
    assert run_best(4, True, gains, gains) == (3.0, 2, False)
    assert run_best(4, True, lower, gains) == (3.0, 2, True)
    assert run_best(1, True, gains, lower) == (1.0, 1, False)


def test_no_candidate_is_better_than_nothing():
    nothing = np.full(3, -np.inf)
    assert run_best(3, True, nothing, nothing)[0] == -np.inf
    assert run_best(0, False, np.ones(3), np.ones(3))[0] == -np.inf
    # the highest may be below zero, or tiny
    low = np.array([-np.inf, -2.0, -1e-300])
    assert run_best(3, True, low, nothing) == (-1e-300, 3, False)
    assert run_best(3, True, nothing, low) == (-1e-300, 3, True)


@pytest.mark.parametrize("both_ways", [False, True])
def test_best_candidate_equals_numpy(both_ways):
    rng = np.random.default_rng(0)
    values = np.array([-np.inf, -1e308, -1.0, -5e-324, 0.0, 5e-324, 0.5, 1.0, 1e308, np.inf])
    for n in (1, 2, 7, 8, 9, 100, 255):
        for _ in range(20):
            right, left = rng.choice(values, n), rng.choice(values, n)
            gains = np.column_stack([right, left] if both_ways else [right]).ravel()
            place = int(np.argmax(gains))
            gain, split_bin, missing_left = run_best(n, both_ways, right, left)
            assert gain == gains[place]
            if gain > -np.inf:
                ways = 2 if both_ways else 1
                assert (split_bin, missing_left) == (place // ways + 1, place % ways == 1)


@pytest.mark.parametrize("n_stats", [1, 3, 5])
@pytest.mark.parametrize("missing_left", [False, True])
def test_left_sums_equal_numpy(n_stats, missing_left):
    histogram = np.random.default_rng(0).integers(-99, 99, (n_stats, 10))
    for split_bin in range(1, 10):
        left = np.full(n_stats, 12345)
        run_sum_left(histogram.ravel(), n_stats, split_bin, missing_left, left)
        first = 0 if missing_left else 1
        assert left.tolist() == histogram[:, first : split_bin + 1].sum(axis=1).tolist()
