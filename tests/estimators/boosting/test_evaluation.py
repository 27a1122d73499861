"""Several validation sets and several metrics."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    make_scorer,
    mean_absolute_error,
    mean_squared_error,
    r2_score,
    roc_auc_score,
)

from sumwise import Dart, GradientBoostingClassifier, GradientBoostingRegressor, load
from sumwise.errors import DataError, ParameterError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(300, 4)).round(2)
Y = X[:, 0] - np.sin(2 * X[:, 1]) + 0.3 * RNG.normal(size=300)
LABELS = np.where(Y > 0.3, "high", "low")
TRAIN, FIRST, SECOND = slice(150), slice(150, 210), slice(210, 300)
SMALL = {"n_estimators": 8, "min_samples_leaf": 5, "random_state": 0, "early_stopping": False}
KINDS = {
    "array": lambda rows: X[rows],
    "mixed arrays": lambda rows: X[rows].astype(np.float32 if rows is SECOND else np.float64),
    "frame": lambda rows: pd.DataFrame(X[rows], columns=list("abcd")).astype({"a": "float32"}),
    "sparse": lambda rows: sparse.csr_matrix(np.where(X[rows] > 0, X[rows], 0)),
    "sparse and not": lambda rows: (
        np.where(X[rows] > 0, X[rows], 0)
        if rows is SECOND
        else sparse.csc_matrix(np.where(X[rows] > 0, X[rows], 0))
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("splits", ["histogram", "approx", "exact"])
def test_every_set_is_measured(kind, splits):
    take = KINDS[kind]
    sets = [(take(rows), Y[rows]) for rows in (FIRST, TRAIN, SECOND)]
    model = GradientBoostingRegressor(**SMALL, splits=splits, scoring=["r2", "loss"])
    model.fit(take(TRAIN), Y[TRAIN], eval_set=sets)
    assert set(model.history_) == {f"valid_{k}_{m}" for k in range(3) for m in ("loss", "r2")}
    for k, (own, y) in enumerate(sets):
        stages = list(model.staged_predict(own))
        losses = [mean_squared_error(y, p) / 2 for p in stages]
        np.testing.assert_allclose(model.history_[f"valid_{k}_loss"], losses)
        np.testing.assert_allclose(
            model.history_[f"valid_{k}_r2"], [r2_score(y, p) for p in stages]
        )


@pytest.mark.parametrize("booster", ["plain", "dart", "forest", "linear", "ordered"])
def test_sets_change_no_model(booster, bytes_of):
    sets = [(X[FIRST], Y[FIRST]), (X[SECOND], Y[SECOND])]
    models = [
        GradientBoostingRegressor(**SMALL, booster=booster).fit(X[TRAIN], Y[TRAIN], **options)
        for options in ({}, {"eval_set": sets})
    ]
    np.testing.assert_array_equal(models[0].predict(X), models[1].predict(X))
    last = mean_squared_error(Y[SECOND], models[1].predict(X[SECOND])) / 2
    assert models[1].history_["valid_1_loss"][-1] == pytest.approx(last)


@pytest.mark.parametrize("encoding", ["native", "ordered"])
def test_sets_with_categories(encoding):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(e=pd.Categorical(np.arange(300) % 11))
    sets = [(frame[FIRST], LABELS[FIRST]), (frame[SECOND], LABELS[SECOND])]
    model = GradientBoostingClassifier(**SMALL, categorical_encoding=encoding)
    model.set_params(scoring=["accuracy", "roc_auc"])
    model.fit(frame[TRAIN], LABELS[TRAIN], eval_set=sets, eval_names=["a", "b"])
    for name, (own, y) in zip("ab", sets, strict=True):
        found = model.history_
        probability = model.predict_proba(own)
        assert found[f"{name}_accuracy"][-1] == accuracy_score(y, model.predict(own))
        assert found[f"{name}_roc_auc"][-1] == roc_auc_score(y, probability[:, 1])
        assert found[f"{name}_loss"][-1] == pytest.approx(log_loss(y, probability))


def test_sets_alone_do_not_stop_a_fit():
    params = {**SMALL, "n_estimators": 60, "early_stopping": "auto", "learning_rate": 1.0}
    model = GradientBoostingRegressor(**params, n_iter_no_change=1)
    model.fit(X[TRAIN], Y[TRAIN], eval_set=[(X[FIRST], Y[FIRST])])
    assert model.best_iteration_ == model.history_["valid_0_loss"].size == 60


def test_early_stopping_watches_the_last_metric_of_the_last_set(tmp_path):
    params = {**SMALL, "n_estimators": 300, "early_stopping": True, "learning_rate": 0.3}
    sets = [(X[TRAIN], Y[TRAIN]), (X[FIRST], Y[FIRST])]
    for scoring, watched, find_best in (
        (["loss", "r2"], "valid_1_r2", np.argmax),
        (["r2", "loss"], "valid_1_loss", np.argmin),
        ("loss", "valid_1_loss", np.argmin),
        ("r2", "valid_1_score", np.argmax),
        ({"mae": mean_absolute_error}, "valid_1_mae", np.argmax),
    ):
        model = GradientBoostingRegressor(**params, scoring=scoring)
        model.fit(X[TRAIN], Y[TRAIN], eval_set=sets)
        best = int(find_best(model.history_[watched]))
        assert model.best_iteration_ == best + 1 < 290
        assert model.best_score_ == model.history_[watched][best]
        model.save(tmp_path / "model")
        for again in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
            assert again.best_score_ == model.best_score_


def test_rows_of_their_own_come_before_sets():
    params = {**SMALL, "n_estimators": 300, "early_stopping": "auto", "learning_rate": 0.3}
    alone = GradientBoostingRegressor(**params)
    alone.fit(X[TRAIN], Y[TRAIN], X_val=X[FIRST], y_val=Y[FIRST])
    both = GradientBoostingRegressor(**params)
    sets = [(X[SECOND], Y[SECOND])]
    both.fit(X[TRAIN], Y[TRAIN], X_val=X[FIRST], y_val=Y[FIRST], eval_set=sets)
    np.testing.assert_array_equal(both.predict(X), alone.predict(X))
    assert both.best_score_ == alone.best_score_
    np.testing.assert_array_equal(
        both.history_["validation_loss"], alone.history_["validation_loss"]
    )
    assert both.history_["valid_0_loss"].size == both.history_["validation_loss"].size


def test_a_set_in_place_of_rows_held_out(seen_rows):
    model = GradientBoostingRegressor(**{**SMALL, "early_stopping": True})
    model.fit(X[TRAIN], Y[TRAIN], eval_set=(X[FIRST], Y[FIRST]))  # one pair
    assert seen_rows[0].train.size == 150
    assert list(model.history_) == ["valid_0_loss"]


def test_weights_and_initial_scores_of_sets():
    weight = RNG.random(60).round(1)
    weight[3] = 0.0
    model = GradientBoostingRegressor(**SMALL, scoring=["r2"])
    options = {
        "eval_set": [(X[FIRST], Y[FIRST]), (X[SECOND], Y[SECOND])],
        "eval_sample_weight": [weight, None],
        "eval_init_score": [np.ones(60), np.full(90, 2.0)],
    }
    model.fit(X[TRAIN], Y[TRAIN], init_score=np.zeros(150), **options)
    first, second = 1 + model.predict(X[FIRST]), 2 + model.predict(X[SECOND])
    loss = mean_squared_error(Y[FIRST], first, sample_weight=weight) / 2
    assert model.history_["valid_0_loss"][-1] == pytest.approx(loss)
    assert model.history_["valid_0_r2"][-1] == pytest.approx(
        r2_score(Y[FIRST], first, sample_weight=weight)
    )
    assert model.history_["valid_1_r2"][-1] == pytest.approx(r2_score(Y[SECOND], second))
    with pytest.raises(DataError, match="eval_init_score for each of its sets"):
        model.fit(X[TRAIN], Y[TRAIN], eval_set=[(X[FIRST], Y[FIRST])], init_score=np.zeros(150))


def test_metrics_by_name_as_functions_and_in_a_dict(tmp_path):
    def halves(y_true, y_pred):
        return float(np.mean((y_pred > 0.5) == (y_true > 0.5)))

    scoring = ["r2", mean_absolute_error, halves, make_scorer(mean_squared_error)]
    params = {**SMALL, "early_stopping": True, "n_iter_no_change": 20}
    model = GradientBoostingRegressor(**params, scoring=scoring).fit(X, Y)
    names = ["loss", "r2", "mean_absolute_error", "halves", "mean_squared_error"]
    assert list(model.history_) == [f"validation_{name}" for name in names]
    assert np.all(model.history_["validation_mean_absolute_error"] < 0)  # higher is better
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.scoring == "loss"  # functions are not saved
    assert again.best_score_ == model.best_score_
    named = GradientBoostingRegressor(**params, scoring={"one": "r2", "two": halves}).fit(X, Y)
    np.testing.assert_array_equal(named.history_["validation_one"], model.history_["validation_r2"])
    texts = GradientBoostingRegressor(**params, scoring=["loss", "r2"]).fit(X, Y)
    texts.save(tmp_path / "model")
    assert load(tmp_path / "model").scoring == ["loss", "r2"]


def test_a_fit_with_sets_can_go_on(bytes_of):
    sets = {"eval_set": [(X[FIRST], Y[FIRST]), (X[SECOND], Y[SECOND])]}
    params = {**SMALL, "early_stopping": True, "n_iter_no_change": 5, "n_estimators": 60}
    whole = GradientBoostingRegressor(**params).fit(X[TRAIN], Y[TRAIN], **sets)
    start = GradientBoostingRegressor(**{**params, "n_estimators": 4})
    start.fit(X[TRAIN], Y[TRAIN], **sets)
    again = GradientBoostingRegressor(**params)
    again.fit(X[TRAIN], Y[TRAIN], **sets, init_model=start)
    assert bytes_of(again) == bytes_of(whole)


def test_early_stopping_of_dart_on_sets():
    params = {**SMALL, "booster": Dart(0.3), "n_estimators": 200, "early_stopping": True}
    model = GradientBoostingRegressor(**params, learning_rate=0.5)
    model.fit(X[TRAIN], Y[TRAIN], eval_set=[(X[TRAIN], Y[TRAIN]), (X[FIRST], Y[FIRST])])
    best = mean_squared_error(Y[FIRST], model.predict(X[FIRST])) / 2
    assert model.best_score_ == pytest.approx(best)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eval_set": X}, "must be a list of pairs"),
        ({"eval_set": [X]}, "must be a list of pairs"),
        ({"eval_set": [(X, Y, Y)]}, "must be a list of pairs"),
        ({"eval_set": [(X, Y), (X, Y[:9])]}, r"eval_set\[1\]: X_val has 300 rows, but y_val has 9"),
        ({"eval_set": [(None, Y)]}, r"eval_set\[0\]"),
        ({"eval_set": [(X[:, :2], Y)]}, "2 features"),
        ({"eval_set": [(X, Y)], "eval_names": ["a", "b"]}, "eval_names has 2 entries for 1 sets"),
        ({"eval_set": [(X, Y), (X, Y)], "eval_names": ["a", "a"]}, "must be different strings"),
        ({"eval_set": [(X, Y)], "eval_names": ["training"]}, "rename it"),
        ({"eval_set": [(X, Y)], "eval_sample_weight": []}, "eval_sample_weight has 0 entries"),
        ({"eval_sample_weight": [Y]}, "eval_sample_weight has 1 entries for 0 sets"),
    ],
)
def test_bad_sets(options, message):
    with pytest.raises(ValueError, match=message):
        GradientBoostingRegressor(**SMALL).fit(X, Y, **options)


@pytest.mark.parametrize(
    "scoring",
    [[], {}, ["r2", "r2"], {"loss": "r2"}, {"a": "loss"}, ["r2", "nothing"], {1: "r2"}, [["r2"]]],
    ids=str,
)
def test_bad_metrics(scoring):
    with pytest.raises(ParameterError, match="scoring="):
        GradientBoostingRegressor(**SMALL, scoring=scoring).fit(X, Y)
