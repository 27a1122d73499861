"""Loss kernels against the twin, against finite differences, and at extreme scores."""

import numpy as np
import pytest

from sumwise.kernels.losses import classification as kernels
from sumwise.kernels.runtime.threads import Team
from tests.naive import losses as naive

EXTREME = [-1e308, -1e10, -1000.0, -709.0, -40.0, 0.0, -0.0, 40.0, 709.0, 1000.0, 1e10, 1e308]


class Case:
    """A loss: its kernels, its twin and how to draw a target."""

    def __init__(self, name, twin, n_outputs=1):
        self.name, self.twin, self.n_outputs = name, twin, n_outputs
        self.gradient_kernel = getattr(kernels, f"{name}_gradient")
        self.value_kernel = getattr(kernels, f"{name}_value")

    def __repr__(self):
        return f"{self.name}{self.n_outputs}"

    def draw(self, rng, n_rows):
        raw = rng.normal(size=(self.n_outputs, n_rows)) * 2
        if self.name == "squared":
            return rng.normal(size=n_rows), raw
        return rng.integers(0, max(2, self.n_outputs), n_rows).astype(float), raw

    def derivatives(self, target, raw, weight, n_threads=1):
        gradient, hessian = np.full(raw.shape, np.nan), np.full(raw.shape, np.nan)
        with Team(n_threads) as team:
            team.run(self.gradient_kernel, target, raw, weight, gradient, hessian)
        return gradient, hessian

    def values(self, target, raw, weight, rows=None):
        rows = np.arange(target.size, dtype=np.uint32) if rows is None else rows
        out = np.empty(rows.size)
        self.value_kernel(target, raw, weight, rows, out)
        return out


CASES = [
    Case("squared", naive.Squared()),
    Case("logistic", naive.Logistic()),
    Case("exponential", naive.Exponential()),
    Case("multinomial", naive.Multinomial(3), 3),
    Case("multinomial", naive.Multinomial(7), 7),
]
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
    scores = raw[0] if case.n_outputs == 1 else raw.T
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
    factor = case.n_outputs / (case.n_outputs - 1) if case.n_outputs > 1 else 1.0
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


@pytest.mark.parametrize("case", CASES[1:], ids=repr)
def test_extreme_scores_stay_finite(case):
    raw = np.array(np.meshgrid(*[EXTREME] * min(case.n_outputs, 3))).reshape(
        min(case.n_outputs, 3), -1
    )
    raw = np.vstack([raw, np.zeros((case.n_outputs - len(raw), raw.shape[1]))])
    for label in range(max(2, case.n_outputs)):
        target = np.full(raw.shape[1], float(label))
        gradient, hessian = case.derivatives(target, raw, NO_WEIGHT)
        assert np.isfinite(gradient).all()
        assert np.isfinite(hessian).all()
        assert np.all(hessian >= 0)
        values = case.values(target, raw, NO_WEIGHT)
        assert not np.isnan(values).any()
        assert np.all(values >= 0)
        if case.name != "multinomial":  # there a difference of scores may overflow
            assert np.isfinite(values).all()


def test_logistic_keeps_small_probabilities():
    raw, target = np.array([[30.0, 100.0, 700.0]]), np.ones(3)
    gradient, hessian = CASES[1].derivatives(target, raw, NO_WEIGHT)
    np.testing.assert_allclose(gradient[0], -np.exp(-raw[0]), rtol=1e-12)
    np.testing.assert_allclose(hessian[0], np.exp(-raw[0]), rtol=1e-12)
    values = CASES[1].values(target, raw, NO_WEIGHT)
    np.testing.assert_allclose(values, np.exp(-raw[0]), rtol=1e-12)


def test_values_of_chosen_rows():
    rng = np.random.default_rng(3)
    for case in CASES:
        target, raw = case.draw(rng, 30)
        weight = weights(rng, 30, True)
        rows = np.array([29, 3, 3, 17], dtype=np.uint32)
        every = case.values(target, raw, weight)
        assert case.values(target, raw, weight, rows).tolist() == every[rows].tolist()


@pytest.mark.parametrize("factor", [1.0, 2.0, -1.0])
def test_sigmoid(factor):
    raw = np.concatenate([np.linspace(-50, 50, 1001), EXTREME[1:-1]])
    out = np.empty_like(raw)
    kernels.sigmoid(raw, factor, out)
    moderate = np.abs(raw) <= 50
    expected = 1 / (1 + np.exp(-factor * raw[moderate]))
    np.testing.assert_allclose(out[moderate], expected, rtol=1e-14)
    assert np.all((out >= 0) & (out <= 1))
    assert np.all(np.diff(out[:1001]) * np.sign(factor) >= 0)


def test_softmax():
    raw = np.random.default_rng(0).normal(size=(50, 4)) * 20
    raw[:3] = [[1e308, -1e308, 0, 1], [800, 799, -800, 0], [-1e4] * 4]
    out = np.empty_like(raw)
    kernels.softmax(raw, out)
    np.testing.assert_allclose(out.sum(axis=1), 1, rtol=1e-15)
    np.testing.assert_allclose(out[3:], naive.Multinomial(4).inverse_link(raw[3:]), rtol=1e-13)
    np.testing.assert_allclose(out[0], [1, 0, 0, 0], atol=1e-300)
    assert out[2].tolist() == [0.25] * 4
