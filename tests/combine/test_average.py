import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.combine.average import (
    average,
    decompose_error,
    fit_signed_weights,
    fit_simplex_weights,
    mean_squared_errors,
    scale_errors,
    weigh_by_inverse,
)


def make_members(seed, n_members=5, n_rows=40):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n_rows)
    spread = rng.uniform(0.1, 3.0, size=(n_members, 1))
    bias = rng.normal(size=(n_members, 1))
    return y + bias + spread * rng.normal(size=(n_members, n_rows)), y


def squared_error(weights, predictions, y, sample_weight=None):
    return np.average((weights @ predictions - y) ** 2, weights=sample_weight)


def test_average_is_the_weighted_mean_over_members():
    predictions = np.array([[1.0, 2.0], [3.0, 6.0]])
    np.testing.assert_array_equal(average(predictions), [2.0, 4.0])
    np.testing.assert_array_equal(average(predictions, np.array([0.25, 0.75])), [2.5, 5.0])


@given(st.integers(0, 10_000), st.integers(1, 8), st.integers(1, 30))
@settings(max_examples=60, deadline=None)
def test_simplex_weights_meet_the_conditions_of_the_minimum(seed, n_members, n_rows):
    predictions, y = make_members(seed, n_members, n_rows)
    weights = fit_simplex_weights(predictions, y)
    assert weights.min() >= 0.0
    assert weights.sum() == pytest.approx(1.0)
    uniform = np.full(n_members, 1.0 / n_members)
    assert squared_error(weights, predictions, y) <= squared_error(uniform, predictions, y) + 1e-12
    # No inactive member lowers the error; all active ones have equal slopes (Karush-Kuhn-Tucker).
    slopes = (predictions - y) @ (weights @ predictions - y)
    scale = np.abs((predictions - y) @ (predictions - y).T).max()
    assert (slopes >= weights @ slopes - 1e-8 * scale).all()


def test_simplex_weights_of_outputs_and_row_weights():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(30, 3))
    predictions = np.stack([truth + 0.1, truth - 0.2, truth + rng.normal(size=(30, 3))])
    sample_weight = rng.integers(0, 3, size=30).astype(float)
    weights = fit_simplex_weights(predictions, truth, sample_weight)
    repeated = np.repeat(np.arange(30), sample_weight.astype(int))
    np.testing.assert_allclose(
        weights, fit_simplex_weights(predictions[:, repeated], truth[repeated]), atol=1e-9
    )
    np.testing.assert_allclose(weights, [2 / 3, 1 / 3, 0.0], atol=0.05)


def test_equal_members_get_equal_weights():
    predictions, y = make_members(0, n_members=1)
    same = np.repeat(predictions, 3, axis=0)
    for fit in (fit_simplex_weights, fit_signed_weights):
        np.testing.assert_array_equal(fit(same, y), np.full(3, 1 / 3))


@pytest.mark.parametrize("seed", range(5))
def test_signed_weights_are_the_covariance_optimum(seed):
    predictions, y = make_members(seed)
    errors = predictions - y
    inverse = np.linalg.inv(errors @ errors.T)
    weights = fit_signed_weights(predictions, y)
    np.testing.assert_allclose(weights, inverse.sum(axis=1) / inverse.sum(), atol=1e-10)
    on_simplex = fit_simplex_weights(predictions, y)
    lowest, low = (squared_error(w, predictions, y) for w in (weights, on_simplex))
    assert lowest <= low + 1e-12


def test_a_perfect_member_gets_all_the_weight():
    predictions, y = make_members(1)
    predictions[2] = y
    np.testing.assert_allclose(fit_simplex_weights(predictions, y), np.eye(5)[2], atol=1e-12)
    errors, exponents = mean_squared_errors(predictions, y)
    assert not exponents.any()
    np.testing.assert_array_equal(weigh_by_inverse(errors), np.eye(5)[2])


def test_inverse_errors():
    np.testing.assert_allclose(weigh_by_inverse(np.array([1.0, 2.0, 4.0])), [4 / 7, 2 / 7, 1 / 7])
    np.testing.assert_allclose(weigh_by_inverse(np.array([1e-300, 2e-300])), [2 / 3, 1 / 3])


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_error_is_mean_error_less_ambiguity(seed):
    predictions, y = make_members(seed)
    rng = np.random.default_rng(seed)
    for weights in (rng.dirichlet(np.ones(5)), np.array([2.0, -1.0, 0.5, -0.5, 0.0])):
        error, mean_error, ambiguity = decompose_error(predictions, y, weights, rng.random(y.size))
        size = max(abs(mean_error), abs(ambiguity))  # the two may nearly cancel
        assert abs(error - (mean_error - ambiguity)) <= 1e-12 * size


def test_decomposition_by_hand():
    # One row, y = 0, members at 1 and 3: (2)^2 = (1 + 9) / 2 - (1 + 1) / 2
    split = decompose_error(np.array([[1.0], [3.0]]), np.zeros(1), np.array([0.5, 0.5]))
    assert split == (4.0, 5.0, 1.0)


@pytest.mark.parametrize("scale", [2.0**600, 2.0**-600, 2.0**1000])
@pytest.mark.filterwarnings("error")
def test_extreme_numbers_have_the_weights_of_ordinary_ones(scale):
    predictions, y = make_members(0)
    for find in (fit_simplex_weights, fit_signed_weights):
        np.testing.assert_allclose(
            find(predictions * scale, y * scale), find(predictions, y), rtol=1e-9, atol=1e-12
        )
    expected = weigh_by_inverse(*mean_squared_errors(predictions, y))
    extreme = mean_squared_errors(predictions * scale, y * scale)
    np.testing.assert_allclose(weigh_by_inverse(*extreme), expected)
    parts = decompose_error(predictions * scale, y * scale, expected)
    assert set(parts) == {np.inf if scale > 1.0 else 0.0}


@pytest.mark.filterwarnings("error")
def test_a_member_far_off_does_not_hide_the_others():
    y = np.arange(4.0)
    predictions = np.stack([y + 1.0, y + 2.0, y + 1e250])
    weights = weigh_by_inverse(*mean_squared_errors(predictions, y))
    np.testing.assert_allclose(weights, [0.8, 0.2, 0.0])
    largest = np.finfo(np.float64).max
    errors, exponents = scale_errors(np.array([[largest, -largest]]), np.array([-largest, largest]))
    np.testing.assert_array_equal(np.ldexp(errors, exponents - 2), [[largest / 2, -largest / 2]])


def test_powers_of_two_change_no_digit():
    predictions, y = make_members(1)
    plain, _ = mean_squared_errors(predictions, y)
    scaled, exponents = mean_squared_errors(np.ldexp(predictions, 700), np.ldexp(y, 700))
    np.testing.assert_array_equal(np.ldexp(scaled, 2 * (exponents - 700)), plain)
