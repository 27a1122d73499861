"""Cross-validation, round by round."""

import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LinearRegression
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

import sumwise
from sumwise import (
    CVResult,
    Dart,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    GroupSubsample,
)
from sumwise.errors import DataError, ParameterError, TrainingError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 4)).round(2)
Y = X[:, 0] - np.sin(2 * X[:, 1]) + 0.5 * RNG.normal(size=240)
LABELS = np.array(["a", "b", "c"])[np.digitize(Y, [-0.7, 0.7])]
SMALL = {"n_estimators": 12, "min_samples_leaf": 5, "random_state": 0}
LONG = {**SMALL, "n_estimators": 400, "learning_rate": 0.3, "n_iter_no_change": 6}


def fit_by_hand(model, y, folds, **options):
    """History of the test rows of each fold, by fits on their own."""
    histories = []
    for train, test in folds:
        own = clone(model).set_params(early_stopping=False)
        own.fit(X[train], y[train], X_val=X[test], y_val=y[test], **options)
        histories.append(own.history_)
    return histories


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
def test_scores_are_those_of_the_fits(kind):
    if kind == "regressor":
        model, y = GradientBoostingRegressor(**SMALL, scoring="r2", early_stopping=False), Y
        folds = list(KFold(4).split(X))
    else:
        model = GradientBoostingClassifier(**SMALL, scoring="accuracy", early_stopping=False)
        y, folds = LABELS, list(StratifiedKFold(4).split(X, LABELS))
    result = sumwise.cv(model, X, y, cv=4)
    by_hand = fit_by_hand(model, y, folds)
    for name in ("loss", "score"):
        expected = np.array([history[f"validation_{name}"] for history in by_hand])
        np.testing.assert_array_equal(result.scores[f"test_{name}"], expected)
    mean = result.mean["test_score"]
    assert result.best_iteration == mean.argmax() + 1
    assert result.best_score == pytest.approx(mean.max())
    assert result.estimators is None
    assert not hasattr(model, "ensemble_")


def test_early_stopping_watches_the_mean():
    model = GradientBoostingRegressor(**LONG)
    result = sumwise.cv(model, X, Y, cv=3, return_estimator=True)
    folds = list(KFold(3).split(X))
    losses = [history["validation_loss"] for history in fit_by_hand(model, Y, folds)]
    mean = np.mean(losses, axis=0)
    best = next(k for k in range(400) if mean[k] < mean[k + 1 : k + 7].min())
    assert result.best_iteration == best + 1
    assert result.scores["test_loss"].shape == (3, best + 1)
    assert result.best_score == pytest.approx(mean[best])
    for k, (_, test) in enumerate(folds):
        fitted = result.estimators[k]
        assert fitted.best_iteration_ == best + 1
        assert fitted.get_params() == model.get_params()
        own = mean_squared_error(Y[test], fitted.predict(X[test])) / 2
        assert own == pytest.approx(result.scores["test_loss"][k, -1])


def test_columns_of_a_frame():
    model = GradientBoostingRegressor(**SMALL, scoring=["r2", "loss"], early_stopping=False)
    result = sumwise.cv(model, X, Y, cv=3, return_train_score=True)
    frame = pd.DataFrame(result.to_dict())
    names = [
        f"{s}_{m}_{k}" for s in ("train", "test") for m in ("loss", "r2") for k in ("mean", "std")
    ]
    assert list(frame) == names
    assert len(frame) == 12
    np.testing.assert_array_equal(frame["test_r2_std"], result.scores["test_r2"].std(axis=0))
    assert frame["train_loss_mean"].is_monotonic_decreasing
    assert frame["train_loss_mean"].iloc[-1] < frame["test_loss_mean"].iloc[-1]


@pytest.mark.parametrize(
    "convert",
    [
        lambda X: pd.DataFrame(X, columns=list("abcd")),
        lambda X: pl.DataFrame(X, schema=list("abcd")),
        sparse.csr_matrix,
        lambda X: X.tolist(),
    ],
)
def test_kinds_of_tables(convert):
    model = GradientBoostingRegressor(**SMALL)
    expected = sumwise.cv(model, X, Y, cv=3).scores["test_loss"]
    np.testing.assert_allclose(sumwise.cv(model, convert(X), Y, cv=3).scores["test_loss"], expected)


