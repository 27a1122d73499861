"""exact_sum against math.fsum."""

import math

import numpy as np
import pytest

from sumwise.kernels.runtime.reduce import exact_sum


@pytest.mark.parametrize("n", [1, 2, 3, 4095, 4097, 100_000])
def test_sum_is_right_to_the_bits_that_fit(n):
    values = np.random.default_rng(n).normal(size=n)
    # each value is rounded to 50 bits of the largest, fewer where many are summed
    bits = min(50, 62 - (n - 1).bit_length())
    allowed = n * np.abs(values).max() * 2.0**-bits
    assert abs(exact_sum(values) - math.fsum(values)) <= allowed


def test_integers_are_summed_exactly():
    values = np.random.default_rng(0).integers(-(10**9), 10**9, 100_000).astype(np.float64)
    assert exact_sum(values) == math.fsum(values)


def test_order_does_not_matter():
    rng = np.random.default_rng(1)
    values = rng.normal(size=10_000) * 10.0 ** rng.integers(-8, 8, 10_000)
    sums = {exact_sum(rng.permutation(values)) for _ in range(20)}
    sums.add(exact_sum(np.sort(values)))
    assert len(sums) == 1
    # plain sums of floats do differ: the test would notice
    assert len({sum(rng.permutation(values).tolist()) for _ in range(20)}) > 1


def test_terms_that_cancel_leave_the_small_one():
    assert exact_sum(np.array([2.0**40, 1.0, -(2.0**40)])) == 1.0


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_not_finite_gives_nan(bad):
    values = np.ones(10)
    values[7] = bad
    assert math.isnan(exact_sum(values))
    assert math.isnan(exact_sum(np.array([np.inf, -np.inf])))


@pytest.mark.parametrize("scale", [1e300, 1e-290, 1.0, 3e150])
def test_extreme_scales(scale):
    values = np.array([1.0, 2.5, -3.0, 0.25]) * scale
    assert exact_sum(values) == pytest.approx(0.75 * scale, rel=1e-12)


def test_nothing_and_zeros_sum_to_zero():
    assert exact_sum(np.empty(0)) == 0.0
    assert exact_sum(np.zeros(5)) == 0.0


def test_many_equal_values_do_not_overflow():
    values = np.full(1 << 20, 0.999999)
    assert exact_sum(values) == pytest.approx(values.size * 0.999999, rel=1e-12)
