"""The shared part of losses: means and sums that do not depend on the order of rows."""

import math

import numpy as np
import pytest

from sumwise.kernels.runtime.threads import Team
from sumwise.losses import (
    CrossEntropy,
    Exponential,
    Logistic,
    Loss,
    Multinomial,
    Poisson,
    Squared,
    base,
)
from sumwise.losses.base import at_rows, find_share, weighted_mean
from tests.naive import losses as naive

NO_WEIGHT = np.empty(0)
PAIRS = [
    (Squared(), naive.Squared()),
    (Logistic(), naive.Logistic()),
    (Exponential(), naive.Exponential()),
    (Multinomial(4), naive.Multinomial(4)),
]
IDS = ["squared", "logistic", "exponential", "multinomial"]


def draw(loss, rng, n_rows):
    raw = rng.normal(size=(loss.n_outputs, n_rows))
    if isinstance(loss, Squared):
        return rng.normal(size=n_rows), raw
    return rng.permutation(np.arange(n_rows) % max(2, loss.n_outputs)).astype(float), raw


def as_twin(raw):
    return raw[0] if raw.shape[0] == 1 else raw.T


@pytest.mark.parametrize(("loss", "twin"), PAIRS, ids=IDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_loss_equals_twin(loss, twin, weighted):
    rng = np.random.default_rng(0)
    target, raw = draw(loss, rng, 200)
    weight = rng.random(200) if weighted else NO_WEIGHT
    rows = np.sort(rng.choice(200, 90, replace=False)).astype(np.uint32)
    twin_weight = weight[rows] if weighted else None
    expected = twin.loss(target[rows], as_twin(raw[:, rows]), twin_weight)
    assert loss.value(target, raw, weight, rows) == pytest.approx(expected, rel=1e-10)
    start = loss.initial_score(target, weight, rows)
    assert start.shape == (loss.n_outputs,)
    np.testing.assert_allclose(start, np.ravel(twin.initial(target[rows], twin_weight)), rtol=1e-9)


@pytest.mark.parametrize(("loss", "twin"), PAIRS, ids=IDS)
def test_gradient_equals_twin(loss, twin):
    rng = np.random.default_rng(1)
    target, raw = draw(loss, rng, 50)
    weight = rng.random(50)
    gradient, hessian = np.empty_like(raw), np.empty_like(raw)
    with Team(2) as team:
        loss.gradient(team, target, raw, weight, gradient, hessian)
    for found, function in [(gradient, twin.gradient), (hessian, twin.hessian)]:
        expected = function(target, as_twin(raw), weight).reshape(50, -1).T
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("loss", [loss for loss, _ in PAIRS], ids=IDS)
def test_no_score_is_better_than_the_initial_one(loss):
    rng = np.random.default_rng(2)
    target, _ = draw(loss, rng, 60)
    weight, rows = rng.random(60) + 0.1, np.arange(60, dtype=np.uint32)
    start = loss.initial_score(target, weight, rows)

    def value(score):
        return loss.value(target, np.repeat(score[:, None], 60, axis=1), weight, rows)

    best = value(start)
    for k in range(loss.n_outputs):
        for step in (-0.01, 0.01):
            moved = start.copy()
            moved[k] += step
            assert value(moved) > best


@pytest.mark.parametrize("loss", [loss for loss, _ in PAIRS], ids=IDS)
@pytest.mark.parametrize("weighted", [False, True])
def test_order_of_rows_changes_no_bit(loss, weighted):
    rng = np.random.default_rng(3)
    target, raw = draw(loss, rng, 500)
    weight = rng.random(500) if weighted else NO_WEIGHT
    rows = np.arange(500, dtype=np.uint32)
    orders = [rows, rows[::-1].copy(), *(rng.permutation(rows) for _ in range(5))]
    assert len({loss.value(target, raw, weight, order) for order in orders}) == 1
    starts = {loss.initial_score(target, weight, order).tobytes() for order in orders}
    assert len(starts) == 1


@pytest.mark.parametrize("loss", [loss for loss, _ in PAIRS], ids=IDS)
def test_a_score_without_bound_has_no_loss(loss):
    target, raw = draw(loss, np.random.default_rng(0), 12)
    raw[0, 3] = np.nan
    assert math.isnan(loss.value(target, raw, NO_WEIGHT, np.arange(12, dtype=np.uint32)))


def test_weighted_mean():
    values = np.array([1.0, 2.0, 6.0])
    assert weighted_mean(values, NO_WEIGHT) == 3.0
    assert weighted_mean(values, np.array([1.0, 1.0, 0.0])) == 1.5
    assert weighted_mean(values, np.full(3, 1e-200)) == pytest.approx(3.0)


def test_a_share_is_the_mean_of_zeros_and_ones():
    rng = np.random.default_rng(0)
    for n in (1, 3, 1000):
        is_one = (rng.random(n) < 0.3).astype(np.uint8)
        ones = is_one.astype(np.float64)
        assert find_share(is_one, NO_WEIGHT) == weighted_mean(ones, NO_WEIGHT)
        weight = rng.random(n)
        assert find_share(is_one, weight) == weighted_mean(ones, weight)


@pytest.mark.parametrize("loss", [Logistic(), Squared(), Poisson(), CrossEntropy(), Multinomial(2)])
@pytest.mark.parametrize("weighted", [False, True])
def test_initial_scores_by_many_threads(loss, weighted, monkeypatch):
    monkeypatch.setattr(base, "_FEW_SCORES", 10)
    rng = np.random.default_rng(0)
    target = (rng.random(1000) < 0.4).astype(loss.target_type)
    weight = rng.random(1000) if weighted else NO_WEIGHT
    for rows in (np.arange(1000, dtype=np.uint32), np.arange(0, 1000, 3, dtype=np.uint32)):
        expected = loss.initial_score(target, weight, rows)
        with Team(3) as team:
            assert loss.initial_score(target, weight, rows, team).tobytes() == expected.tobytes()


def test_values_of_all_rows_are_not_copied():
    values = np.array([5.0, 6.0, 7.0])
    assert at_rows(values, np.arange(3, dtype=np.uint32)) is values


def test_weights_at_rows():
    rows = np.array([2, 0])
    assert at_rows(np.array([5.0, 6.0, 7.0]), rows).tolist() == [7.0, 5.0]
    assert at_rows(NO_WEIGHT, rows).size == 0


def test_a_loss_must_say_where_it_starts():
    rows = np.arange(2, dtype=np.uint32)
    with pytest.raises(NotImplementedError, match="Loss has no initial score"):
        Loss().initial_score(np.ones(2), NO_WEIGHT, rows)
