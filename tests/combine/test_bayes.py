import numpy as np
import pytest

from sumwise.combine.bayes import (
    compute_bic,
    estimate_variance,
    score_classes,
    score_gaussian,
    weigh_by_bootstrap,
    weigh_by_evidence,
)


def test_gaussian_scores():
    errors = np.array([0.0, 1.0, -2.0])
    variance = estimate_variance(errors)
    assert variance == pytest.approx(5 / 3)
    density = np.exp(-(errors**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    np.testing.assert_allclose(score_gaussian(errors, variance), np.log(density))
    np.testing.assert_allclose(
        score_gaussian(errors, variance, np.array([0.0, 1.0, 2.0])),
        np.log(density) * [0.0, 1.0, 2.0],
    )
    assert np.isfinite(score_gaussian(np.zeros(2), estimate_variance(np.zeros(2)))).all()


def test_class_scores_are_finite():
    scores = score_classes(np.array([[0.25, 0.75], [1.0, 0.0]]), np.array([1, 1]))
    np.testing.assert_allclose(scores, np.log([0.75, 1e-15]))


def test_bic_weights_by_hand():
    bic = compute_bic(np.array([-10.0, -9.0]), np.array([1, 3]), n_rows=100)
    np.testing.assert_allclose(bic, [np.log(100) + 20, 3 * np.log(100) + 18])
    odds = np.exp(-9.0 + 10.0) / 100.0  # each parameter costs a factor sqrt(n)
    weights = weigh_by_evidence(-0.5 * bic)
    assert weights[1] / weights[0] == pytest.approx(odds)
    assert weigh_by_evidence(-0.5 * bic, np.array([0.0, 1.0]))[1] == 1.0


def test_evidence_far_below_zero_does_not_underflow():
    np.testing.assert_allclose(weigh_by_evidence(np.array([-1e6, -1e6])), [0.5, 0.5])


def test_bootstrap_is_seeded_and_milder_than_plain_weights():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(2, 200))
    scores[0] += 0.05
    first, again, other = (weigh_by_bootstrap(scores, 200, seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert first.sum() == pytest.approx(1.0)
    plain = weigh_by_evidence(scores.sum(axis=1))
    assert first.max() < plain.max()


def test_bootstrap_with_equal_members_is_uniform():
    scores = np.tile(np.random.default_rng(0).normal(size=50), (4, 1))
    np.testing.assert_allclose(weigh_by_bootstrap(scores, 10, 0), np.full(4, 0.25))


def test_scores_of_scaled_errors():
    errors = np.array([0.5, 1.0, -2.0])
    variance = estimate_variance(errors)
    scaled = score_gaussian(errors, variance, exponent=3)
    np.testing.assert_allclose(scaled, score_gaussian(8.0 * errors, 64.0 * variance))
