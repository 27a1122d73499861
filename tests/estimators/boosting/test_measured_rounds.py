"""The number of rounds that a fit measures: few for noise, many for clean data."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sumwise import GradientBoostingClassifier, GradientBoostingRegressor, Ordered, Plain
from sumwise.errors import ParameterError, PeersError
from sumwise.estimators.boosting import base, measured_rounds, out_of_core

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 4))
SIGNAL = X[:, 0] * X[:, 1] + X[:, 2]


def count_rounds(y, kind=GradientBoostingRegressor, X=X, **params):
    return kind(**params).fit(X, y).n_estimators_


def test_noise_has_the_fewest_rounds():
    noise = RNG.normal(size=400)
    assert count_rounds(noise) == 100
    assert count_rounds(noise > 0, GradientBoostingClassifier) == 100


def test_the_clearer_the_signal_the_more_rounds():
    noise = RNG.normal(size=400)
    counts = [count_rounds(SIGNAL + scale * noise) for scale in (4.0, 1.0, 0.1)]
    assert counts == sorted(counts)
    assert counts[0] < 250 < counts[-1] <= 2000


def test_clean_classes_have_the_most_rounds():
    assert count_rounds(X[:, 0] > 0, GradientBoostingClassifier) == 1000


def test_rounds_are_a_multiple_of_the_maximum_of_the_improvements():
    """The short fit is one of early stopping by the rows that rounds leave out."""
    chosen = GradientBoostingRegressor().fit(X, SIGNAL).resolved_params_
    short = GradientBoostingRegressor(
        **chosen | {"n_estimators": 500},
        sampler="subsample",
        early_stopping="oob",
        n_iter_no_change=50,
    ).fit(X, SIGNAL)
    assert 100 < chosen["n_estimators"] == 4 * short.best_iteration_ < 2000


@pytest.mark.parametrize(
    "params",
    [
        {"booster": Ordered()},
        {"booster": Plain(trees_per_round=2)},
        {"early_stopping": True, "random_state": 0},
        {"X": X[:19]},
    ],
)
def test_where_rounds_are_not_measured(params, monkeypatch):
    monkeypatch.setattr(measured_rounds, "boost", None)
    params = {"X": X} | params
    stops = "early_stopping" in params
    n_rounds = count_rounds(SIGNAL[: len(params["X"])], **params)
    assert n_rounds < 1000 if stops else n_rounds == 1000


def test_several_classes_have_a_fixed_number():
    assert count_rounds(np.arange(400) % 3, GradientBoostingClassifier) == 500


def test_callbacks_see_the_rounds_of_the_model_alone():
    seen = []
    model = GradientBoostingRegressor(callbacks=[lambda state: seen.append(state.round_number)])
    model.fit(X, X[:, 0] + RNG.normal(size=400), eval_set=[(X, SIGNAL)])
    assert seen == list(range(1, model.n_estimators_ + 1))
    assert len(model.history_["valid_0_loss"]) == model.n_estimators_


def test_weights_of_zero_leave_rows_out():
    weight = (np.arange(400) < 300).astype(float)
    kept = GradientBoostingRegressor().fit(X[:300], SIGNAL[:300])
    model = GradientBoostingRegressor().fit(X, SIGNAL, weight)
    assert model.n_estimators_ == kept.n_estimators_


def test_a_lost_peer_leaves_no_short_fit_to_continue(monkeypatch):
    def lose(*args):
        error = PeersError("lost")
        error.fitted = "a short fit"
        raise error

    monkeypatch.setattr(base, "measure_rounds", lose)
    with pytest.raises(PeersError) as caught:
        count_rounds(SIGNAL)
    assert caught.value.fitted is None


def test_rounds_are_measured_on_pages(monkeypatch, bytes_of):
    """There are no statistics of the target, so trees split by sets of categories."""

    def cut(*args):
        return replace(plan_pages(*args), page_rows=99, keeps_pages=False, keeps_sample=False)

    plan_pages = out_of_core.plan_pages
    monkeypatch.setattr(out_of_core, "plan_pages", cut)
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=RNG.choice(["r", "g", "b"], 400))
    y = RNG.integers(2, size=400)
    rows = frame.assign(y=y)
    expected = GradientBoostingClassifier(categorical_encoding="native").fit(frame, y)
    found = GradientBoostingClassifier().fit(lambda: iter([rows[:150], rows[150:]]), "y")
    assert bytes_of(found) == bytes_of(expected)
    assert found.resolved_params_ == expected.resolved_params_
    encoded = GradientBoostingClassifier().fit(frame, y)
    assert encoded.resolved_params_["categorical_encoding"] == "ordered"
    with pytest.raises(ParameterError, match="encodes categories by statistics of the target"):
        GradientBoostingClassifier().fit(lambda: iter([rows]), "y", init_model=encoded)
