"""Continuing: an interrupted fit ends in the same bytes as one that was not."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from sumwise import (
    Columns,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Snapshot,
    Subsample,
    load,
)
from sumwise.errors import DataError, ModelFileError, ParameterError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 5))
X[:, 1] = RNG.integers(0, 4, 200)
X[RNG.random(200) < 0.2, 2] = np.nan
X[RNG.random(200) < 0.1, 3] = np.inf
Y = X[:, 0] + X[:, 1] * np.isnan(X[:, 2]) + RNG.normal(size=200)
BINARY = (np.median(Y) < Y).astype(int)
THREE = np.array(["a", "b", "c"])[np.digitize(Y, np.quantile(Y, [0.3, 0.7]))]
FITS = {
    "regression": (GradientBoostingRegressor, {}, Y, 1),
    "two classes": (GradientBoostingClassifier, {}, BINARY, 1),
    "exponential": (GradientBoostingClassifier, {"loss": "exponential"}, BINARY, 1),
    "three classes": (GradientBoostingClassifier, {}, THREE, 3),
}
PARAMS = {"n_estimators": 14, "min_samples_leaf": 3, "learning_rate": 0.3, "random_state": 0}


class InterruptedFitError(Exception):
    pass


def interrupt(state):
    if state.round_number == 8:
        raise InterruptedFitError


VARIANTS = {
    "plain": ({}, {}),
    "depth": ({"growth": "depth"}, {}),
    "symmetric": ({"growth": "symmetric"}, {}),
    "sampled": ({"sampler": Subsample(0.6), "columns": Columns(by_tree=0.8, by_node=0.6)}, {}),
    "sampled symmetric": (
        {"growth": "symmetric", "sampler": Subsample(0.5), "columns": Columns(by_level=0.6)},
        {},
    ),
    "held out": (
        {"early_stopping": True, "n_iter_no_change": 4, "sampler": Subsample(0.7)},
        {"sample_weight": np.where(np.arange(200) % 9 == 0, 0.0, RNG.random(200) + 0.5)},
    ),
    "given": ({"n_iter_no_change": 4}, {"X_val": X[:70].astype(np.float32), "y_val": slice(70)}),
    "scored": (
        {"n_iter_no_change": 4, "scoring": lambda model, X, y: model.score(X, y)},
        {"X_val": X[:70], "y_val": slice(70)},
    ),
    "measured": ({"early_stopping": False}, {"X_val": X[:70], "y_val": slice(70)}),
    "started": ({}, {"init_score": True}),
    "started and given": (
        {"n_iter_no_change": 9},
        {"init_score": True, "X_val": X[:70], "y_val": slice(70), "init_score_val": True},
    ),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("kind", FITS)
def test_resumed_is_the_same_as_never_interrupted(kind, variant, tmp_path, bytes_of):
    estimator, options, y, n_outputs = FITS[kind]
    params, extra = VARIANTS[variant]
    params = {**PARAMS, **options, **params}
    extra = dict(extra)
    if "y_val" in extra:
        extra["y_val"] = y[extra["y_val"]]
    start = np.linspace(-1, 1, 200 * n_outputs).reshape(200, -1)
    if "init_score" in extra:
        extra["init_score"] = start
    if "init_score_val" in extra:
        extra["init_score_val"] = start[:70]
    whole = estimator(**params).fit(X, y, **extra)
    path = tmp_path / "snapshot"
    stopped = False
    try:
        estimator(**params, callbacks=[Snapshot(path, every=3), interrupt]).fit(X, y, **extra)
        stopped = True  # before it could be interrupted
    except InterruptedFitError:
        assert load(path).best_iteration_ == 6
    resumed = estimator(**params).fit(X, y, init_model=path, **extra)
    assert bytes_of(resumed) == bytes_of(whole)
    assert stopped is (len(whole.history_.get("validation_loss", range(14))) < 8)


@pytest.mark.parametrize("kind", FITS)
@pytest.mark.parametrize(
    "params",
    [{}, {"sampler": Subsample(0.5)}, {"early_stopping": True, "n_iter_no_change": 3}],
    ids=str,
)
def test_warm_start_is_the_same_as_one_fit(kind, params, bytes_of):
    estimator, options, y, _ = FITS[kind]
    params = {**PARAMS, **options, **params}
    whole = estimator(**params).fit(X, y)
    model = estimator(**{**params, "n_estimators": 5}, warm_start=True).fit(X, y)
    assert model.best_iteration_ <= 5
    for n_estimators in (9, 9, 14):
        model.set_params(n_estimators=n_estimators).fit(X, y)
    assert bytes_of(model) == bytes_of(whole)


@pytest.mark.parametrize("kind", ["regression", "three classes"])
@pytest.mark.parametrize("random_state", [None, "generator"])
@pytest.mark.parametrize("route", ["warm start", "pickle", "file", "model"])
def test_without_a_seed_the_same_rows_are_held_out_again(
    kind, random_state, route, tmp_path, seen_rows
):
    make, params, y, _ = FITS[kind]
    if random_state == "generator":
        random_state = np.random.RandomState(3)
    params = {**PARAMS, **params, "random_state": random_state, "early_stopping": True}
    params["n_iter_no_change"] = 20
    model = make(**{**params, "n_estimators": 4}).fit(X, y)
    if route == "warm start":
        again = model.set_params(warm_start=True, n_estimators=12).fit(X, y)
    elif route == "pickle":
        model = pickle.loads(pickle.dumps(model.set_params(warm_start=True, n_estimators=12)))
        again = model.fit(X, y)
    else:
        model.save(tmp_path / "model")
        start = model if route == "model" else tmp_path / "model"
        again = make(**{**params, "n_estimators": 12}).fit(X, y, init_model=start)
    first, second = seen_rows
    np.testing.assert_array_equal(first.valid, second.valid)
    assert again.history_["validation_loss"].size == 12


def test_a_seed_of_the_start_serves_a_fit_without_one():
    params = {**PARAMS, "early_stopping": True}
    start = GradientBoostingRegressor(**{**params, "n_estimators": 4}).fit(X, Y)
    unseeded = GradientBoostingRegressor(**{**params, "random_state": None})
    unseeded.fit(X, Y, init_model=start)
    whole = GradientBoostingRegressor(**params).fit(X, Y)
    assert np.array_equal(unseeded.predict(X), whole.predict(X))
    assert np.array_equal(unseeded.history_["validation_loss"], whole.history_["validation_loss"])


def test_seeds_are_kept_only_where_rows_are_drawn_without_one():
    unseeded = {"random_state": None}
    for params in (
        {"random_state": 1, "early_stopping": True},
        unseeded,
        {**unseeded, "early_stopping": True, "validation_rows": "last"},
    ):
        model = GradientBoostingRegressor(**{**PARAMS, **params}).fit(X, Y)
        assert not hasattr(model, "_seed")


def test_threads_change_nothing(bytes_of):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6000, 20))  # enough for two threads
    y = X[:, 0] + rng.normal(size=6000)
    params = {"n_estimators": 8, "early_stopping": True, "random_state": 0, "max_bins": 64}
    whole = GradientBoostingRegressor(**params, n_jobs=1).fit(X, y)
    model = GradientBoostingRegressor(**{**params, "n_estimators": 3}, n_jobs=2, warm_start=True)
    model.fit(X, y).set_params(n_estimators=8).fit(X, y)
    assert bytes_of(model) == bytes_of(whole)


def test_training_losses_of_old_rounds_are_measured_again(tmp_path, capsys):
    whole = GradientBoostingRegressor(**PARAMS, verbose=True).fit(X, Y)
    whole.truncate(6).save(tmp_path / "a")  # a file has no training losses
    model = GradientBoostingRegressor(**PARAMS, verbose=True)
    model.fit(X, Y, init_model=str(tmp_path / "a"))
    losses = [m.history_["training_loss"].tolist() for m in (model, whole)]
    assert losses[0] == losses[1]
    assert capsys.readouterr().err.splitlines()[-8].startswith("round 7/14")


def test_callbacks_hear_of_new_rounds_only():
    seen = []
    first = GradientBoostingRegressor(**{**PARAMS, "n_estimators": 4}).fit(X, Y)
    callbacks = [lambda state: seen.append((state.round_number, state.model().best_iteration_))]
    model = GradientBoostingRegressor(**{**PARAMS, "n_estimators": 7}, callbacks=callbacks)
    model.fit(X, Y, init_model=first)
    assert seen == [(5, 5), (6, 6), (7, 7)]
    assert len(model.history_["training_loss"]) == 7
    assert first.best_iteration_ == 4  # it is left alone


def test_new_data_and_other_parameters():
    first = GradientBoostingRegressor(**{**PARAMS, "n_estimators": 6}).fit(X[:100], Y[:100])
    params = {**PARAMS, "n_estimators": 10, "learning_rate": 0.1, "growth": "symmetric"}
    model = GradientBoostingRegressor(**params).fit(X[100:], Y[100:], init_model=first)
    assert model.best_iteration_ == 10
    assert np.array_equal(model.truncate(6).predict(X), first.predict(X))
    # As from its scores, but for the constant that it starts from.
    residual = GradientBoostingRegressor(**{**params, "n_estimators": 4})
    residual.fit(X[100:], Y[100:], init_score=first.predict(X[100:]))
    np.testing.assert_allclose(
        model.predict(X), first.predict(X) + residual.predict(X), rtol=1e-9, atol=1e-9
    )


def test_early_stopping_on_new_data_judges_new_rounds_only():
    first = GradientBoostingRegressor(**PARAMS).fit(X, Y)
    other = -Y  # on which the first model gets worse with each round
    params = {**PARAMS, "n_estimators": 60, "n_iter_no_change": 5}
    model = GradientBoostingRegressor(**params)
    model.fit(X[:150], other[:150], X_val=X[150:], y_val=other[150:], init_model=first)
    losses = model.history_["validation_loss"]
    assert losses[0] < losses[13]
    assert model.best_iteration_ > 14
    assert model.best_score_ == losses[13:].min()


def test_old_rounds_stay_if_no_new_one_is_better():
    first = GradientBoostingRegressor(**PARAMS).fit(X, Y)
    noise = RNG.normal(size=200)
    params = {**PARAMS, "n_estimators": 60, "n_iter_no_change": 5, "learning_rate": 3.0}
    model = GradientBoostingRegressor(**params)
    model.fit(X[:30], 9 * noise[:30], X_val=X, y_val=Y, init_model=first)
    assert np.array_equal(model.predict(X), first.predict(X))


def test_new_data_may_lack_classes():
    first = GradientBoostingClassifier(**PARAMS).fit(X, THREE)
    some = THREE != "b"
    model = GradientBoostingClassifier(**{**PARAMS, "n_estimators": 20})
    model.fit(X[some], THREE[some], init_model=first)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.predict_proba(X).shape == (200, 3)


def test_warm_start_starts_anew_where_there_is_nothing(bytes_of):
    plain = GradientBoostingRegressor(**PARAMS).fit(X, Y)
    assert bytes_of(GradientBoostingRegressor(**PARAMS, warm_start=True).fit(X, Y)) == bytes_of(
        plain
    )


def test_warm_start_with_fewer_rounds_keeps_the_model():
    model = GradientBoostingRegressor(**PARAMS, warm_start=True).fit(X, Y)
    with pytest.raises(ParameterError, match=r"n_estimators=5.*total.*14 already"):
        model.set_params(n_estimators=5).fit(X, Y)
    assert model.best_iteration_ == 14


def test_a_model_to_start_from_comes_before_warm_start(bytes_of):
    model = GradientBoostingRegressor(**PARAMS, warm_start=True).fit(X, -Y)
    first = GradientBoostingRegressor(**{**PARAMS, "n_estimators": 5}).fit(X, Y)
    model.fit(X, Y, init_model=first)
    assert bytes_of(model) == bytes_of(GradientBoostingRegressor(**PARAMS).fit(X, Y))


REGRESSOR = GradientBoostingRegressor(**{**PARAMS, "n_estimators": 3}).fit(X, Y)
CLASSIFIER = GradientBoostingClassifier(**{**PARAMS, "n_estimators": 3}).fit(X, BINARY)
FRAME = pd.DataFrame(X, columns=list("abcde"))
NAMED = GradientBoostingClassifier(n_estimators=3).fit(FRAME, BINARY)
BAD_STARTS = {
    "rounds": (CLASSIFIER, {"n_estimators": 3}, {}, r"n_estimators=3: it is the total.*3 already"),
    "fewer": (CLASSIFIER, {"n_estimators": 2}, {}, "give a larger number"),
    "task": (REGRESSOR, {}, {}, "init_model is a GradientBoostingRegressor"),
    "kind": (LinearRegression(), {}, {}, "init_model is a LinearRegression"),
    "number": (3, {}, {}, "init_model is a int"),
    "unfitted": (GradientBoostingClassifier(), {}, {}, "not fitted"),
    "features": (CLASSIFIER, {}, {"X": X[:, :3]}, "X has 3 features.*5"),
    "names": (
        NAMED,
        {},
        {"X": FRAME.rename(columns={"b": "z"})},
        "feature 1 of X is named 'z'.*'b'",
    ),
    "classes": (CLASSIFIER, {}, {"y": THREE}, r"y has classes.*\['a', 'b', 'c'\].*\[0, 1\]"),
    "link": (CLASSIFIER, {"loss": "exponential"}, {}, "'logistic'.*'half_logistic'"),
    "start": (
        GradientBoostingClassifier(n_estimators=2).fit(X, Y > 2),
        {},
        {"init_score": np.zeros(200)},
        "it was fitted without init_score",
    ),
}


@pytest.mark.parametrize("name", BAD_STARTS)
def test_models_that_do_not_fit(name):
    start, params, changes, message = BAD_STARTS[name]
    model = GradientBoostingClassifier(**{**PARAMS, **params})
    with pytest.raises((DataError, ParameterError), match=message):
        model.fit(**{"X": X, "y": BINARY, **changes}, init_model=start)


def test_files_that_do_not_fit(tmp_path):
    model = GradientBoostingRegressor(**PARAMS)
    with pytest.raises(FileNotFoundError):
        model.fit(X, Y, init_model=tmp_path / "nothing")
    Path(tmp_path / "text").write_text("hello")
    with pytest.raises(ModelFileError):
        model.fit(X, Y, init_model=tmp_path / "text")


def test_names_may_be_new_or_gone():
    params = {**PARAMS, "n_estimators": 5}
    unnamed = GradientBoostingClassifier(**params).fit(X, BINARY, init_model=NAMED)
    assert not hasattr(unnamed, "feature_names_in_")
    named = GradientBoostingClassifier(**params).fit(FRAME, BINARY, init_model=CLASSIFIER)
    assert named.feature_names_in_.tolist() == list("abcde")
