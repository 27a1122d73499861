"""exp and log against the library's, in units of the last place."""

import math

import numpy as np
import pytest

from sumwise.kernels.runtime.elementary import (
    exp,
    float_of,
    log,
    log1p_exp,
    nearest_integer,
    round_to_integer,
)
from sumwise.kernels.runtime.jit import kernel


@kernel
def fill_exp(x, out):
    for i in range(x.size):
        out[i] = exp(x[i])


@kernel
def fill_log(x, out):
    for i in range(x.size):
        out[i] = log(x[i])


@kernel
def fill_log1p_exp(x, out):
    for i in range(x.size):
        out[i] = log1p_exp(x[i])


@kernel
def fill_rounded(x, out):
    for i in range(x.size):
        out[i] = round_to_integer(x[i])


@kernel
def fill_integers(x, out):
    for i in range(x.size):
        out[i] = nearest_integer(x[i])


@kernel
def fill_floats(integers, out):
    for i in range(integers.size):
        out[i] = float_of(integers[i])


def call(fill, x):
    x = np.asarray(x, dtype=np.float64)
    out = np.empty_like(x)
    fill(x, out)
    return out


def ulps_apart(found, expected):
    """The largest distance in units of the last place of the expected values."""
    return np.max(np.abs(found - expected) / np.spacing(np.abs(expected)))


def library(function, x):
    return np.array([function(value) for value in x.tolist()])


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def test_exp_is_right_to_two_units(rng):
    x = np.concatenate([rng.uniform(-708, 709, 20_000), rng.normal(size=20_000)])
    assert ulps_apart(call(fill_exp, x), library(math.exp, x)) <= 2


def test_exp_of_zero_and_near_zero():
    tiny = np.array([0.0, -0.0, 5e-324, -5e-324, 1e-17, -1e-17])
    assert call(fill_exp, tiny).tolist() == [1.0] * 6
    small = np.array([1e-10, -1e-10, 2.0**-30, -(2.0**-30)])
    assert ulps_apart(call(fill_exp, small), library(math.exp, small)) <= 1


def test_exp_at_the_edges_of_its_pieces():
    # k changes where x / ln 2 crosses a half
    edges = (np.arange(-1021, 1023) + 0.5) * math.log(2)
    edges = edges[(edges > -708) & (edges < 709)]
    x = np.sort(np.concatenate([np.nextafter(edges, -np.inf), edges, np.nextafter(edges, np.inf)]))
    found = call(fill_exp, x)
    assert ulps_apart(found, library(math.exp, x)) <= 2
    assert np.all(np.diff(found) >= 0)


def test_exp_rises():
    x = np.linspace(-708, 709, 200_001)
    assert np.all(np.diff(call(fill_exp, x)) > 0)


@pytest.mark.parametrize("x", [-708.5, -1000.0, -1e300, -np.inf])
def test_exp_is_clipped_below_to_a_normal_number(x):
    (found,) = call(fill_exp, [x])
    assert found == call(fill_exp, [-708.0])[0]
    assert found >= np.finfo(np.float64).tiny


@pytest.mark.parametrize("x", [709.5, 1000.0, 1e300, np.inf])
def test_exp_is_clipped_above_to_a_finite_number(x):
    (found,) = call(fill_exp, [x])
    assert found == call(fill_exp, [709.0])[0]
    assert np.isfinite(found)


def test_exp_passes_nan_on():
    assert np.isnan(call(fill_exp, [np.nan])[0])


def test_log_is_right_to_two_units(rng):
    wide = np.exp2(rng.uniform(-1022, 1023, 20_000))
    near_one = 1 + rng.normal(size=20_000) * 1e-3
    x = np.concatenate([wide, near_one, rng.uniform(0.5, 2, 20_000)])
    assert ulps_apart(call(fill_log, x), library(math.log, x)) <= 2


def test_log_of_powers_of_two_and_one():
    powers = np.exp2(np.arange(-1022, 1024))
    assert call(fill_log, [1.0]).tolist() == [0.0]
    assert (
        ulps_apart(call(fill_log, powers[powers != 1]), library(math.log, powers[powers != 1])) < 2
    )
    beside = np.array([np.nextafter(1, 0), np.nextafter(1, 2)])
    assert ulps_apart(call(fill_log, beside), library(math.log, beside)) <= 1


def test_log_rises():
    x = np.concatenate([np.exp2(np.linspace(-1022, 1023.9, 100_001)), np.linspace(0.5, 2, 50_001)])
    assert np.all(np.diff(call(fill_log, np.unique(x))) > 0)


def test_log_undoes_exp():
    x = np.linspace(-700, 700, 4001)
    np.testing.assert_allclose(call(fill_log, call(fill_exp, x)), x, rtol=1e-15, atol=3e-16)


def test_log1p_exp(rng):
    x = np.concatenate([rng.uniform(-700, 700, 5000), rng.normal(size=5000), [0.0, -0.0]])
    found, expected = call(fill_log1p_exp, x), np.logaddexp(0, x)
    # 1 + e is rounded, which costs digits where e is small, but never more than these
    assert np.max(np.abs(found - expected) / np.maximum(1, expected)) < 3e-16
    np.testing.assert_allclose(found, expected, rtol=2e-10)
    far = x < -14
    np.testing.assert_allclose(found[far], expected[far], rtol=1e-12)


def test_log1p_exp_at_extremes():
    found = call(fill_log1p_exp, [1e300, 800.0, -800.0, -1e300])
    assert found[:2].tolist() == [1e300, 800.0]
    assert np.all((found[2:] > 0) & (found[2:] < 1e-300))


def test_rounding_is_to_nearest_halves_to_even(rng):
    halves = np.arange(-20, 21) / 2
    large = 2.0**50 - rng.integers(0, 1000, 100) / 4
    x = np.concatenate([halves, large, -large, rng.normal(size=1000) * 1e6])
    np.testing.assert_array_equal(call(fill_rounded, x), np.rint(x))


def test_nearest_integer():
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [
            [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, -1.5, 2.0**51 - 1, 1 - 2.0**51],
            rng.normal(size=1000) * 10.0 ** rng.integers(-3, 15, size=1000),
        ]
    )
    out = np.empty(x.size, dtype=np.int64)
    fill_integers(x, out)
    assert out.tolist() == np.rint(x).astype(np.int64).tolist()


def test_float_of_rounds_as_a_conversion_does():
    rng = np.random.default_rng(0)
    powers = 1 << np.arange(63)
    largest = np.iinfo(np.int64)
    integers = np.concatenate(
        [
            [0, largest.min, largest.max, largest.max - 511, largest.max - 512],
            *(sign * powers + step for sign in (1, -1) for step in (-1, 0, 1)),
            rng.integers(largest.min, largest.max, size=2000) >> rng.integers(0, 63, size=2000),
        ]
    ).astype(np.int64)
    out = np.empty(integers.size)
    fill_floats(integers, out)
    assert out.view(np.int64).tolist() == integers.astype(np.float64).view(np.int64).tolist()
