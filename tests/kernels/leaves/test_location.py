"""Quantiles and robust locations against the twin, bit for bit, and against NumPy."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.kernels.leaves import location
from sumwise.kernels.losses.influence import CLIPPED, FAIR, TANH
from tests.naive import location as naive

NO_UNITS = np.empty(0, dtype=np.int64)
many = settings(derandomize=True, deadline=None, max_examples=150)
levels = st.sampled_from([0.5, 0.1, 0.25, 0.9, 1 / 3, 1e-9, 1 - 1e-9])


def locate(values, weight=None, level=0.5, delta=math.inf, kind=CLIPPED):
    units = NO_UNITS
    if weight is not None:
        units = np.empty(weight.size, dtype=np.int64)
        location.weigh_in_units(weight, units)
    return location.find_location(
        values.copy(),
        units,
        level,
        delta,
        kind,
        np.empty(values.size, dtype=np.uint64),
        np.empty_like(units),
        np.full(location.N_DIGIT_VALUES, 7, dtype=np.int64),
    )


def expect(values, weight=None, level=0.5, delta=math.inf, kind=CLIPPED):
    units = None if weight is None else naive.weigh_in_units(weight)
    return naive.robust_location(values, units, level, delta, kind)


def draw(rng, n, n_distinct=None):
    values = rng.normal(size=n) * 10.0 ** rng.integers(-3, 4)
    return values if n_distinct is None else values[rng.integers(0, min(n, n_distinct), n)]


@pytest.mark.parametrize("n", [1, 2, 3, 24, 25, 26, 99, 100, 5000])
@pytest.mark.parametrize("n_distinct", [None, 1, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_twin(n, n_distinct, weighted):
    rng = np.random.default_rng(n)
    for delta in (math.inf, 0.5):
        for level in (0.5, 0.1, 0.9, 0.25):
            values = draw(rng, n, n_distinct)
            weight = rng.exponential(size=n) if weighted else None
            assert locate(values, weight, level, delta) == expect(values, weight, level, delta)
            fair = 0.5, 0.7, FAIR
            assert locate(values, weight, *fair) == expect(values, weight, *fair)
            tanh = 0.5, 1.0, TANH
            expected = expect(values, weight, *tanh)
            assert locate(values, weight, *tanh) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@many
@given(
    values=st.lists(
        st.sampled_from([0.0, -0.0, 1.0, -1.0, 2.0, 1e-300, -1e300, 5e-324, 3.0, 1e300]),
        min_size=1,
        max_size=60,
    ),
    level=levels,
    seed=st.integers(0, 9),
    weighted=st.booleans(),
)
def test_ties_and_extreme_values_equal_twin(values, level, seed, weighted):
    values = np.array(values)
    weight = np.random.default_rng(seed).choice([1.0, 2.0, 0.5, 1e-9], values.size)
    weight = weight if weighted else None
    assert locate(values, weight, level) == expect(values, weight, level)


@pytest.mark.parametrize("n", [1, 2, 7, 8, 1001, 1002])
def test_median_is_the_usual_one(n):
    values = draw(np.random.default_rng(n), n)
    assert locate(values) == pytest.approx(np.median(values), rel=1e-15)


@pytest.mark.parametrize("level", [0.1, 0.25, 0.5, 0.75, 0.9])
def test_quantile_is_the_averaged_inverse_of_the_distribution(level):
    values = draw(np.random.default_rng(1), 1000)
    expected = np.quantile(values, level, method="averaged_inverted_cdf")
    assert locate(values, level=level) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("delta", [math.inf, 0.7])
@pytest.mark.parametrize("level", [0.5, 0.3])
def test_a_weight_of_three_is_three_rows(level, delta):
    rng = np.random.default_rng(2)
    values, repeats = draw(rng, 200), rng.integers(1, 4, 200)
    weighted = locate(values, repeats.astype(float), level, delta)
    assert weighted == pytest.approx(locate(np.repeat(values, repeats), None, level, delta))


@pytest.mark.parametrize("delta", [math.inf, 0.7])
@pytest.mark.parametrize("weighted", [False, True])
def test_order_changes_no_bit(weighted, delta):
    rng = np.random.default_rng(3)
    values, weight = draw(rng, 300), rng.random(300)
    found = set()
    for _ in range(5):
        order = rng.permutation(300)
        found.add(locate(values[order], weight[order] if weighted else None, 0.4, delta))
    assert len(found) == 1


def test_quantile_minimizes_the_pinball_loss():
    rng = np.random.default_rng(4)
    values, weight = draw(rng, 80), rng.random(80)
    for level in (0.2, 0.5, 0.85):

        def loss(score, level=level):
            error = values - score
            return (weight * np.maximum(level * error, (level - 1) * error)).sum()

        best = loss(locate(values, weight, level))
        assert all(best <= loss(value) + 1e-12 for value in values)


def test_weights_as_integers():
    units = np.empty(4, dtype=np.int64)
    location.weigh_in_units(np.array([1.0, 0.5, 0.0, 1e-300]), units)
    assert units[0] == 2 * units[1] == 2**50
    assert units[2:].tolist() == [0, 1]
    assert units.tolist() == naive.weigh_in_units(np.array([1.0, 0.5, 0.0, 1e-300]))


def test_a_huber_step_by_hand():
    values = np.array([0.0, 1.0, 2.0, 3.0, 100.0])
    # distances from the median 2: -2, -1, 0, 1 and 98, clipped to 1.5
    assert locate(values, delta=1.5) == 2 + (-1.5 - 1 + 0 + 1 + 1.5) / 5
    assert locate(values, delta=1e9) == pytest.approx(values.mean())
