"""The loop of AdaBoost, with learners that answer as they are told."""

import math

import numpy as np
import pytest

from sumwise.kernels.runtime.threads import Team
from sumwise.training.adaboost import ClassRule, NumberRule, boost_learners

# Ten rows and three stumps of Li Hang's "Statistical Learning Methods", example 8.1.
Y = np.array([1, 1, 1, 0, 0, 0, 1, 1, 1, 0])
X = np.arange(10)
STUMPS = [X < 2.5, X < 8.5, X > 5.5]
ERRORS = [3 / 10, 3 / 14, 2 / 11]


def boost(answers, y=Y, n_rounds=None, max_restarts=0, n_classes=2, rate=1.0, loss=None):
    """Boost learners that give the answers; return the result, and the weights they saw."""
    left, seen = list(answers), []

    def learn(weight):
        seen.append(weight.copy())
        answer = left.pop(0)
        return None if answer is None else (len(seen), np.asarray(answer))

    with Team(1) as team:
        if loss is None:
            rule = ClassRule(np.asarray(y), n_classes, rate, team)
        else:
            rule = NumberRule(np.asarray(y, dtype=np.float64), loss, rate, team)
        weight = np.full(len(y), 1.0 / len(y))
        n_rounds = len(left) if n_rounds is None else n_rounds
        return boost_learners(learn, rule, weight, n_rounds, max_restarts), seen


def test_three_rounds_by_hand():
    result, seen = boost(STUMPS)
    assert result.errors == pytest.approx(ERRORS, rel=1e-14)
    by_hand = [0.5 * math.log(7 / 3), 0.5 * math.log(11 / 3), 0.5 * math.log(9 / 2)]
    assert result.weights == pytest.approx(by_hand, rel=1e-14)
    np.testing.assert_allclose(seen[1][[0, 3, 6, 9]], [1 / 14, 1 / 14, 1 / 6, 1 / 14], rtol=1e-14)
    np.testing.assert_allclose(seen[2][[0, 3, 6, 9]], [1 / 22, 1 / 6, 7 / 66, 1 / 22], rtol=1e-14)
    assert (result.stop_reason, result.n_restarts) == ("n_estimators", 0)
    normalizers = [2 * math.sqrt(e * (1 - e)) for e in ERRORS]
    np.testing.assert_allclose(np.exp(result.log_losses), np.cumprod(normalizers), rtol=1e-14)
    score = sum(a * (2.0 * stump - 1.0) for a, stump in zip(by_hand, STUMPS, strict=True))
    assert ((score > 0) == Y).all()
    sign = 2.0 * Y - 1.0
    assert np.exp(-sign * score).mean() == pytest.approx(np.prod(normalizers), rel=1e-13)


@pytest.mark.parametrize("rate", [0.3, 1.0])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_loss_is_the_product_of_the_normalizers(n_classes, rate):
    """Of every round: votes for the true class, less the mean of all, are half log odds."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, 300)
    answers = [np.where(rng.random(300) < 0.6, y, rng.integers(0, n_classes, 300)) for _ in "12345"]
    result, seen = boost(answers, y, n_classes=n_classes, rate=rate)
    votes = np.zeros((300, n_classes))
    for answer, weight, log_loss in zip(answers, result.weights, result.log_losses, strict=True):
        votes[np.arange(300), answer] += weight
        margin = votes[np.arange(300), y] - votes.mean(axis=1)
        assert np.exp(-2.0 * margin).mean() == pytest.approx(math.exp(log_loss), rel=1e-12)
    for weight in seen:
        assert weight.sum() == pytest.approx(1.0, abs=1e-14)


def test_a_weak_learner_is_discarded_and_ends_training():
    constant = np.ones(10)
    result, _ = boost([STUMPS[0], constant, STUMPS[1]])
    # All ones are wrong in four rows, each of weight 1/14; a tie is too weak.
    assert result.errors[1] == pytest.approx(4 / 14)
    half = np.array([0, 1] * 5)
    y = np.array([0, 0, 1, 1] * 2 + [0, 0])
    result, seen = boost([half, y], y)
    assert (result.stop_reason, len(result.members), len(seen)) == ("too_weak", 0, 1)
    assert result.rejected == (1, pytest.approx(0.5))


def test_chance_is_higher_for_more_classes():
    y = np.array([0, 1, 2] * 4)
    two_thirds_wrong = np.zeros(12)
    better = np.array([0] * 6 + [1] * 6)
    better[1] = 1
    result, _ = boost([two_thirds_wrong, better], y, n_classes=3)
    assert not result.members
    result, _ = boost([better], y, n_classes=3)
    assert result.errors == pytest.approx([7 / 12])
    assert result.weights[0] > 0


def test_a_perfect_learner_ends_training():
    result, seen = boost([STUMPS[0], Y, STUMPS[1]])
    assert (result.stop_reason, len(seen)) == ("perfect", 2)
    assert result.errors[1] == 0.0
    assert math.isfinite(result.weights[1])
    assert result.weights[1] > 10 * result.weights[0]
    expected = math.exp(-result.weights[1]) * 2 * math.sqrt(0.21)
    assert math.exp(result.log_losses[-1]) == pytest.approx(expected)


def test_restarts_begin_from_the_same_weights():
    weak = 1 - Y
    answers = [weak, None, STUMPS[0], STUMPS[1], weak, weak, weak]
    result, seen = boost(answers, n_rounds=5, max_restarts=2)
    assert result.members == [3, 4]
    assert (result.stop_reason, result.n_restarts) == ("too_weak", 4)
    for first, second in [(0, 1), (1, 2), (4, 5), (5, 6)]:
        np.testing.assert_array_equal(seen[first], seen[second])
    assert (seen[3] != seen[2]).any()


def test_tiny_weights_stay_above_zero():
    """A learner of huge weight leaves next to nothing to the rows it got right."""
    result, seen = boost([STUMPS[0]] + [STUMPS[1]] * 3, rate=500.0)
    assert all((weight > 0).all() and np.isfinite(weight).all() for weight in seen)
    assert np.isfinite(result.log_losses).all()


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
def test_r2_by_hand(loss):
    y = np.array([0.0, 1.0, 2.0, 4.0])
    answers = [np.array([0.0, 1.5, 2.0, 3.0]), np.array([0.5, 1.0, 1.0, 4.0])]
    result, seen = boost(answers, y, loss=loss, rate=0.8)
    relative = np.array([0.0, 0.5, 0.0, 1.0])
    losses = {"linear": relative, "square": relative**2, "exponential": 1 - np.exp(-relative)}[loss]
    error = losses.mean()
    beta = error / (1 - error)
    assert result.errors[0] == pytest.approx(error)
    assert result.weights[0] == pytest.approx(0.8 * math.log(1 / beta))
    expected = beta ** (0.8 * (1 - losses))
    np.testing.assert_allclose(seen[1], expected / expected.sum(), rtol=1e-12)
    assert result.log_losses == [0.0, 0.0]


def test_r2_knows_perfect_learners_but_for_rounding():
    y = np.array([0.1, 0.2, 0.3])
    result, _ = boost([y + 1e-16, y], y, loss="linear")
    assert (result.stop_reason, result.errors) == ("perfect", [0.0])
