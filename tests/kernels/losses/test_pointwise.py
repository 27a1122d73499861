"""Losses against scikit-learn's or a twin, for any team, and at extreme scores."""

import numpy as np
import pytest
from sklearn._loss import loss as rivals

from sumwise.kernels.losses import pointwise as kernels
from sumwise.kernels.runtime.threads import Team
from tests.naive import losses as naive

NO_WEIGHT = np.empty(0)
EXTREME = [-1e308, -1e10, -1000.0, -709.0, -40.0, 0.0, 40.0, 709.0, 1000.0, 1e10, 1e308]


class Case:
    """A loss: its kernels and their arguments, its rival, and whether hessians agree."""

    def __init__(self, name, rival, *arguments, has_hessian=True, target="real"):
        self.name, self.rival, self.arguments = name, rival, arguments
        self.has_hessian, self.target = has_hessian, target

    def __repr__(self):
        return f"{self.name}{self.arguments}"

    def draw(self, rng, n_rows):
        raw = rng.normal(size=(1, n_rows)) * 2
        targets = {
            "real": lambda: rng.normal(size=n_rows),
            "large": lambda: 5 * rng.normal(size=n_rows),
            "count": lambda: rng.poisson(2, n_rows).astype(float),
            "positive": lambda: rng.exponential(size=n_rows) + 1e-9,
            "class": lambda: rng.integers(0, 2, n_rows).astype(float),
            "probability": lambda: rng.random(n_rows).round(1),
        }
        return targets[self.target](), raw

    def derivatives(self, target, raw, weight, n_threads=1):
        gradient, hessian = np.full(raw.shape, np.nan), np.full(raw.shape, np.nan)
        kernel = getattr(kernels, f"{self.name}_gradient")
        with Team(n_threads) as team:
            team.run(kernel, target, raw, weight, gradient, hessian, *self.arguments)
        return gradient, hessian

    def values(self, target, raw, weight, rows=None):
        rows = np.arange(target.size, dtype=np.uint32) if rows is None else rows
        out = np.empty(rows.size)
        getattr(kernels, f"{self.name}_value")(target, raw, weight, rows, out, *self.arguments)
        return out


class NaiveRival:
    """A loss of the twins, as scikit-learn calls its own."""

    def __init__(self, twin):
        self.twin = twin

    def gradient_hessian(self, y, raw, weight):
        return self.twin.gradient(y, raw, weight), self.twin.hessian(y, raw, weight)

    def loss(self, y, raw, weight):
        rows = range(len(y))
        values = np.array([self.twin.loss(y[[i]], raw[[i]]) for i in rows])
        return values if weight is None else weight * values


CASES = [
    Case("quantile", rivals.PinballLoss(quantile=0.8), 0.8, 1.0, has_hessian=False),
    Case("quantile", rivals.AbsoluteError(), 0.5, 2.0, has_hessian=False),
    Case("huber", rivals.HuberLoss(delta=0.7), 0.7, has_hessian=False),
    Case("percentage", NaiveRival(naive.Percentage()), has_hessian=False, target="large"),
    Case("fair", NaiveRival(naive.Fair(0.7)), 0.7, has_hessian=False),
    Case("fair", NaiveRival(naive.Fair(30.0)), 30.0, has_hessian=False),
    Case("log_cosh", NaiveRival(naive.LogCosh()), has_hessian=False),
    Case("squared_log", NaiveRival(naive.SquaredLog()), target="count"),
    Case("poisson", rivals.HalfPoissonLoss(), target="count"),
    Case("gamma", rivals.HalfGammaLoss(), target="positive"),
    Case("tweedie", rivals.HalfTweedieLoss(power=1.5), 1.5, target="count"),
    Case("tweedie", rivals.HalfTweedieLoss(power=1.1), 1.1, target="count"),
    Case("squared", NaiveRival(naive.Squared())),
    Case("logistic", NaiveRival(naive.Logistic()), target="class"),
    Case("exponential", NaiveRival(naive.Exponential()), target="class"),
    Case("cross_entropy", rivals.HalfBinomialLoss(), target="probability"),
]
SMOOTH = CASES[7:]
each_case = pytest.mark.parametrize("case", CASES, ids=repr)


