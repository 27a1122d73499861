"""Losses of two classes: initial scores, also if a class is absent."""

import math

import numpy as np
import pytest

from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Exponential, Logistic
from sumwise.losses.links import LINKS

NO_WEIGHT = np.empty(0)
ROWS = np.arange(4, dtype=np.uint32)


@pytest.mark.parametrize(("loss", "factor"), [(Logistic(), 1.0), (Exponential(), 0.5)])
def test_initial_score_is_the_log_odds(loss, factor):
    target = np.array([1.0, 1.0, 1.0, 0.0])
    score = loss.initial_score(target, NO_WEIGHT, ROWS)
    assert score.tolist() == [factor * math.log(3)]
    # the link returns the share of the class
    probability = LINKS[loss.link](score.reshape(1, 1))
    np.testing.assert_allclose(probability, [[0.25, 0.75]], rtol=1e-14)
    weight = np.array([1.0, 0.0, 0.0, 3.0])
    expected = -factor * math.log(3)
    assert loss.initial_score(target, weight, ROWS)[0] == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("loss", [Logistic(), Exponential()])
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_one_class_alone_has_a_finite_score(loss, label):
    score = loss.initial_score(np.full(4, label), NO_WEIGHT, ROWS)[0]
    assert math.isfinite(score)
    assert abs(score) > 15
    assert (score > 0) == (label == 1)
    value = loss.value(np.full(4, label), np.full((1, 4), score), NO_WEIGHT, ROWS)
    assert 0 <= value < 1e-7


def test_loss_of_a_sure_error_is_its_score():
    raw = np.array([[800.0]])
    assert Logistic().value(np.zeros(1), raw, NO_WEIGHT, ROWS[:1]) == 800.0
    assert Logistic().value(np.ones(1), raw, NO_WEIGHT, ROWS[:1]) < 1e-300


@pytest.mark.parametrize("loss", [Logistic(), Exponential()])
@pytest.mark.parametrize("n_weights", [0, 50])
def test_classes_as_bytes_have_the_gradients_of_floats(loss, n_weights):
    rng = np.random.default_rng(0)
    target, raw = rng.integers(0, 2, 50), 4 * rng.normal(size=(1, 50))
    rows, weight = np.arange(50, dtype=np.uint32), rng.random(n_weights)
    found = []
    for kind in (np.float64, loss.target_type):
        y, derivatives = target.astype(kind), np.empty((2, 1, 50))
        with Team(1) as team:
            loss.gradient(team, y, raw, weight, *derivatives)
        value = loss.value(y, raw, weight, rows)
        found.append([*derivatives.ravel(), value, *loss.initial_score(y, weight, rows)])
    assert found[0] == found[1]
