"""Poisson, gamma and Tweedie loss: initial scores, also with an exposure, and valid targets."""

import math

import numpy as np
import pytest

from sumwise import Tweedie
from sumwise.errors import DataError, ParameterError
from sumwise.losses import Gamma, Poisson

NO_WEIGHT = np.empty(0)
RNG = np.random.default_rng(0)
TARGET = RNG.gamma(2.0, 3.0, 200)
WEIGHT = RNG.random(200)
OFFSET = RNG.normal(size=(1, 200))
ROWS = np.arange(0, 200, 2, dtype=np.uint32)
LOSSES = [Poisson(), Gamma(), Tweedie(1.5), Tweedie(1.05)]
each_loss = pytest.mark.parametrize("loss", LOSSES, ids=["poisson", "gamma", "tweedie", "low"])
each_weight = pytest.mark.parametrize("weight", [NO_WEIGHT, WEIGHT], ids=["plain", "weighted"])


@each_loss
@each_weight
def test_initial_score_is_the_log_of_the_mean(loss, weight):
    start = loss.initial_score(TARGET, weight, ROWS)
    mean = np.average(TARGET[ROWS], weights=weight[ROWS] if weight.size else None)
    assert start == pytest.approx([math.log(mean)], rel=1e-12)


@each_loss
@each_weight
@pytest.mark.parametrize("offset", [np.zeros((1, 200)), OFFSET], ids=["none", "offset"])
def test_no_constant_is_better(loss, weight, offset):
    shift = loss.initial_shift(TARGET, weight, ROWS, offset)
    if not offset.any():
        assert shift == pytest.approx(loss.initial_score(TARGET, weight, ROWS), rel=1e-12)
    best, *others = (
        loss.value(TARGET, offset + shift + step, weight, ROWS) for step in (0.0, -1e-3, 1e-3)
    )
    assert best < min(others)


@each_loss
def test_order_of_rows_changes_no_bit(loss):
    orders = [RNG.permutation(ROWS) for _ in range(4)]
    assert len({loss.initial_score(TARGET, WEIGHT, order).tobytes() for order in orders}) == 1
    shifts = {loss.initial_shift(TARGET, WEIGHT, order, OFFSET).tobytes() for order in orders}
    assert len(shifts) == 1


def test_a_mean_of_zero_has_a_finite_score():
    # Held-out rows may have all the positive targets.
    zeros = np.zeros(200)
    assert -40 < Poisson().initial_score(zeros, NO_WEIGHT, ROWS)[0] < -30
    assert -40 < Tweedie().initial_shift(zeros, NO_WEIGHT, ROWS, OFFSET)[0] < -30


@each_loss
def test_scores_that_overflow_are_not_numbers(loss):
    assert np.isnan(loss.initial_score(np.full(200, 1e308), np.full(200, 1e308), ROWS)).all()


@pytest.mark.parametrize(
    ("loss", "target", "message"),
    [
        (Poisson(), [1.0, -2.0, -3.0], r"y\[1\] is -2; loss='poisson' .*at least 0 \(2 of 3"),
        (Tweedie(), [1.0, 0.0, -3.0], r"y\[2\] is -3; loss='tweedie' .*at least 0"),
        (Gamma(), [1.0, 0.0, 3.0], r"y\[1\] is 0; loss='gamma' needs targets above 0"),
        (Poisson(), [0.0, 0.0, 0.0], "all targets are 0; loss='poisson'"),
        (Tweedie(), [0.0, 0.0, 0.0], "all targets are 0; loss='tweedie'"),
    ],
)
def test_targets_out_of_range(loss, target, message):
    with pytest.raises(DataError, match=message):
        loss.check_target(np.array(target), NO_WEIGHT)


def test_targets_without_weight_are_not_looked_at():
    Poisson().check_target(np.array([-1.0, 2.0]), np.array([0.0, 1.0]))
    with pytest.raises(DataError, match="all targets are 0"):
        Poisson().check_target(np.array([1.0, 0.0]), np.array([0.0, 1.0]))


@pytest.mark.parametrize("power", [1, 2, 0.5, 3, np.nan, "1.5", None, True])
def test_powers_out_of_range(power):
    with pytest.raises(ParameterError, match=r"Tweedie\(power=.*between 1 and 2; for 1 use"):
        Tweedie(power).check()


def test_powers_in_range():
    for power in (1.01, 1.99, np.float32(1.5)):
        Tweedie(power).check()