@each_case
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_the_rival(case, weighted):
    rng = np.random.default_rng(0)
    target, raw = case.draw(rng, 400)
    weight = rng.random(400) if weighted else NO_WEIGHT
    sample_weight = weight if weighted else None
    gradient, hessian = case.derivatives(target, raw, weight)
    expected = case.rival.gradient_hessian(target, raw[0].copy(), sample_weight)
    np.testing.assert_allclose(gradient[0], expected[0], rtol=1e-12, atol=1e-14)
    if case.has_hessian:
        np.testing.assert_allclose(hessian[0], expected[1], rtol=1e-12, atol=1e-14)
    else:
        assert hessian[0].tolist() == (weight if weighted else np.ones(400)).tolist()
    values = case.values(target, raw, weight)
    expected = case.rival.loss(target, raw[0].copy(), sample_weight)
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-13)
    rows = np.array([399, 3, 3, 17], dtype=np.uint32)
    assert case.values(target, raw, weight, rows).tolist() == values[rows].tolist()


@each_case
@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_do_not_matter(case, n_threads):
    rng = np.random.default_rng(2)
    target, raw = case.draw(rng, 101)
    weight = rng.random(101)
    alone, together = (case.derivatives(target, raw, weight, n) for n in (1, n_threads))
    assert alone[0].tobytes() == together[0].tobytes()
    assert alone[1].tobytes() == together[1].tobytes()


@each_case
def test_extreme_scores_give_numbers(case):
    raw = np.array([EXTREME])
    for y in (0.0, 1.0, 0.5):
        target = np.full(raw.shape[1], y)
        gradient, hessian = case.derivatives(target, raw, NO_WEIGHT)
        assert np.isfinite(gradient).all()
        assert np.isfinite(hessian).all()
        assert np.all(hessian >= 0)
        assert not np.isnan(case.values(target, raw, NO_WEIGHT)).any()


@pytest.mark.parametrize("case", SMOOTH, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_are_slopes(case, weighted):
    rng = np.random.default_rng(1)
    target, raw = case.draw(rng, 40)
    weight = 3 * rng.random(40) if weighted else NO_WEIGHT
    gradient, hessian = case.derivatives(target, raw, weight)
    step = 1e-5
    up, down = raw + step, raw - step
    rise = case.values(target, up, weight) - case.values(target, down, weight)
    np.testing.assert_allclose(gradient[0], rise / (2 * step), rtol=1e-6, atol=1e-7)
    bend = case.derivatives(target, up, weight)[0] - case.derivatives(target, down, weight)[0]
    np.testing.assert_allclose(hessian, bend / (2 * step), rtol=1e-6, atol=1e-7)


def test_no_gradient_where_the_score_is_the_target():
    for case in CASES[:7]:
        gradient, _ = case.derivatives(np.full(3, 2.0), np.full((1, 3), 2.0), NO_WEIGHT)
        assert gradient.tolist() == [[0.0] * 3]


def test_logistic_keeps_small_probabilities():
    logistic = CASES[-3]
    raw, target = np.array([[30.0, 100.0, 700.0]]), np.ones(3)
    gradient, hessian = logistic.derivatives(target, raw, NO_WEIGHT)
    np.testing.assert_allclose(gradient[0], -np.exp(-raw[0]), rtol=1e-12)
    np.testing.assert_allclose(hessian[0], np.exp(-raw[0]), rtol=1e-12)
    values = logistic.values(target, raw, NO_WEIGHT)
    np.testing.assert_allclose(values, np.exp(-raw[0]), rtol=1e-12)


def test_cross_entropy_of_classes_is_the_logistic_loss():
    rng = np.random.default_rng(0)
    target, raw = rng.integers(0, 2, 50).astype(float), rng.normal(size=(1, 50)) * 20
    expected = np.empty_like(raw), np.empty_like(raw)
    kernels.logistic_gradient(0, 1, np.zeros(8, np.int64), target, raw, NO_WEIGHT, *expected)
    found = CASES[-1].derivatives(target, raw, NO_WEIGHT)
    assert np.array_equal(found, expected)  # no digit is lost near certainty
