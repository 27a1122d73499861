"""The arithmetic of AdaBoost's rounds."""

import doctest
import math

import numpy as np
import pytest

from sumwise.training import reweight
from sumwise.training.reweight import (
    SMALLEST_ERROR,
    change_weights,
    find_chance_error,
    is_rounding,
    is_too_weak,
    weigh_classifier,
    weigh_regressor,
)


def test_the_example_runs():
    assert doctest.testmod(reweight).failed == 0


def test_chance():
    assert [find_chance_error(k) for k in (0, 2, 4)] == [0.5, 0.5, 0.75]
    assert is_too_weak(8 / 12, find_chance_error(3))  # which is one unit in the last place more
    assert is_too_weak(math.nan, 0.5)
    assert not is_too_weak(0.4999, 0.5)


@pytest.mark.parametrize("n_classes", [2, 3, 10])
def test_weights_of_learners_are_half_log_odds(n_classes):
    for error in (0.01, 0.3):
        odds = math.log((1 - error) / error) + math.log(n_classes - 1)
        assert weigh_classifier(error, n_classes) == pytest.approx(odds / 2)
        assert weigh_classifier(error, n_classes, 0.1) == pytest.approx(odds / 20)
    assert weigh_classifier(find_chance_error(n_classes), n_classes) == pytest.approx(0, abs=1e-15)
    assert weigh_regressor(0.2, 0.5) == pytest.approx(0.5 * math.log(4))


def test_perfect_learners_have_finite_weights():
    assert (
        weigh_classifier(0.0, 2) == weigh_classifier(SMALLEST_ERROR, 2) == pytest.approx(18.02183)
    )
    assert weigh_regressor(0.0) == pytest.approx(36.04365)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("rate", [0.1, 1.0, 1.7])
def test_weights_of_rows_follow_the_exponential_loss(n_classes, rate):
    """Codes of classes are 1 and -1 / (K - 1); the loss is exp(-code . scores / K)."""
    rng = np.random.default_rng(0)
    wrong = rng.random(20) < 0.3
    before = rng.random(20)
    before /= before.sum()
    error = before[wrong].sum()
    weight = weigh_classifier(error, n_classes, rate)
    codes = np.where(np.eye(n_classes) == 1, 1.0, -1.0 / (n_classes - 1))
    scale = (n_classes - 1) ** 2 / n_classes * 2.0 * weight
    predicted = np.where(wrong, 1, 0)
    losses = before * np.exp(-scale * (codes[predicted] * codes[0]).sum(axis=1) / n_classes)
    right, wrong_factor, log_normalizer = change_weights(error, weight, n_classes)
    assert math.exp(log_normalizer) == pytest.approx(losses.sum(), rel=1e-12)
    after = before * np.where(wrong, wrong_factor, right)
    np.testing.assert_allclose(after, losses / losses.sum(), rtol=1e-12)
    if rate == 1.0:  # the next learner has to do better than this one
        assert after[wrong].sum() == pytest.approx(find_chance_error(n_classes))


def test_two_classes_halve_the_weight_of_right_and_wrong():
    right, wrong, log_normalizer = change_weights(0.2, weigh_classifier(0.2, 2), 2)
    assert (right, wrong) == pytest.approx((0.625, 2.5))
    assert math.exp(log_normalizer) == pytest.approx(2 * math.sqrt(0.2 * 0.8))


def test_nothing_overflows():
    assert change_weights(0.1, 1e6, 2) == pytest.approx((0.0, 10.0, 1e6 + math.log(0.1)))
    assert change_weights(0.0, 18.0, 2).log_normalizer == pytest.approx(-18.0)
    assert change_weights(0.0, 1e6, 4) == (1.0, 1.0, -1.5e6)


def test_rounding_is_relative_to_the_target():
    y = np.array([-1e6, 5.0])
    assert is_rounding(1e-9, y)
    assert not is_rounding(1e-3, y)
    assert is_rounding(0.0, np.zeros(2))
