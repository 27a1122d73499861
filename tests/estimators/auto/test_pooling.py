"""Stacking with non-negative coefficients that are pulled toward equal ones."""

import numpy as np
import pytest
from scipy.optimize import minimize

from sumwise.estimators.auto import pooling
from sumwise.estimators.auto.pooling import LinearPool, LogPool

RNG = np.random.default_rng(0)
WEIGHT = RNG.uniform(0.5, 2.0, 300)


def make_numbers(n_rows=300):
    y = RNG.normal(size=n_rows)
    noise = RNG.normal(size=(3, n_rows))
    return np.stack([y + 0.3 * noise[0], y + noise[1], noise[2]]), y


def make_shares(n_rows=300):
    y = RNG.integers(0, 3, n_rows)
    scores = RNG.normal(size=(2, n_rows, 3))
    scores[0, np.arange(n_rows), y] += 2.0
    powers = np.exp(scores)
    return powers / powers.sum(axis=2, keepdims=True), y


def test_good_members_get_weight_and_useless_ones_nearly_none():
    predictions, y = make_numbers()
    pool = LinearPool.fit(predictions, y, None)
    assert pool.coef[0] > pool.coef[1] > pool.coef[2]
    assert (pool.coef >= 0).all()
    assert np.mean((pool.combine(predictions) - y) ** 2) < 0.09


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_the_linear_pool_is_the_minimum(weight):
    predictions, y = make_numbers()
    pool = LinearPool.fit(predictions, y, weight)
    share = np.full(300, 1 / 300) if weight is None else weight / weight.sum()
    variance = share @ (y - share @ y) ** 2
    penalty = pooling._PRIOR_ROWS / 300 * variance

    def measure(values):
        errors = values[:3] @ predictions + values[3] - y
        return share @ errors**2 + penalty * ((values[:3] - 1 / 3) ** 2).sum()

    bounds = [(0, None)] * 3 + [(None, None)]
    expected = minimize(measure, np.zeros(4), bounds=bounds, options={"ftol": 1e-14}).x
    np.testing.assert_allclose([*pool.coef, pool.intercept], expected, atol=1e-5)


def test_few_rows_give_nearly_equal_weights():
    predictions, y = make_numbers(4)
    assert np.ptp(LinearPool.fit(predictions, y, None).coef) < 0.2


def test_a_constant_target():
    predictions = np.stack([np.full(9, 4.0), np.full(9, 2.0)])
    found = LinearPool.fit(predictions, np.full(9, 5.0), None).combine(predictions)
    np.testing.assert_allclose(found, 5.0)


@pytest.mark.parametrize("weight", [None, WEIGHT])
def test_the_slope_of_the_log_pool_is_zero(weight):
    predictions, y = make_shares()
    pool = LogPool.fit(predictions, y, weight)
    assert pool.coef[0] > 0.8
    assert pool.coef[1] < 0.3
    shares = pool.combine(predictions)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)
    share = np.full(300, 1 / 300) if weight is None else weight / weight.sum()
    excess = share[:, None] * (shares - np.eye(3)[y])
    penalty = pooling._PRIOR_ROWS / 300
    slope = (excess * np.log(predictions[0])).sum() + penalty * (pool.coef[0] - 0.5)
    assert abs(slope) < 1e-4
    np.testing.assert_allclose(excess.sum(axis=0), -penalty * pool.intercept, atol=1e-4)


def test_probabilities_of_zero_do_not_rule_a_class_out():
    predictions = np.array([[[1.0, 0.0]], [[0.3, 0.7]]])
    found = LogPool(np.array([0.1, 0.9]), np.zeros(2)).combine(predictions)
    assert found[0, 1] > 0.1


def test_a_log_pool_of_one_member_with_power_one_is_that_member():
    predictions, _ = make_shares()
    found = LogPool(np.array([1.0, 0.0]), np.zeros(3)).combine(predictions)
    np.testing.assert_allclose(found, predictions[0], atol=1e-5)
