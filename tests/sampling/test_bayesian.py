"""Random weights of the Bayesian bootstrap."""

import math

import numpy as np
import pytest

from sumwise import BayesianBootstrap
from sumwise.errors import ParameterError
from sumwise.kernels.runtime import random
from tests.naive import random as naive
from tests.sampling.sources import assert_sound, make_source


@pytest.mark.parametrize("temperature", [0.0, 0.5, 1.0, 2.0])
def test_weights_are_powers_of_exponential_numbers(temperature):
    source = make_source()
    drawn = BayesianBootstrap(temperature).draw(source)
    assert_sound(source, drawn)
    assert np.array_equal(drawn.rows, source.rows)
    key = random.make_key(source.seed, random.ROWS, source.number)
    chances = [naive.uniform(int(key), row) + 2.0**-53 for row in source.rows.tolist()]
    expected = [(-math.log(chance)) ** temperature for chance in chances]
    assert drawn.factor == pytest.approx(expected, rel=1e-14)


def test_exponential_weights_have_mean_and_deviation_one():
    weights = BayesianBootstrap().draw_weights(np.arange(100_000, dtype=np.uint32), 0, 0)
    assert np.mean(weights) == pytest.approx(1, abs=0.02)
    assert np.std(weights) == pytest.approx(1, abs=0.02)


def test_seed_and_round_decide():
    rows = np.arange(100, dtype=np.uint32)
    first = BayesianBootstrap().draw_weights(rows, 0, 0)
    assert np.array_equal(first, BayesianBootstrap().draw_weights(rows, 0, 0))
    assert not np.any(first == BayesianBootstrap().draw_weights(rows, 0, 1))
    assert not np.any(first == BayesianBootstrap().draw_weights(rows, 1, 0))


@pytest.mark.parametrize("temperature", [-1, np.inf, np.nan, None, "1", True])
def test_temperatures_that_cannot_be(temperature):
    with pytest.raises(ParameterError, match=r"BayesianBootstrap\(temperature="):
        BayesianBootstrap(temperature).check()


def test_weights_of_members_are_uniform_over_all_of_a_sum():
    drawn = np.stack([BayesianBootstrap().draw_member(0, member, 5) for member in range(2000)])
    np.testing.assert_allclose(drawn.sum(axis=1), 5)
    # Dirichlet(1, ..., 1) times 5: a variance of 25 * (1/5) (4/5) / 6.
    np.testing.assert_allclose(drawn.mean(axis=0), 1, atol=4.5 * np.sqrt(2 / 3 / 2000))
    np.testing.assert_allclose(drawn.var(axis=0), 2 / 3, rtol=0.2)