def test_groups_stay_together():
    groups = np.arange(240) // 8
    model = GradientBoostingRegressor(**SMALL, sampler=GroupSubsample(0.7), early_stopping=False)
    result = sumwise.cv(model, X, Y, cv=3, groups=groups)
    histories = []
    for train, test in GroupKFold(3).split(X, Y, groups):
        own = clone(model)
        own.fit(X[train], Y[train], groups=groups[train], X_val=X[test], y_val=Y[test])
        histories.append(own.history_["validation_loss"])
    np.testing.assert_array_equal(result.scores["test_loss"], histories)


def test_weights_and_initial_scores():
    weight, score = RNG.random(240) + 0.1, 0.5 * Y
    model = GradientBoostingRegressor(**SMALL, early_stopping=False)
    result = sumwise.cv(model, X, Y, weight, score, cv=[(np.arange(160), np.arange(160, 240))])
    own = clone(model).fit(
        X[:160],
        Y[:160],
        weight[:160],
        score[:160],
        X_val=X[160:],
        y_val=Y[160:],
        sample_weight_val=weight[160:],
        init_score_val=score[160:],
    )
    np.testing.assert_array_equal(result.scores["test_loss"], [own.history_["validation_loss"]])


def test_models_of_dart_are_those_of_the_best_round():
    model = GradientBoostingRegressor(**LONG, booster=Dart(0.4))
    result = sumwise.cv(model, X, Y, cv=3, return_estimator=True)
    for k, (_, test) in enumerate(KFold(3).split(X)):
        fitted = result.estimators[k]
        assert fitted.best_iteration_ == result.best_iteration
        own = mean_squared_error(Y[test], fitted.predict(X[test])) / 2
        assert own == pytest.approx(result.scores["test_loss"][k, -1])


def test_a_callback_stops_all_folds():
    lock = threading.Lock()

    def stop(state):
        with lock:
            seen.append(state.round_number)
            return seen.count(5) == 1  # the first of three folds

    model = GradientBoostingRegressor(**SMALL, callbacks=[stop], early_stopping=False)
    for _ in range(8):  # whichever fold comes first
        seen = []
        result = sumwise.cv(model, X, Y, cv=3)
        assert result.scores["test_loss"].shape == (3, 5)


def test_an_error_in_one_fold_ends_all():
    def fail(state):
        if state.round_number == 3 and not failed:
            failed.append(state)
            raise RuntimeError("broken")

    failed = []
    with pytest.raises(RuntimeError, match="broken"):
        sumwise.cv(GradientBoostingRegressor(**SMALL, callbacks=[fail]), X, Y, cv=3)


def test_an_interrupt_ends_all():
    def interrupt(state):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sumwise.cv(GradientBoostingRegressor(**SMALL, callbacks=[interrupt]), X, Y, cv=3)


def test_a_mean_that_is_not_a_number():
    def judge(estimator, X, y):
        return np.nan

    with pytest.raises(TrainingError, match="scoring gave nan"):
        sumwise.cv(GradientBoostingRegressor(**SMALL, scoring=judge), X, Y, cv=3)


def test_progress_of_the_mean(capfd):
    result = sumwise.cv(GradientBoostingRegressor(**LONG, verbose=True), X, Y, cv=3)
    lines = capfd.readouterr().err.splitlines()
    best = f"best round {result.best_iteration}, test_loss {result.best_score:.6g}"
    assert lines[-1].endswith(best)
    assert lines[0].startswith("round 1/400  test_loss ")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"estimator": LinearRegression()}, ParameterError, "a LinearRegression has none"),
        ({"early_stopping": "oob", "sampler": "subsample"}, ParameterError, "give True or False"),
        ({"l2": -1}, ParameterError, "l2=-1"),
        ({"sample_weight": np.ones(9)}, DataError, "sample_weight has 9 entries, but y has 240"),
        ({"cv": 1}, ValueError, "at least one train/test split"),
    ],
)
def test_what_cannot_be(change, error, message):
    own = {k: change.pop(k) for k in ("estimator", "sample_weight", "cv") if k in change}
    options = {"estimator": GradientBoostingRegressor(**SMALL, **change), **own}
    with pytest.raises(error, match=message):
        sumwise.cv(X=X, y=Y, **options)


def test_a_result_prints_a_summary():
    result = CVResult({"test_loss": np.array([[3.0, 2.0], [5.0, 3.0]])}, 2, 2.5)
    expected = "<CVResult of 2 folds, 2 rounds: test_loss; best mean 2.5 after 2 rounds>"
    assert repr(result) == expected
