"""The multinomial loss against the twin and finite differences, and at extreme scores."""

import numpy as np
import pytest

from sumwise.kernels.losses.multinomial import multinomial_gradient, multinomial_value
from sumwise.kernels.runtime.threads import Team
from tests.naive import losses as naive

EXTREME = [-1e308, -1e10, -1000.0, -709.0, -40.0, 0.0, -0.0, 40.0, 709.0, 1000.0, 1e10, 1e308]


class Case:
    """The loss of some classes, and its twin."""

    def __init__(self, n_outputs):
        self.n_outputs, self.twin = n_outputs, naive.Multinomial(n_outputs)

    def __repr__(self):
        return f"{self.n_outputs} classes"

    def draw(self, rng, n_rows):
        raw = rng.normal(size=(self.n_outputs, n_rows)) * 2
        return rng.integers(0, self.n_outputs, n_rows).astype(float), raw

    def derivatives(self, target, raw, weight, n_threads=1):
        gradient, hessian = np.full(raw.shape, np.nan), np.full(raw.shape, np.nan)
        with Team(n_threads) as team:
            team.run(multinomial_gradient, target, raw, weight, gradient, hessian)
        return gradient, hessian

    def values(self, target, raw, weight, rows=None):
        rows = np.arange(target.size, dtype=np.uint32) if rows is None else rows
        out = np.empty(rows.size)
        multinomial_value(target, raw, weight, rows, out)
        return out


CASES = [Case(3), Case(7)]
NO_WEIGHT = np.empty(0)


def weights(rng, n_rows, weighted):
    return rng.random(n_rows) * 3 if weighted else NO_WEIGHT


@pytest.mark.parametrize("case", CASES, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_twin(case, weighted):
    rng = np.random.default_rng(0)
    target, raw = case.draw(rng, 500)
    weight = weights(rng, 500, weighted)
    gradient, hessian = case.derivatives(target, raw, weight)
    scores = raw.T
    twin_weight = weight if weighted else None
    for found, expected in [
        (gradient, case.twin.gradient(target, scores, twin_weight)),
        (hessian, case.twin.hessian(target, scores, twin_weight)),
    ]:
        expected = expected.reshape(500, -1).T
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    mean = case.values(target, raw, weight).sum() / (weight.sum() if weighted else 500)
    assert mean == pytest.approx(case.twin.loss(target, scores, twin_weight), rel=1e-12)


@pytest.mark.parametrize("case", CASES, ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_gradients_are_slopes(case, weighted):
    rng = np.random.default_rng(1)
    target, raw = case.draw(rng, 40)
    weight = weights(rng, 40, weighted)
    gradient, hessian = case.derivatives(target, raw, weight)
    step = 1e-5
    factor = case.n_outputs / (case.n_outputs - 1)
    for k in range(case.n_outputs):
        up, down = raw.copy(), raw.copy()
        up[k] += step
        down[k] -= step
        rise = case.values(target, up, weight) - case.values(target, down, weight)
        np.testing.assert_allclose(gradient[k], rise / (2 * step), rtol=1e-6, atol=1e-8)
        bend = case.derivatives(target, up, weight)[0] - case.derivatives(target, down, weight)[0]
        np.testing.assert_allclose(hessian[k], factor * bend[k] / (2 * step), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("case", CASES, ids=repr)
@pytest.mark.parametrize("n_threads", [2, 3])
def test_threads_do_not_matter(case, n_threads):
    rng = np.random.default_rng(2)
    target, raw = case.draw(rng, 101)
    weight = weights(rng, 101, True)
    alone, together = (case.derivatives(target, raw, weight, n) for n in (1, n_threads))
    assert alone[0].tobytes() == together[0].tobytes()
    assert alone[1].tobytes() == together[1].tobytes()


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_extreme_scores_stay_finite(case):
    raw = np.array(np.meshgrid(*[EXTREME] * 3)).reshape(3, -1)
    raw = np.vstack([raw, np.zeros((case.n_outputs - len(raw), raw.shape[1]))])
    for label in range(case.n_outputs):
        target = np.full(raw.shape[1], float(label))
        gradient, hessian = case.derivatives(target, raw, NO_WEIGHT)
        assert np.isfinite(gradient).all()
        assert np.isfinite(hessian).all()
        assert np.all(hessian >= 0)
        values = case.values(target, raw, NO_WEIGHT)
        assert not np.isnan(values).any()
        assert np.all(values >= 0)


def test_values_of_chosen_rows():
    rng = np.random.default_rng(3)
    for case in CASES:
        target, raw = case.draw(rng, 30)
        weight = weights(rng, 30, True)
        rows = np.array([29, 3, 3, 17], dtype=np.uint32)
        every = case.values(target, raw, weight)
        assert case.values(target, raw, weight, rows).tolist() == every[rows].tolist()
