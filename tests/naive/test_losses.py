"""Losses of the twin: derivatives, constants, links."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from .losses import Exponential, Logistic, Loss, Multinomial, Squared

Floats = NDArray[np.float64]
NAN = math.nan
INF = math.inf
LARGEST = sys.float_info.max
TINY = 5e-324  # the smallest positive double


BINARY = np.array([0.0, 1.0, 1.0, 0.0, 1.0])
CLASSES = np.array([0.0, 2.0, 1.0, 2.0, 0.0])
WEIGHTS = np.array([1.0, 2.0, 0.5, 3.0, 1.5])
RAW = np.array([0.3, -1.2, 2.0, 0.0, 0.7])
RAW_CLASSES = np.outer(RAW, [1.0, -0.5, 0.2]) + np.array([0.1, 0.4, -0.3])

LOSSES = [
    (Squared(), np.array([1.0, -2.0, 0.5, 3.0, 0.0]), RAW),
    (Logistic(), BINARY, RAW),
    (Exponential(), BINARY, RAW),
    (Multinomial(3), CLASSES, RAW_CLASSES),
]


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize(("loss", "y", "raw"), LOSSES)
def test_gradient_and_hessian_are_derivatives(
    loss: Loss, y: Floats, raw: Floats, weights: Floats | None
) -> None:
    total = len(y) if weights is None else float(np.sum(weights))
    # The multinomial hessian is enlarged by K / (K - 1).
    enlarged = 1.5 if isinstance(loss, Multinomial) else 1.0
    step = 1e-5
    gradient = loss.gradient(y, raw, weights)
    hessian = loss.hessian(y, raw, weights)
    for cell in np.ndindex(raw.shape):
        up, down = raw.copy(), raw.copy()
        up[cell] += step
        down[cell] -= step
        slope = (loss.loss(y, up, weights) - loss.loss(y, down, weights)) / (2 * step)
        change = loss.gradient(y, up, weights) - loss.gradient(y, down, weights)
        curvature = change[cell] / (2 * step)
        assert gradient[cell] == pytest.approx(total * slope, abs=1e-8)
        assert hessian[cell] == pytest.approx(enlarged * curvature, abs=1e-8)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize(("loss", "y", "raw"), LOSSES)
def test_initial_score_has_no_gradient(
    loss: Loss, y: Floats, raw: Floats, weights: Floats | None
) -> None:
    start = np.broadcast_to(loss.initial(y, weights), raw.shape)
    gradient = loss.gradient(y, start, weights)
    np.testing.assert_allclose(gradient.sum(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize(("loss", "y", "raw"), LOSSES)
def test_link_undoes_the_inverse_link(loss: Loss, y: Floats, raw: Floats) -> None:
    mean = loss.inverse_link(raw)
    again = loss.inverse_link(loss.link(mean))
    np.testing.assert_allclose(again, mean, rtol=1e-12)


def test_losses_by_hand() -> None:
    y, zero = np.array([0.0, 1.0, 1.0, 1.0]), np.zeros(4)
    assert Squared().initial(y) == 0.75
    assert Squared().loss(y, zero) == 0.375
    assert Logistic().initial(y) == pytest.approx(math.log(3))
    assert Logistic().loss(y, zero) == pytest.approx(math.log(2))
    assert Logistic().gradient(y, zero).tolist() == [0.5, -0.5, -0.5, -0.5]
    assert Logistic().hessian(y, zero).tolist() == [0.25] * 4
    assert Exponential().initial(y) == pytest.approx(math.log(3) / 2)
    assert Exponential().loss(y, zero) == 1.0
    assert Exponential().gradient(y, zero).tolist() == [1.0, -1.0, -1.0, -1.0]
    assert Exponential().inverse_link(Exponential().initial(y)) == pytest.approx(0.75)
    three = Multinomial(3)
    assert three.loss(CLASSES, np.zeros((5, 3))) == pytest.approx(math.log(3))
    np.testing.assert_allclose(three.initial(CLASSES), np.log([0.4, 0.2, 0.4]))
    np.testing.assert_allclose(three.hessian(CLASSES, np.zeros((5, 3))), 1.5 * 2 / 9)


def test_extreme_raw_scores_do_not_overflow() -> None:
    raw, y = np.array([-800.0, 800.0]), np.array([1.0, 0.0])
    with np.errstate(over="raise"):
        assert Logistic().gradient(y, raw).tolist() == [-1.0, 1.0]
        assert Logistic().loss(y, raw) == 800.0
        both = np.column_stack([-raw, raw])
        assert Multinomial(2).loss(y, both) == 1600.0
