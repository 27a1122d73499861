"""Links against NumPy and the twin, and at extreme scores."""

import numpy as np
import pytest

from sumwise.kernels.losses import links as kernels
from tests.naive import losses as naive

EXTREME = [-1e10, -1000.0, -709.0, -40.0, 0.0, -0.0, 40.0, 709.0, 1000.0, 1e10]


@pytest.mark.parametrize("factor", [1.0, 2.0, -1.0])
def test_sigmoid(factor):
    raw = np.concatenate([np.linspace(-50, 50, 1001), EXTREME])
    out = np.empty_like(raw)
    kernels.sigmoid(raw, factor, out)
    moderate = np.abs(raw) <= 50
    expected = 1 / (1 + np.exp(-factor * raw[moderate]))
    np.testing.assert_allclose(out[moderate], expected, rtol=1e-14)
    assert np.all((out >= 0) & (out <= 1))
    assert np.all(np.diff(out[:1001]) * np.sign(factor) >= 0)


@pytest.mark.parametrize("factor", [1.0, 2.0])
def test_two_sigmoids(factor):
    raw = np.concatenate([np.linspace(-50, 50, 1001), EXTREME, [np.nan]])
    out, expected = np.empty((raw.size, 2)), np.empty((2, raw.size))
    kernels.two_sigmoids(raw, factor, out.ravel())
    kernels.sigmoid(raw, -factor, expected[0])
    kernels.sigmoid(raw, factor, expected[1])
    np.testing.assert_array_equal(out, expected.T)


def test_softmax():
    raw = np.random.default_rng(0).normal(size=(50, 4)) * 20
    raw[:3] = [[1e308, -1e308, 0, 1], [800, 799, -800, 0], [-1e4] * 4]
    out = np.empty_like(raw)
    kernels.softmax(raw, out)
    np.testing.assert_allclose(out.sum(axis=1), 1, rtol=1e-15)
    np.testing.assert_allclose(out[3:], naive.Multinomial(4).inverse_link(raw[3:]), rtol=1e-13)
    np.testing.assert_allclose(out[0], [1, 0, 0, 0], atol=1e-300)
    assert out[2].tolist() == [0.25] * 4


def test_exponential():
    raw = np.array([-800.0, -1.0, 0.0, 3.0])
    out = np.empty(4)
    kernels.exponential(raw, -2.0, out)
    np.testing.assert_allclose(out[1:], np.exp(-2 * raw[1:]), rtol=1e-15)
    assert np.isfinite(out[0])


def test_exponential_less_one_and_its_inverse():
    raw = np.array([-800.0, -3.0, -1e-3, -1e-12, 0.0, 1e-12, 0.01, 0.1, 1.0, 700.0])
    mean, back = np.empty(raw.size), np.empty(raw.size)
    kernels.exponential_less_one(raw, mean)
    np.testing.assert_allclose(mean, np.expm1(raw), rtol=1e-14)
    kernels.log_one_plus(mean[1:], back[1:])
    np.testing.assert_allclose(back[1:], raw[1:], rtol=1e-13, atol=2e-16)
