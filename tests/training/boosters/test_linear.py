"""The linear booster: coordinate descent against a slow twin."""

import numpy as np
import pytest

from sumwise import Linear
from sumwise.errors import DataError, ParameterError
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Absolute, Logistic, Multinomial, Squared
from sumwise.training.boost import BoostingSettings, TrainingRows, TrainingTable, boost
from sumwise.training.stopping import EarlyStopping
from sumwise.tree import GrowthSettings

LEARNING_RATE = 0.5


def make_data(n_rows=300):
    rng = np.random.default_rng(0)
    X = rng.normal(loc=[0, 1, 0, -1], size=(n_rows, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X) @ [1.0, -1.0, 0.0, 0.5] + 0.5 * rng.normal(size=n_rows)
    return X, y


def fit(
    X, y, booster, loss=None, n_rounds=6, n_threads=1, weight=None, past=None, valid=False, **more
):
    rows = np.arange(y.size, dtype=np.uint32)
    train, held_out = (rows[::2].copy(), rows[1::2].copy()) if valid else (rows, rows[:0])
    training_rows = TrainingRows(y, np.empty(0) if weight is None else weight, train, held_out)
    growth = GrowthSettings(learning_rate=LEARNING_RATE)
    settings = BoostingSettings(loss or Squared(), growth, n_rounds, booster=booster, **more)
    with Team(n_threads) as team:
        return boost(TrainingTable([X]), training_rows, settings, team, past)


def descend(X, y, weight, booster, n_rounds, start):
    """The slow twin: squared loss."""
    filled = np.nan_to_num(X)
    l1, l2 = booster.l1 * weight.sum(), booster.l2 * weight.sum()
    intercept, coefficient = 0.0, np.zeros(filled.shape[1])
    for _ in range(n_rounds):
        g = weight * (start + intercept + filled @ coefficient - y)
        step = -LEARNING_RATE * g.sum() / weight.sum()
        intercept += step
        g = g + weight * step
        for f in range(filled.shape[1]):
            x, old = filled[:, f], coefficient[f]
            slope, curvature = g @ x + l2 * old, weight @ (x * x) + l2
            best = old - slope / curvature
            best = np.sign(best) * max(abs(best) - l1 / curvature, 0.0)
            if np.sign(best) * np.sign(old - slope / curvature) < 0:
                best = 0.0
            step = LEARNING_RATE * (best - old)
            coefficient[f] += step
            g = g + weight * x * step
    return intercept, coefficient


@pytest.mark.parametrize(
    "booster", [Linear(), Linear(l1=0.1), Linear(l2=0.5), Linear(l1=0.3, l2=0.1)], ids=repr
)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rounds", [1, 6])
def test_equals_a_naive_loop(n_rounds, weighted, booster):
    X, y = make_data()
    weight = np.random.default_rng(1).random(y.size) + 0.5 if weighted else np.ones(y.size)
    given = weight if weighted else None
    model = fit(X, y, booster, n_rounds=n_rounds, weight=given).ensemble
    start = float(model.base_score[0])
    intercept, coefficient = descend(X, y, weight, booster, n_rounds, start)
    assert model.intercept[-1, 0] == pytest.approx(intercept, abs=1e-12)
    assert model.coefficient[-1, 0] == pytest.approx(coefficient, abs=1e-12)


def test_many_rounds_end_at_least_squares():
    X, y = make_data()
    model = fit(X, y, Linear(), n_rounds=200).ensemble
    filled = np.column_stack([np.ones(y.size), np.nan_to_num(X)])
    expected = np.linalg.lstsq(filled, y, rcond=None)[0]
    found = [model.base_score[0] + model.intercept[-1, 0], *model.coefficient[-1, 0]]
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("loss", [Squared(), Logistic(), Multinomial(3)])
def test_threads_and_layout_change_nothing(loss):
    X, y = make_data(10_000)  # more than two blocks
    if loss.n_outputs > 1:
        y = np.digitize(y, [-1, 0]).astype(float)
    elif isinstance(loss, Logistic):
        y = (y > 0).astype(float)
    first = fit(X, y, Linear(l1=0.01), loss)
    for n_threads, own in ((3, X), (2, np.asfortranarray(X))):
        other = fit(own, y, Linear(l1=0.01), loss, n_threads=n_threads).ensemble
        assert np.array_equal(first.ensemble.coefficient, other.coefficient)
        assert np.array_equal(first.ensemble.intercept, other.intercept)


def test_scores_of_the_history_are_those_of_the_model():
    X, y = make_data()
    result = fit(X, y, Linear(), track_training_loss=True)
    with Team(1) as team:
        stages = list(result.ensemble.staged_predict_raw(X, team))
        assert np.array_equal(stages[-1], result.ensemble.predict_raw(X, team))
        assert np.array_equal(stages[2], result.ensemble.truncate(3).predict_raw(X, team))
    losses = [0.5 * np.mean((raw[:, 0] - y) ** 2) for raw in stages]
    assert result.history["training_loss"] == pytest.approx(losses)


def test_early_stopping_and_continuing():
    X, y = make_data()
    whole = fit(X, y, Linear(), n_rounds=9)
    start = fit(X, y, Linear(), n_rounds=4)
    again = fit(X, y, Linear(), n_rounds=9, past=start)
    assert np.array_equal(again.ensemble.coefficient, whole.ensemble.coefficient)
    stopped = fit(X, y, Linear(), n_rounds=500, valid=True, stopping=EarlyStopping(3, 1e-6))
    assert stopped.ensemble.n_rounds < 100


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e200])
def test_infinite_values_are_refused(value):
    X, y = make_data()
    X[5, 2] = value
    with pytest.raises(DataError, match="feature 2 of X has values that are infinite"):
        fit(X, y, Linear())


def test_losses_without_curvature_are_refused():
    X, y = make_data()
    with pytest.raises(ParameterError, match="needs a loss with a second derivative"):
        fit(X, y, Linear(), Absolute())


@pytest.mark.parametrize("part", [Linear(l1=-1), Linear(l2=np.inf), Linear(l1="a")])
def test_parameters_that_cannot_be(part):
    with pytest.raises(ParameterError, match=r"Linear\("):
        part.check()
