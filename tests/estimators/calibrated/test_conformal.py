"""Conformal quantiles, intervals and sets, without trees."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sumwise.errors import DataWarning, ParameterError
from sumwise.estimators.calibrated.conformal import (
    ConformalIntervals,
    ConformalSets,
    check_coverage,
    sort_scores,
    warn_of_few_rows,
)
from tests.naive import conformal as naive

NUMBERS = st.floats(-100, 100).map(lambda x: round(x, 1))
ROWS = st.lists(st.tuples(NUMBERS, st.sampled_from([0.5, 1.0, 3.0])), min_size=1, max_size=30)
TAILS = st.sampled_from([0.01, 0.05, 0.1, 0.25, 0.5])


@given(ROWS, TAILS, st.booleans())
def test_quantiles_are_those_of_the_naive_twin(rows, tail, is_weighted):
    scores, weights = (list(column) for column in zip(*rows, strict=True))
    weights = weights if is_weighted else [1.0] * len(scores)
    own = sort_scores(np.array(scores)[:, np.newaxis], np.array(weights) if is_weighted else None)
    assert own.find_low(tail) == [naive.find_low(scores, weights, tail)]
    assert own.find_high(tail) == [naive.find_high(scores, weights, tail)]


@pytest.mark.parametrize("n_rows", [1, 9, 19, 20, 99, 100, 250])
@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9, 0.95])
def test_the_coverage_of_exchangeable_rows_is_exact(n_rows, coverage):
    """Each of n + 1 rows is new in turn: the share that is covered is at least the coverage."""
    scores = np.random.default_rng(n_rows).exponential(size=n_rows + 1)
    n_below = n_above = 0
    for new in range(n_rows + 1):
        known = sort_scores(np.delete(scores, new)[:, np.newaxis], None)
        n_below += scores[new] < known.find_low((1 - coverage) / 2)[0]
        n_above += scores[new] > known.find_high((1 - coverage) / 2)[0]
    for n_missed in (n_below, n_above):
        share = n_missed / (n_rows + 1)
        assert (1 - coverage) / 2 - 1 / (n_rows + 1) < share <= (1 - coverage) / 2 + 1e-12


def test_equal_weights_are_no_weights():
    scores = np.random.default_rng(0).normal(size=(30, 2))
    assert sort_scores(scores, np.full(30, 7.0)).weights is None


def test_a_weight_counts_relative_to_the_mean():
    scores, weight = np.arange(40.0)[:, np.newaxis], np.repeat([1.0, 3.0], 20)
    for factor in (1.0, 1e-3, 1e6):
        assert sort_scores(scores, factor * weight).find_low(0.1) == [6.0]


def make_rows(n_rows=200, n_outputs=1, seed=0):
    rng = np.random.default_rng(seed)
    base = rng.normal(size=(n_rows, n_outputs)) * 3
    spread = rng.exponential(size=(n_rows, n_outputs))
    return base + spread * rng.normal(size=base.shape), base, spread


@pytest.mark.parametrize("has_weights", [False, True])
def test_intervals_are_those_of_the_naive_twin(has_weights):
    y, base, spread = make_rows(n_outputs=2)
    weight = np.random.default_rng(1).integers(1, 4, len(y)) if has_weights else np.ones(len(y))
    own = ConformalIntervals.learn(y, base, spread, weight.astype(float), power=None)
    _, new_base, new_spread = make_rows(5, 2, seed=2)
    low, high = own.find_bounds(new_base, new_spread, 0.8)
    floor = 0.3 * np.average(spread, axis=0, weights=weight)
    scores = (y - base) / (spread + floor)
    for row in range(5):
        for k in range(2):
            about = scores[:, k].tolist(), weight.tolist(), 0.8
            scale = new_spread[row, k] + floor[k]
            expected = naive.find_interval(new_base[row, k], scale, *about)
            np.testing.assert_allclose((low[row, k], high[row, k]), expected, rtol=1e-12)


def test_widths_are_constant_without_a_spread():
    y, base, _ = make_rows()
    own = ConformalIntervals.learn(y, base, None, None)
    low, high = own.find_bounds(base, None, 0.9)
    np.testing.assert_allclose(high - low, (high - low)[0, 0])
    assert own.floor == [1.0]


def test_widths_follow_a_power_of_the_mean():
    y, base, _ = make_rows()
    own = ConformalIntervals.learn(y, np.abs(base), None, None, power=0.5)
    low, high = own.find_bounds(np.array([[1.0], [100.0]]), None, 0.5)
    width = (high - low)[:, 0]
    scale = np.sqrt([1.0, 100.0]) + own.floor
    np.testing.assert_allclose(width[1] / width[0], scale[1] / scale[0])


def test_bounds_stay_in_the_support_of_the_target():
    y, base, _ = make_rows()
    own = ConformalIntervals.learn(y, base, None, None, support=(0.0, 1.0))
    low, high = own.find_bounds(np.array([[0.01], [0.99], [5.0]]), None, 0.9)
    assert low.ravel().tolist() == [0.0, 0.0, 1.0]
    assert high.ravel().tolist() == [1.0, 1.0, 1.0]


def test_quantiles_with_the_levels_closest_to_the_tails_are_moved():
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    base = np.tile([-9.0, -2.0, 0.0, 1.0, 9.0], (400, 1))
    own = ConformalIntervals.learn(
        y, base, None, None, levels=np.array([0.01, 0.1, 0.5, 0.9, 0.99])
    )
    low, high = own.find_bounds(base[:1], None, 0.8)
    scores = [(y - level).tolist() for level in (-2.0, 1.0)]
    assert low == [[-2.0 + naive.find_low(scores[0], [1.0] * 400, 0.1)]]
    assert high == [[1.0 + naive.find_high(scores[1], [1.0] * 400, 0.1)]]


def test_bounds_never_cross():
    """Quantiles that are too far apart are moved beyond each other where they are close."""
    y = np.zeros(100)
    base = np.column_stack([np.full(100, -5.0), np.full(100, 5.0)])
    own = ConformalIntervals.learn(y, base, None, None, levels=np.array([0.05, 0.95]))
    low, high = own.find_bounds(np.array([[-1.0, 2.0]]), None, 0.9)
    assert low == high == [[0.5]]


def test_too_few_rows_make_infinite_intervals():
    y, base, _ = make_rows(18)
    own = ConformalIntervals.learn(y, base, None, None)
    low, high = own.find_bounds(base, None, 0.9)
    assert np.isneginf(low).all()
    assert np.isposinf(high).all()
    y, base, _ = make_rows(19)
    low, high = ConformalIntervals.learn(y, base, None, None).find_bounds(base, None, 0.9)
    assert np.isfinite(low).all()
    assert np.isfinite(high).all()
    with pytest.warns(DataWarning, match="coverage=0.9 needs at least 19 calibration rows"):
        warn_of_few_rows("infinite", 0.9, 2)


def test_sets_contain_classes_from_a_quantile_on():
    shares = np.column_stack([np.arange(1, 100) / 100, 1 - np.arange(1, 100) / 100])
    class_idx = np.arange(99) % 2
    own = ConformalSets.learn(shares, class_idx, None)
    true = shares[np.arange(99), class_idx].tolist()
    expected = naive.find_low(true, [1.0] * 99, 0.1)
    np.testing.assert_allclose(own.find_thresholds(0.9, 2, False), [expected, expected])
    by_class = [naive.find_low(shares[k::2, k].tolist(), [1.0] * (50 - k), 0.1) for k in range(2)]
    np.testing.assert_allclose(own.find_thresholds(0.9, 2, True), by_class)


def test_a_class_without_rows_belongs_to_every_set():
    own = ConformalSets.learn(np.full((50, 3), 1 / 3), np.arange(50) % 2, np.arange(1.0, 51.0))
    assert np.isneginf(own.find_thresholds(0.8, 3, True)).tolist() == [False, False, True]


@pytest.mark.parametrize("coverage", [0, 1, -0.5, 2, "0.9", None, np.nan, True])
def test_a_coverage_is_a_share(coverage):
    with pytest.raises(ParameterError, match="must be a number above 0 and below 1"):
        check_coverage(coverage)
