"""Callbacks: what they are told, what they may do, and snapshots."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.utils.validation import check_is_fitted

from sumwise import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RoundState,
    Snapshot,
    load,
)
from sumwise.errors import ParameterError
from sumwise.training.callbacks import call_all

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = X[:, 0] + RNG.normal(size=120)
CLASSES = np.digitize(Y, [-0.5, 0.5])
SMALL = {"n_estimators": 6, "min_samples_leaf": 5, "random_state": 0}


def watch(y=Y, kind=GradientBoostingRegressor, validate=False, **params):
    """Return a fitted model and the states that a callback saw."""
    states = []
    model = kind(**{**SMALL, **params}, callbacks=[states.append])
    extra = {"X_val": X[:30], "y_val": y[:30]} if validate else {}
    return model.fit(X, y, **extra), states


def test_every_round_is_told():
    model, states = watch()
    assert all(isinstance(state, RoundState) for state in states)
    assert [state.round_number for state in states] == [1, 2, 3, 4, 5, 6]
    assert {state.n_rounds for state in states} == {6}
    losses = [state.scores["training_loss"] for state in states]
    assert losses == model.history_["training_loss"].tolist()
    seconds = [state.seconds for state in states]
    assert seconds == sorted(seconds)
    assert seconds[0] >= 0


@pytest.mark.parametrize(
    ("params", "names"),
    [
        ({}, ["training_loss"]),
        ({"validate": True}, ["training_loss", "validation_loss"]),
        (
            {"validate": True, "scoring": "r2"},
            ["training_loss", "validation_loss", "validation_score"],
        ),
    ],
)
def test_names_of_scores(params, names):
    model, states = watch(**params)
    assert list(states[-1].scores) == list(model.history_) == names


def test_a_state_cannot_be_changed():
    _, states = watch()
    with pytest.raises(FrozenInstanceError):
        states[0].round_number = 5
    with pytest.raises(TypeError):
        states[0].scores["training_loss"] = 0.0
    assert "scores" in repr(states[0])


@pytest.mark.parametrize(
    ("kind", "y"), [(GradientBoostingRegressor, Y), (GradientBoostingClassifier, CLASSES)]
)
def test_the_model_so_far_is_a_fitted_copy(kind, y, bytes_of_model):
    model, states = watch(y, kind)
    for state in states:  # also when training is long over
        so_far = state.model()
        assert so_far is not model
        assert so_far.best_iteration_ == state.round_number
        assert len(so_far.history_["training_loss"]) == state.round_number
        expected = model.truncate(state.round_number)
        assert np.array_equal(so_far.predict(X), expected.predict(X))
    assert bytes_of_model(states[-1].model()) == bytes_of_model(model)


@pytest.fixture
def bytes_of_model(tmp_path):
    def save(model):
        model.save(tmp_path / "model")
        return (tmp_path / "model").read_bytes()

    return save


def test_the_model_so_far_can_be_used_during_training():
    scores = []
    model = GradientBoostingRegressor(
        **SMALL, callbacks=[lambda state: scores.append(state.model().score(X, Y))]
    ).fit(X, Y)
    assert scores == [model.truncate(n).score(X, Y) for n in range(1, 7)]


@pytest.mark.parametrize("answer", [True, np.True_])
def test_true_stops_training(answer):
    def stop(state):
        return answer if state.round_number == 3 else None

    model = GradientBoostingRegressor(**SMALL, callbacks=[stop]).fit(X, Y)
    assert model.best_iteration_ == 3
    plain = GradientBoostingRegressor(**SMALL).fit(X, Y).truncate(3)
    assert np.array_equal(model.predict(X), plain.predict(X))


@pytest.mark.parametrize("answer", [None, False, 1, "stop", np.ones(3)])
def test_nothing_else_stops_training(answer):
    model = GradientBoostingRegressor(**SMALL, callbacks=[lambda state: answer]).fit(X, Y)
    assert model.best_iteration_ == 6


def test_all_callbacks_see_the_round_that_stops():
    seen = []
    callbacks = [lambda state: True, lambda state: seen.append(state.round_number)]
    GradientBoostingRegressor(**SMALL, callbacks=callbacks).fit(X, Y)
    assert seen == [1]
    assert call_all([], None) is False


def test_early_stopping_cuts_what_a_callback_has_stopped():
    noise = RNG.normal(size=len(X))
    params = {**SMALL, "learning_rate": 1.0, "n_iter_no_change": 50, "n_estimators": 40}
    model = GradientBoostingRegressor(**params, callbacks=[lambda state: state.round_number == 20])
    model.fit(X[:80], noise[:80], X_val=X[80:], y_val=noise[80:])
    losses = model.history_["validation_loss"]
    assert len(losses) == 20
    assert model.best_iteration_ == losses.argmin() + 1 < 20


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_an_error_goes_through_and_leaves_no_model(error):
    def fail(state):
        if state.round_number == 3:
            raise error("enough")

    model = GradientBoostingRegressor(**SMALL).fit(X, Y)
    with pytest.raises(error, match="enough"):
        model.set_params(callbacks=[fail]).fit(X, Y)
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    assert not hasattr(model, "history_")


def test_callbacks_change_no_prediction():
    model, _ = watch()
    plain = GradientBoostingRegressor(**SMALL).fit(X, Y)
    assert np.array_equal(model.predict(X), plain.predict(X))
    assert plain.history_ == {}


class Count:
    """A callback with a memory."""

    def __init__(self):
        self.n_calls = 0

    def __call__(self, state):
        self.n_calls += 1


def test_an_object_can_be_a_callback():
    count = Count()
    model = GradientBoostingRegressor(**SMALL, callbacks=(count,))
    model.fit(X, Y)
    assert count.n_calls == 6
    assert clone(model).callbacks[0] is not count  # scikit-learn copies parameters
    assert np.isfinite(cross_val_score(model, X, Y, cv=2)).all()


# Snapshots


def test_a_snapshot_has_all_rounds_so_far(tmp_path):
    path = tmp_path / "snapshot"
    seen = []

    def look(state):
        seen.append(load(path).best_iteration_ if path.exists() else 0)

    noise = RNG.normal(size=len(X))
    params = {**SMALL, "learning_rate": 1.0, "n_iter_no_change": 50, "n_estimators": 12}
    model = GradientBoostingRegressor(**params, callbacks=[Snapshot(path, every=5), look])
    model.fit(X[:80], noise[:80], X_val=X[80:], y_val=noise[80:])
    assert seen == [0] * 4 + [5] * 5 + [10] * 3
    snapshot = load(path)
    assert model.best_iteration_ < 10  # the snapshot has the rounds that are cut off at the end
    same = model.history_["validation_loss"][:10]
    assert np.array_equal(snapshot.history_["validation_loss"], same)
    assert [file.name for file in tmp_path.iterdir()] == ["snapshot"]


def test_a_snapshot_alone_measures_no_training_loss(tmp_path):
    model = GradientBoostingRegressor(**SMALL, callbacks=[Snapshot(tmp_path / "a")]).fit(X, Y)
    assert model.history_ == {}


def test_a_snapshot_is_a_part(tmp_path):
    snapshot = Snapshot(tmp_path / "a", every=3)
    assert clone(GradientBoostingRegressor(callbacks=[snapshot])).callbacks == [snapshot]
    assert repr(Snapshot("a", every=3)) == "Snapshot(path='a', every=3)"


@pytest.mark.parametrize(
    ("snapshot", "message"),
    [
        (Snapshot("a", every=0), r"every=0.*at least 1"),
        (Snapshot("a", every=2.5), r"every=2\.5.*at least 1"),
        (Snapshot("a", every=True), r"every=True.*at least 1"),
        (Snapshot("nowhere/a"), "there is no folder nowhere"),
    ],
    ids=repr,
)
def test_bad_snapshots_are_refused_before_training(snapshot, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ParameterError, match=message):
        GradientBoostingRegressor(callbacks=[snapshot]).fit(X, Y)
