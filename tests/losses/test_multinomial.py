"""Cross-entropy of the softmax."""

import numpy as np
import pytest

from sumwise.kernels.runtime.elementary import natural_log
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Logistic, Multinomial
from sumwise.losses.base import SMALLEST_PROBABILITY

NO_WEIGHT = np.empty(0)


def derivatives(loss, target, raw):
    gradient, hessian = np.empty_like(raw), np.empty_like(raw)
    with Team(1) as team:
        loss.gradient(team, target, raw, NO_WEIGHT, gradient, hessian)
    return gradient, hessian


def test_initial_score_is_the_log_of_the_shares():
    target = np.array([0.0, 2.0, 1.0, 2.0, 0.0])
    rows = np.arange(5, dtype=np.uint32)
    score = Multinomial(3).initial_score(target, NO_WEIGHT, rows)
    np.testing.assert_allclose(score, np.log([0.4, 0.2, 0.4]), rtol=1e-14)
    weight = np.array([1.0, 0.0, 1.0, 2.0, 0.0])
    score = Multinomial(3).initial_score(target, weight, rows)
    np.testing.assert_allclose(score, np.log([0.25, 0.25, 0.5]), rtol=1e-14)


def test_an_absent_class_has_a_finite_score():
    score = Multinomial(3).initial_score(np.zeros(5), NO_WEIGHT, np.arange(5, dtype=np.uint32))
    assert score[0] == 0.0
    assert np.isfinite(score).all()
    assert score[1] == score[2] < -30


def test_gradients_of_a_row_sum_to_zero():
    rng = np.random.default_rng(0)
    raw, target = rng.normal(size=(5, 40)), rng.integers(0, 5, 40).astype(float)
    gradient, hessian = derivatives(Multinomial(5), target, raw)
    np.testing.assert_allclose(gradient.sum(axis=0), 0, atol=1e-14)
    assert np.all(hessian > 0)


@pytest.mark.parametrize("score", [-3.0, 0.0, 1.7])
def test_a_step_equals_the_binary_one_for_two_classes(score):
    """Scores (-f / 2, f / 2): both steps move the difference by half the binary step."""
    target = np.array([1.0])
    g2, h2 = derivatives(Multinomial(2), target, np.array([[-score / 2], [score / 2]]))
    g1, h1 = derivatives(Logistic(), target, np.array([[score]]))
    step = g2[1, 0] / h2[1, 0] - g2[0, 0] / h2[0, 0]
    assert step == pytest.approx(g1[0, 0] / h1[0, 0], rel=1e-12)


def test_a_constant_added_to_all_scores_changes_nothing():
    target, rows = np.array([0.0, 2.0]), np.arange(2, dtype=np.uint32)
    raw = np.array([[1.0, 2.0], [0.5, -1.0], [0.0, 0.25]])
    loss = Multinomial(3)
    assert loss.value(target, raw + 1024, NO_WEIGHT, rows) == loss.value(
        target, raw, NO_WEIGHT, rows
    )
    for found, expected in zip(
        derivatives(loss, target, raw + 1024), derivatives(loss, target, raw), strict=True
    ):
        assert found.tolist() == expected.tolist()


def test_shares_of_many_rows():
    labels = np.random.default_rng(0).integers(0, 6, 70_000).astype(np.float64)
    rows = np.arange(labels.size, dtype=np.uint32)
    score = Multinomial(7).initial_score(labels, NO_WEIGHT, rows)  # the last has no rows
    for k in range(7):
        share = np.count_nonzero(labels == k) / labels.size
        assert score[k] == natural_log(max(share, SMALLEST_PROBABILITY))
