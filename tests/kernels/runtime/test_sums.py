"""Sums by teams against exact_sum."""

import math

import numpy as np
import pytest

from sumwise.kernels.runtime.reduce import exact_sum
from sumwise.kernels.runtime.sums import sum_exactly
from sumwise.kernels.runtime.threads import Team

NO_WEIGHT = np.empty(0)


def draw(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n) * 10.0 ** rng.integers(-8, 8, n), rng.random(n)


@pytest.mark.parametrize("n_threads", [1, 2, 3, 7])
@pytest.mark.parametrize("n", [0, 1, 2, 5, 1000, 70_001])
def test_the_bits_of_one_thread(n, n_threads):
    values, weight = draw(n)
    labels = (values > 0).astype(np.uint8)
    with Team(n_threads) as team:
        assert sum_exactly(values, NO_WEIGHT, team) == exact_sum(values)
        assert sum_exactly(values, weight, team) == exact_sum(values * weight)
        assert sum_exactly(labels, weight, team) == exact_sum(labels * weight)
        assert sum_exactly(labels, NO_WEIGHT, team) == labels.sum()


@pytest.mark.parametrize("scale", [5e-324, 1e-310, 1e300, 2.0**1000])
def test_extreme_values(scale):
    values = np.array([0.25, -0.5, 1.0, 1.0]) * scale
    with Team(2) as team:
        assert sum_exactly(values, NO_WEIGHT, team) == exact_sum(values)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 4, 9])
def test_values_that_are_not_finite(bad, place):
    values = np.ones(10)
    values[place] = bad
    with Team(3) as team:
        assert math.isnan(sum_exactly(values, NO_WEIGHT, team))
        assert math.isnan(sum_exactly(np.ones(10), values, team))
        values[place] = 1e308
        assert math.isnan(sum_exactly(values, np.full(10, 10.0), team))
