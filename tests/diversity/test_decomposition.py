"""Decompositions hold exactly, and their terms match the definitions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sumwise.diversity import (
    ambiguity_decomposition,
    bias_variance_covariance,
    log_loss_decomposition,
    vote_decomposition,
)
from sumwise.errors import DataError, ParameterError

SEEDS = st.integers(0, 2**32 - 1)


def normalize(weights):
    return weights / weights.sum()


@given(SEEDS, st.integers(1, 8), st.integers(1, 20))
def test_squared_errors_are_mean_errors_less_ambiguity(seed, n_learners, n_rows):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n_rows) * 10
    predictions = y[:, None] + rng.normal(size=(n_rows, n_learners))
    parts = ambiguity_decomposition(
        predictions,
        y,
        weights=normalize(rng.uniform(0.1, 1, size=n_learners)),
        sample_weight=rng.uniform(0.1, 1, size=n_rows),
    )
    difference = parts.mean_error - parts.ambiguity - parts.ensemble_error
    assert abs(difference) <= 1e-12 * parts.mean_error
    assert parts.ambiguity >= 0


def test_weights_of_learners_may_be_negative():
    predictions, y = np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([0.0, 1.0])
    parts = ambiguity_decomposition(predictions, y, weights=[2, -1])
    assert parts.ensemble_error == np.mean([0.0, 0.0])
    assert parts.mean_error == np.mean([2 * 1 - 4, 2 * 4 - 16])
    assert parts.ambiguity == parts.mean_error


@given(SEEDS, st.integers(1, 7), st.integers(2, 5), st.booleans())
def test_vote_errors_are_mean_errors_less_good_plus_bad(seed, n_learners, n_labels, own_vote):
    rng = np.random.default_rng(seed)
    predictions = rng.integers(n_labels, size=(12, n_learners))
    y = rng.integers(n_labels, size=12)
    parts = vote_decomposition(
        predictions,
        y,
        vote=rng.integers(n_labels, size=12) if own_vote else None,
        weights=normalize(rng.uniform(0.1, 1, size=n_learners)),
        sample_weight=rng.uniform(0.1, 1, size=12),
    )
    rebuilt = parts.mean_error - parts.good + parts.bad
    assert rebuilt == pytest.approx(parts.ensemble_error, abs=1e-12)


def test_good_and_bad_diversity_as_in_the_paper():
    """For labels -1 and 1: shares of votes against the majority, by whether it is right."""
    rng = np.random.default_rng(0)
    votes = rng.choice([-1, 1], size=(50, 5))
    y = rng.choice([-1, 1], size=50)
    majority = np.sign(votes.sum(axis=1))
    against = (votes != majority[:, None]).mean(axis=1)
    parts = vote_decomposition(votes, y)
    assert parts.ensemble_error == pytest.approx(np.mean(majority != y))
    assert parts.good == pytest.approx(np.mean(against * (majority == y)))
    assert parts.bad == pytest.approx(np.mean(against * (majority != y)))


def test_tied_votes_take_the_first_label():
    third = 1 / 3
    assert vote_decomposition([["b", "a"]], ["a"]).ensemble_error == 0
    assert vote_decomposition([["b", "a"]], ["b"]).ensemble_error == 1
    # 3 x 0.1 is more than 0.3 by rounding.
    weights = [0.1, 0.1, 0.1, 0.3, 0.4]
    assert vote_decomposition([[1, 1, 1, 0, 2]], [2], weights=weights).ensemble_error == 0
    weights = normalize(np.array([third, third, third, 1.0]))
    assert vote_decomposition([[1, 1, 1, 0]], [0], weights=weights).ensemble_error == 0


@given(SEEDS, st.integers(1, 6), st.integers(2, 4), st.sampled_from(["geometric", "arithmetic"]))
def test_log_losses_are_mean_losses_less_ambiguity(seed, n_learners, n_classes, pool):
    rng = np.random.default_rng(seed)
    probabilities = rng.dirichlet(np.full(n_classes, 0.5), size=(10, n_learners))
    y = rng.integers(n_classes, size=10)
    parts = log_loss_decomposition(
        probabilities,
        y,
        weights=normalize(rng.uniform(0.1, 1, size=n_learners)),
        pool=pool,
        sample_weight=rng.uniform(0.1, 1, size=10),
    )
    difference = parts.mean_error - parts.ambiguity - parts.ensemble_error
    assert abs(difference) <= 1e-12 * parts.mean_error
    assert pool == "arithmetic" or parts.ambiguity >= -1e-15


def test_the_kl_form_by_hand():
    members = np.array([[0.9, 0.1], [0.5, 0.5]])
    pooled = normalize(np.sqrt(members.prod(axis=0)))
    divergence = np.mean([np.sum(pooled * np.log(pooled / p)) for p in members])
    for true_class in (0, 1):
        parts = log_loss_decomposition(members[None], [true_class])
        assert parts.ambiguity == pytest.approx(divergence)
        assert parts.ensemble_error == pytest.approx(-np.log(pooled[true_class]))


def test_soft_votes_by_hand():
    members = np.array([[[0.9, 0.1], [0.5, 0.5]]])
    parts = log_loss_decomposition(members, [0], pool="arithmetic")
    assert parts.ensemble_error == pytest.approx(-np.log(0.7))
    # On average over the pooled probabilities, it is the KL form.
    both = [log_loss_decomposition(members, [k], pool="arithmetic").ambiguity for k in (0, 1)]
    pooled = np.array([0.7, 0.3])
    divergence = np.mean([np.sum(pooled * np.log(pooled / p)) for p in members[0]])
    assert pooled @ both == pytest.approx(divergence)


def test_probabilities_of_zero_are_clipped():
    parts = log_loss_decomposition([[[1.0, 0.0], [0.0, 1.0]]], [0], clip=0.01)
    assert parts.ensemble_error == pytest.approx(np.log(2))
    low = 0.01 / 1.01
    assert parts.mean_error == pytest.approx(-(np.log(low) + np.log(1 - low)) / 2)


@given(SEEDS, st.integers(1, 5))
def test_errors_are_bias_variance_and_covariance(seed, n_learners):
    rng = np.random.default_rng(seed)
    predictions = rng.normal(size=(6, 9, n_learners)) + rng.normal(size=(6, 1, 1))
    parts = bias_variance_covariance(predictions, rng.normal(size=9))
    share = 1 / n_learners
    rebuilt = parts.squared_bias + share * parts.variance + (1 - share) * parts.covariance
    assert rebuilt == pytest.approx(parts.error, rel=1e-12)


def test_bias_variance_and_covariance_by_hand():
    rng = np.random.default_rng(0)
    predictions, y = rng.normal(size=(7, 4, 3)), rng.normal(size=4)
    weight = np.array([1.0, 0.0, 2.0, 1.0])
    variances, covariances = [], []
    for row in range(4):
        matrix = np.cov(predictions[:, row, :].T, bias=True)
        variances.append(np.trace(matrix) / 3)
        covariances.append((matrix.sum() - np.trace(matrix)) / 6)
    parts = bias_variance_covariance(predictions, y, sample_weight=weight)
    assert parts.variance == pytest.approx(np.average(variances, weights=weight))
    assert parts.covariance == pytest.approx(np.average(covariances, weights=weight))
    bias = (predictions.mean(axis=(0, 2)) - y) ** 2
    assert parts.squared_bias == pytest.approx(np.average(bias, weights=weight))
    assert parts.n_learners == 3


def test_one_learner_has_no_covariance():
    parts = bias_variance_covariance([[1.0, 2.0], [3.0, 2.0]], [2.0, 1.0])
    assert parts == (1.0, 0.5, 0.5, 0.0, 1)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: ambiguity_decomposition([[1.0, 2.0]], [1.0], weights=[0.5, 0.6]),
            ParameterError,
            "weights sum to 1.1; they must sum to 1",
        ),
        (
            lambda: ambiguity_decomposition([[1.0, 2.0]], [1.0], weights=[1.0]),
            ParameterError,
            "weights has 1 values for 2 learners",
        ),
        (
            lambda: vote_decomposition([[1, 2]], [1], weights=[1.5, -0.5]),
            ParameterError,
            r"weights\[1\] is -0.5, negative",
        ),
        (lambda: ambiguity_decomposition([1.0], [1.0]), DataError, "expected 2 dimensions"),
        (lambda: ambiguity_decomposition([[]], [1.0]), DataError, "is empty"),
        (lambda: ambiguity_decomposition([["x"]], [1.0]), DataError, "must be numbers"),
        (lambda: ambiguity_decomposition([[np.inf]], [1.0]), DataError, "not finite"),
        (lambda: ambiguity_decomposition([[1.0]], [1.0, 2.0]), DataError, "y has 2 rows"),
        (
            lambda: vote_decomposition(np.empty((2, 0)), [1, 1]),
            DataError,
            "needs at least one learner",
        ),
        (lambda: vote_decomposition([[1]], [1], vote=[1, 2]), DataError, "vote has 2 rows"),
        (lambda: log_loss_decomposition([[[0.5, 0.6]]], [0]), DataError, "sum to 1"),
        (lambda: log_loss_decomposition([[[0.5, 0.5]]], [2]), DataError, "from 0 to 1"),
        (lambda: log_loss_decomposition([[[0.5, 0.5]]], ["a"]), DataError, "indices of classes"),
        (lambda: log_loss_decomposition([[[0.5, 0.5]]], [0], clip=0), ParameterError, "clip=0"),
        (lambda: log_loss_decomposition([[[0.5, 0.5]]], [0], pool="x"), ParameterError, "pool"),
        (lambda: bias_variance_covariance([[1.0]], [1.0]), DataError, "two or more"),
        (lambda: bias_variance_covariance([[1.0], [2.0]], [1, 2]), DataError, "y has 2 rows"),
        (lambda: bias_variance_covariance([1.0, 2.0], [1, 2]), DataError, "3 dimensions"),
    ],
)
def test_inputs_are_checked(call, error, message):
    with pytest.raises(error, match=message):
        call()
