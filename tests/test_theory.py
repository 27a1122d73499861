"""The formulas of theory against sums, simulations and numeric derivatives."""

from fractions import Fraction
from math import comb, exp

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sumwise.errors import ParameterError
from sumwise.theory import (
    MARGIN_LOSSES,
    bootstrap_coverage,
    exponential_loss_minimizer,
    hoeffding_bound,
    majority_vote_error,
)

SIZES = [1, 2, 3, 4, 5, 10, 11, 50, 129, 130, 501, 1000]
ERRORS = [0.0, 1e-12, 0.01, 0.2, 0.25, 0.4, 0.499, 0.5, 0.501, 0.7, 0.99, 1.0]


def add_up(n_learners, error):
    """The formula as it is written, in exact fractions."""
    e = Fraction(error)
    terms = (
        comb(n_learners, k) * (1 - e) ** k * e ** (n_learners - k)
        for k in range(n_learners // 2 + 1)
    )
    return float(sum(terms))


@pytest.mark.parametrize("n_learners", SIZES[:10])
def test_the_vote_errs_as_the_formula_says(n_learners):
    expected = [add_up(n_learners, error) for error in ERRORS]
    np.testing.assert_allclose(majority_vote_error(n_learners, ERRORS), expected, rtol=2e-13)


def test_a_large_vote_errs_as_the_tail_of_the_binomial():
    binom = pytest.importorskip("scipy.stats").binom
    sizes = np.array([[1_000], [99_999], [1_000_000]])
    errors = np.array([0.45, 0.49, 0.4999, 0.5, 0.5001, 0.52])
    found = majority_vote_error(sizes, errors)
    assert found.shape == (3, 6)
    np.testing.assert_allclose(found, binom.cdf(sizes // 2, sizes, 1 - errors), rtol=1e-9)


def test_nothing_overflows():
    assert majority_vote_error(10**9 + 1, 0.5) == pytest.approx(0.5, rel=1e-9)
    assert majority_vote_error(10**9, 0.1) == 0.0
    assert majority_vote_error(10**9, 0.9) == 1.0


def test_simulated_votes_err_as_often():
    rng = np.random.default_rng(0)
    for n_learners, error in [(5, 0.3), (6, 0.3), (21, 0.45)]:
        n_right = rng.binomial(n_learners, 1 - error, size=200_000)
        frequency = np.mean(2 * n_right <= n_learners)
        assert frequency == pytest.approx(majority_vote_error(n_learners, error), abs=0.005)


def test_scalars_give_scalars():
    for value in (
        majority_vote_error(3, 0.4),
        hoeffding_bound(3, 0.4),
        bootstrap_coverage(3),
        exponential_loss_minimizer(0.4),
        MARGIN_LOSSES["hinge"].value(0.4),
    ):
        assert isinstance(value, float)


def test_the_bound_is_never_below_the_error():
    sizes = np.array(SIZES)[:, None]
    errors = np.linspace(0, 0.5, 101)
    exact, bound = majority_vote_error(sizes, errors), hoeffding_bound(sizes, errors)
    assert (bound >= exact).all()
    assert bound[3, 20] == pytest.approx(exp(-4 * 0.8**2 / 2))


@given(st.integers(1, 300), st.floats(0, 0.5))
def test_the_bound_holds_anywhere(n_learners, error):
    exact = majority_vote_error(n_learners, error)
    assert 0 <= exact <= hoeffding_bound(n_learners, error) * (1 + 1e-12)


@pytest.mark.parametrize("n_learners", [1, 5, 101])
def test_odd_votes_are_symmetric(n_learners):
    sides = majority_vote_error(n_learners, [0.3, 0.7])
    assert sides.sum() == pytest.approx(1.0)


def test_bounds_need_learners_better_than_chance():
    with pytest.raises(ParameterError, match=r"error=0.6: the bound holds .* at most 1/2"):
        hoeffding_bound(5, [0.2, 0.6])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: majority_vote_error(0, 0.1), "n_learners=0: must be an integer, at least 1"),
        (lambda: majority_vote_error(2.5, 0.1), "n_learners=2.5"),
        (lambda: majority_vote_error(3, 1.5), "error=1.5: must be from 0 to 1"),
        (lambda: majority_vote_error(3, np.nan), "error=nan"),
        (lambda: hoeffding_bound("many", 0.1), "n_learners must be numbers"),
        (lambda: bootstrap_coverage(-1), "n_rows=-1"),
        (lambda: exponential_loss_minimizer([0.5, -0.1]), "probability=-0.1"),
    ],
)
def test_arguments_are_checked(call, message):
    with pytest.raises(ParameterError, match=message):
        call()


def test_bootstrap_coverage():
    counts = np.arange(1, 30)
    expected = [float(1 - (1 - Fraction(1, m)) ** m) for m in counts.tolist()]
    np.testing.assert_allclose(bootstrap_coverage(counts), expected, rtol=1e-14)
    assert bootstrap_coverage(10**12) == pytest.approx(1 - exp(-1), rel=1e-11)
    samples = np.random.default_rng(0).integers(20, size=(20_000, 20))
    distinct = np.mean([np.unique(sample).size for sample in samples[:2000]])
    assert distinct / 20 == pytest.approx(bootstrap_coverage(20), abs=0.01)


def test_margin_losses_by_hand():
    margin = np.array([-3.0, -1.0, 0.0, 0.5, 1.0, 4.0])
    expected = {
        "zero_one": [1, 1, 1, 0, 0, 0],
        "exponential": np.exp([3.0, 1.0, 0.0, -0.5, -1.0, -4.0]),
        "logistic": np.log(1 + np.exp(-margin)),
        "hinge": [4, 2, 1, 0.5, 0, 0],
        "modified_huber": [12, 4, 1, 0.25, 0, 0],
    }
    assert set(expected) == set(MARGIN_LOSSES)
    for name, values in expected.items():
        np.testing.assert_allclose(MARGIN_LOSSES[name].value(margin), values, err_msg=name)


@pytest.mark.parametrize("name", MARGIN_LOSSES)
def test_derivatives_are_slopes(name):
    loss = MARGIN_LOSSES[name]
    margin = np.linspace(-3.03, 3.01, 57)  # beside all kinks
    slope = (loss.value(margin + 1e-6) - loss.value(margin - 1e-6)) / 2e-6
    np.testing.assert_allclose(loss.derivative(margin), slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("name", MARGIN_LOSSES)
def test_every_loss_bounds_the_zero_one_loss(name):
    margin = np.linspace(-800, 800, 2001)
    scale = 1 / np.log(2) if name == "logistic" else 1
    with np.errstate(over="ignore"):  # exp(800) is infinite, and a bound
        bound = scale * MARGIN_LOSSES[name].value(margin)
    assert (bound >= MARGIN_LOSSES["zero_one"].value(margin) - 1e-15).all()
    assert np.isfinite(MARGIN_LOSSES["logistic"].derivative(margin)).all()


@pytest.mark.parametrize("probability", [0.01, 0.3, 0.5, 0.8, 0.999])
def test_half_the_log_odds_minimize_the_exponential_loss(probability):
    optimize = pytest.importorskip("scipy.optimize")
    loss = MARGIN_LOSSES["exponential"].value
    found = optimize.minimize_scalar(
        lambda score: probability * loss(score) + (1 - probability) * loss(-score),
        bounds=(-10, 10),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert exponential_loss_minimizer(probability) == pytest.approx(found.x, abs=1e-6)


def test_certain_classes_have_infinite_scores():
    np.testing.assert_array_equal(exponential_loss_minimizer([0, 1]), [-np.inf, np.inf])
