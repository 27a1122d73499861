"""Validation rows: given or held out, and what scorers make of them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sklearn.metrics import get_scorer, make_scorer, max_error, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    cross_val_score,
    cross_validate,
    train_test_split,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from sumwise import (
    Columns,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Subsample,
    load,
)
from sumwise.errors import DataError, ParameterError, TrainingError
from sumwise.estimators.boosting.validation import hold_out_rows
from sumwise.estimators.input.targets import encode_labels
from sumwise.kernels.runtime import random
from sumwise.kernels.sampling.lowest_hashes import HELD_OUT
from sumwise.losses import Exponential, Logistic, Multinomial, Squared
from sumwise.tree import TreeEnsemble
from tests.naive import random as naive

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 4))
X[RNG.random(160) < 0.2, 2] = np.nan
Y = X[:, 0] + np.isnan(X[:, 2]) + RNG.normal(size=160)
BINARY = (np.median(Y) < Y).astype(int)
THREE = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))
FITS = {
    "regression": (GradientBoostingRegressor, {}, Y, Squared()),
    "two classes": (GradientBoostingClassifier, {}, BINARY, Logistic()),
    "exponential": (GradientBoostingClassifier, {"loss": "exponential"}, BINARY, Exponential()),
    "three classes": (GradientBoostingClassifier, {}, THREE, Multinomial(3)),
}
PARAMS = {"n_estimators": 40, "min_samples_leaf": 3, "learning_rate": 0.5, "random_state": 0}
TRAIN, VALID = slice(0, 110), slice(110, 160)
ROWS = np.arange(100, dtype=np.uint32)


@pytest.fixture(params=FITS)
def fit(request):
    """A function that fits one kind of model with validation rows of their own."""
    kind, options, y, loss = FITS[request.param]

    def fit_model(X=X, weight=None, init_score=None, y=y, **params):
        model = kind(**{**PARAMS, **options, **params})
        extra = {}
        if weight is not None:
            extra = {"sample_weight": weight[TRAIN], "sample_weight_val": weight[VALID]}
        if init_score is not None:
            extra |= {"init_score": init_score[TRAIN], "init_score_val": init_score[VALID]}
        return model.fit(X[TRAIN], y[TRAIN], X_val=X[VALID], y_val=y[VALID], **extra)

    fit_model.y, fit_model.loss = y, loss
    return fit_model


def losses_of(fit, model, weight=None, start=0.0):
    """The validation loss after each round, from predictions."""
    rows = np.arange(50, dtype=np.uint32)
    target = fit.y[VALID].astype(np.float64)
    weight = np.empty(0) if weight is None else weight[VALID]
    predict = getattr(model, "staged_decision_function", model.staged_predict)
    return [
        fit.loss.value(target, np.ascontiguousarray(raw.reshape(50, -1).T + start), weight, rows)
        for raw in predict(X[VALID])
    ]


# Rows that are given


def test_given_rows_turn_early_stopping_on(fit):
    model = fit(n_iter_no_change=3)
    losses = model.history_["validation_loss"]
    assert list(model.history_) == ["validation_loss"]
    assert model.best_iteration_ == losses.argmin() + 1
    assert len(losses) == model.best_iteration_ + 3 < 40
    assert model.best_score_ == losses.min()
    assert losses_of(fit, model) == losses[: model.best_iteration_].tolist()


def test_given_rows_are_only_measured_without_early_stopping(fit):
    model = fit(early_stopping=False)
    losses = model.history_["validation_loss"]
    assert model.best_iteration_ == len(losses) == 40
    assert losses_of(fit, model) == losses.tolist()
    assert model.best_score_ == losses[-1] > losses.min()
    assert model.truncate(3).best_score_ == losses[2]


def test_without_rows_nothing_is_held_out(fit, seen_rows):
    kind = GradientBoostingRegressor if fit.loss.link == "identity" else GradientBoostingClassifier
    model = kind(n_estimators=3).fit(X, fit.y, groups=np.arange(len(X)))
    assert seen_rows[0].train.size == len(X)
    assert not hasattr(model, "best_score_")


@pytest.mark.parametrize(
    "params", [{}, {"sampler": Subsample(0.6), "columns": Columns(by_tree=0.7, by_node=0.7)}]
)
def test_given_rows_shape_no_tree(fit, params, bytes_of):
    table = X.copy()
    table[TRAIN, 1] = 3.0  # a column that says nothing but in validation rows
    table[110:120, 0] = np.nan
    model = fit(table, **params, n_iter_no_change=40)
    n_rounds = model.best_iteration_
    kind = type(model)
    alone = kind(**{**model.get_params(deep=False), "early_stopping": False})
    alone.fit(table[TRAIN], fit.y[TRAIN])
    model, alone = model.truncate(n_rounds), alone.truncate(n_rounds)
    for fitted in (model, alone):
        fitted.history_ = {}
        fitted.early_stopping = "auto"
    assert bytes_of(model) == bytes_of(alone)


def test_weights_of_validation_rows(fit):
    weight = RNG.uniform(0.5, 2, len(X))
    weight[::5] = 0
    model = fit(weight=weight)
    expected = losses_of(fit, model, weight)
    assert model.history_["validation_loss"][: len(expected)].tolist() == expected


def test_weights_of_validation_rows_alone(bytes_of):
    parts = {"X": X[TRAIN], "y": Y[TRAIN], "X_val": X[VALID], "y_val": Y[VALID]}
    models = [
        GradientBoostingRegressor(**PARAMS).fit(**parts, **weights)
        for weights in ({}, {"sample_weight_val": np.ones(50)}, {"sample_weight": np.ones(110)})
    ]
    assert bytes_of(models[0]) == bytes_of(models[1]) == bytes_of(models[2])


def test_initial_scores_of_validation_rows(fit):
    init_score = RNG.normal(size=(len(X), fit.loss.n_outputs))
    model = fit(init_score=init_score, early_stopping=False, n_estimators=1)
    (first,) = losses_of(fit, model, start=init_score[VALID].T)
    assert model.history_["validation_loss"].tolist() == [first]


@pytest.mark.parametrize(
    "convert",
    [
        np.asfortranarray,
        lambda a: a.astype(np.float64).tolist(),
        pd.DataFrame,
        lambda a: np.repeat(a, 2, axis=1)[:, ::2],
    ],
)
def test_forms_of_validation_rows(convert, bytes_of):
    plain = GradientBoostingRegressor(**PARAMS).fit(X, Y, X_val=X[VALID], y_val=Y[VALID])
    model = GradientBoostingRegressor(**PARAMS)
    model.fit(X, Y, X_val=convert(X[VALID]), y_val=Y[VALID].tolist())
    assert bytes_of(model) == bytes_of(plain)


def test_labels_of_validation_rows():
    names = np.array(["a", "b", "c"])
    model, plain = (
        GradientBoostingClassifier(**PARAMS).fit(X, y, X_val=X[VALID], y_val=pd.Series(y[VALID]))
        for y in (names[THREE], THREE)
    )
    losses = model.history_["validation_loss"]
    assert losses.tolist() == plain.history_["validation_loss"].tolist()


def test_validation_rows_may_lack_classes():
    model = GradientBoostingClassifier(**PARAMS).fit(X, THREE, X_val=X[:3], y_val=[1, 1, 1])
    assert model.classes_.tolist() == [0, 1, 2]


BAD_VALIDATION = {
    "no y": ({"X_val": X}, "X_val needs y_val"),
    "no X": ({"y_val": BINARY}, "y_val belongs to X_val"),
    "weights only": ({"sample_weight_val": np.ones(5)}, "sample_weight_val belongs to X_val"),
    "scores only": ({"init_score_val": np.ones(5)}, "init_score_val belongs to X_val"),
    "lengths": ({"X_val": X, "y_val": BINARY[1:]}, "X_val has 160 rows, but y_val has 159"),
    "features": ({"X_val": X[:, :3], "y_val": BINARY}, "3 features"),
    "class": ({"X_val": X, "y_val": BINARY + 1}, r"y_val has .*\[2\].*known classes are \[0, 1\]"),
    "kinds": ({"X_val": X, "y_val": BINARY.astype(str)}, "y_val has classes"),
    "missing label": ({"X_val": X, "y_val": np.full(160, np.nan)}, "NaN"),
    "weight": (
        {"X_val": X, "y_val": BINARY, "sample_weight_val": [1.0]},
        r"sample_weight_val\.shape",
    ),
    "no weight": (
        {"X_val": X, "y_val": BINARY, "sample_weight_val": np.zeros(160)},
        "nothing to validate with",
    ),
    "start": (
        {"X_val": X, "y_val": BINARY, "init_score": np.zeros(160)},
        "both init_score and init_score_val",
    ),
    "other start": (
        {"X_val": X, "y_val": BINARY, "init_score_val": np.zeros(160)},
        "both init_score and init_score_val",
    ),
    "shape of start": (
        {"X_val": X, "y_val": BINARY, "init_score_val": np.zeros(16), "init_score": np.zeros(160)},
        r"init_score_val has shape \(16,\)",
    ),
}


@pytest.mark.parametrize("name", BAD_VALIDATION)
def test_bad_validation_rows(name):
    changes, message = BAD_VALIDATION[name]
    with pytest.raises(ValueError, match=message):
        GradientBoostingClassifier(n_estimators=2).fit(X, BINARY, **changes)


def test_a_target_that_is_not_a_number():
    with pytest.raises(ValueError, match="NaN"):
        GradientBoostingRegressor().fit(X, Y, X_val=X, y_val=np.full(160, np.nan))


def test_names_of_features_must_agree():
    frame = pd.DataFrame(X, columns=list("abcd"))
    with pytest.raises(ValueError, match="feature names"):
        GradientBoostingRegressor().fit(frame, Y, X_val=frame[list("dcba")], y_val=Y)


def test_labels_find_their_place():
    classes = np.array(["a", "b", "c"])
    assert encode_labels("y", np.array(["c", "a", "c"]), classes).tolist() == [2, 0, 2]
    assert encode_labels("y", np.array([2.0, 1.0]), np.array([1, 2])).tolist() == [1, 0]
    with pytest.raises(DataError, match=r"y has classes.*\['d'\]"):
        encode_labels("y", np.array(["a", "d"]), classes)


# Rows that are held out


def test_the_last_rows_are_held_out(seen_rows):
    weight = np.ones(len(X))
    weight[-1] = weight[0] = 0
    params = {"early_stopping": True, "validation_rows": "last", "validation_fraction": 0.25}
    GradientBoostingRegressor(**PARAMS, **params).fit(X, Y, weight)
    (rows,) = seen_rows
    assert rows.valid.tolist() == list(range(119, 159))
    assert rows.train.tolist() == list(range(1, 119))


@pytest.mark.parametrize("kind", ["numbers", "strings"])
def test_groups_are_held_out_as_a_whole(kind, seen_rows):
    groups = RNG.integers(0, 25, len(X))
    labels = groups if kind == "numbers" else np.array([f"group {g}" for g in groups], dtype=object)
    params = {**PARAMS, "early_stopping": True, "validation_fraction": 0.2}
    for seed in (0, 0, 1):
        GradientBoostingClassifier(**{**params, "random_state": seed}).fit(X, BINARY, groups=labels)
    first, again, other = seen_rows
    for rows in seen_rows:
        assert not set(groups[rows.train]) & set(groups[rows.valid])
        assert np.array_equal(np.union1d(rows.train, rows.valid), np.arange(len(X)))
        assert abs(rows.valid.size - 32) <= 8
        assert np.all(np.diff(rows.train.astype(int)) > 0)
    assert np.array_equal(first.valid, again.valid)
    assert not np.array_equal(first.valid, other.valid)


@pytest.mark.parametrize("fraction", [0.01, 0.1, 0.5, 0.97])
def test_rows_with_the_lowest_hashes_are_held_out(fraction):
    rows = np.arange(5, 400, 3, dtype=np.uint32)
    train, valid = hold_out_rows(rows, fraction, "random", None, None, 7)
    key, n_valid = int(random.make_key(7, HELD_OUT, 0)), int(np.ceil(fraction * rows.size))
    assert valid.tolist() == naive.draw_lowest(key, rows.tolist(), n_valid)
    assert train.tolist() == np.setdiff1d(rows, valid).tolist()


def test_groups_with_the_lowest_hashes_are_held_out():
    groups = np.random.default_rng(0).integers(0, 30, 100)
    train, valid = hold_out_rows(ROWS, 0.2, "random", groups, None, 7)
    key, held_out = int(random.make_key(7, HELD_OUT, 0)), np.unique(groups[valid])
    expected = naive.draw_lowest(key, np.unique(groups).tolist(), held_out.size)
    assert held_out.tolist() == expected
    assert train.tolist() == np.setdiff1d(ROWS, valid).tolist()


@settings(derandomize=True, deadline=None, max_examples=60)
@given(st.lists(st.integers(2, 60), min_size=2, max_size=6), st.floats(0.02, 0.9))
def test_classes_are_held_out_in_proportion(counts, fraction):
    """As many rows of each class as scikit-learn would hold out, if no remainders are equal."""
    counts = np.array(counts)
    n_rows = int(counts.sum())
    n_valid = int(np.ceil(fraction * n_rows))
    assume(counts.size <= min(n_valid, n_rows - n_valid))
    labels = np.random.default_rng(0).permutation(np.repeat(np.arange(counts.size), counts))
    rows = np.arange(n_rows, dtype=np.uint32) * np.uint32(2)
    train, valid = hold_out_rows(rows, fraction, "random", None, labels, 3)
    assert valid.size == n_valid
    assert np.array_equal(np.union1d(train, valid), rows)
    found = np.bincount(labels[valid // 2], minlength=counts.size)
    assert np.all(np.abs(found - counts * n_valid / n_rows) < 1)
    key = int(random.make_key(3, HELD_OUT, 0))
    expected = naive.draw_strata(key, rows.tolist(), labels.tolist(), found.tolist())
    assert valid.tolist() == expected
    if np.unique(counts * (n_rows - n_valid) % n_rows).size == counts.size:
        _, theirs = train_test_split(labels, test_size=fraction, stratify=labels, random_state=0)
        assert found.tolist() == np.bincount(theirs, minlength=counts.size).tolist()


def test_equal_remainders_go_to_the_first_classes():
    labels = np.repeat([0, 1, 2, 3], 25)
    train, _ = hold_out_rows(ROWS, 0.5, "random", None, labels, 0)
    assert np.bincount(labels[train]).tolist() == [13, 13, 12, 12]


@pytest.mark.parametrize("labels", [np.repeat([0, 1], [99, 1]), np.arange(100) // 2])
def test_too_few_rows_to_stratify_by_class(labels):
    plain = hold_out_rows(ROWS, 0.1, "random", None, None, 0)
    found = hold_out_rows(ROWS, 0.1, "random", None, labels, 0)
    assert [own.tolist() for own in found] == [own.tolist() for own in plain]


def test_groups_of_very_different_sizes():
    groups = np.repeat([0, 1, 2], [90, 5, 5])
    for seed in range(10):
        train, valid = hold_out_rows(ROWS, 0.1, "random", groups, None, seed)
        assert train.size > 0
        assert valid.size > 0
        assert train.size + valid.size == 100


def test_two_groups():
    train, valid = hold_out_rows(ROWS, 0.5, "random", np.repeat([3, 7], 50), None, 0)
    assert {train.size, valid.size} == {50}


@pytest.mark.parametrize(
    ("groups", "params", "message"),
    [
        (np.zeros(160), {}, "all rows belong to one group"),
        (np.zeros(10), {}, r"groups has shape \(10,\)"),
        (np.zeros((160, 1)), {}, r"groups has shape \(160, 1\)"),
        (np.array([1, "a"] * 80, dtype=object), {}, "all numbers or all strings"),
        (np.arange(160), {"validation_rows": "last"}, "pass only one of them"),
    ],
)
def test_bad_groups(groups, params, message):
    model = GradientBoostingRegressor(early_stopping=True, **params)
    with pytest.raises((DataError, ParameterError), match=message):
        model.fit(X, Y, groups=groups)


# Scorers

SCORERS = {
    "regression": ["r2", "neg_mean_absolute_error", "neg_max_error", "explained_variance"],
    "two classes": [
        "accuracy",
        "balanced_accuracy",
        "roc_auc",
        "neg_log_loss",
        "average_precision",
        "f1",
        "neg_brier_score",
        "matthews_corrcoef",
    ],
    "exponential": ["roc_auc", "neg_log_loss"],
    "three classes": ["accuracy", "roc_auc_ovr", "neg_log_loss", "f1_macro", "top_k_accuracy"],
}


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in SCORERS.items() for name in names]
)
def test_scorers_by_name(kind, name):
    estimator, options, y, _ = FITS[kind]
    model = estimator(**PARAMS, **options, scoring=name, n_iter_no_change=6)
    model.fit(X[TRAIN], y[TRAIN], X_val=X[VALID], y_val=y[VALID])
    scores = model.history_["validation_score"]
    assert list(model.history_) == ["validation_loss", "validation_score"]
    assert model.best_iteration_ == scores.argmax() + 1
    assert model.best_score_ == scores.max()
    scorer = get_scorer(name)
    for n_rounds in range(1, model.best_iteration_ + 1):
        score = scorer(model.truncate(n_rounds), X[VALID], y[VALID])
        assert score == scores[n_rounds - 1]


def test_scorers_know_labels():
    names = np.array(["no", "yes"])[BINARY]
    model = GradientBoostingClassifier(**PARAMS, scoring="roc_auc")
    model.fit(X[TRAIN], names[TRAIN], X_val=X[VALID], y_val=names[VALID])
    plain = GradientBoostingClassifier(**PARAMS, scoring="roc_auc")
    plain.fit(X[TRAIN], BINARY[TRAIN], X_val=X[VALID], y_val=BINARY[VALID])
    assert model.best_score_ == plain.best_score_ > 0.5


def test_scorers_of_rows_that_are_held_out(seen_rows):
    weight = RNG.uniform(0.5, 2, len(X))
    weight[::7] = 0
    model = GradientBoostingClassifier(**PARAMS, early_stopping=True, scoring="roc_auc")
    model.fit(X, BINARY, weight)
    valid = seen_rows[0].valid
    score = roc_auc_score(
        BINARY[valid], model.predict_proba(X[valid])[:, 1], sample_weight=weight[valid]
    )
    assert score == model.best_score_


def test_a_metric_without_weights_is_not_given_any():
    weight = np.ones(50)
    for scoring in ("neg_max_error", make_scorer(max_error, greater_is_better=False)):
        model = GradientBoostingRegressor(**PARAMS, scoring=scoring)
        model.fit(X[TRAIN], Y[TRAIN], X_val=X[VALID], y_val=Y[VALID], sample_weight_val=weight)
        assert model.best_score_ == -max_error(Y[VALID], model.predict(X[VALID]))


@pytest.mark.parametrize(
    "frame", [pd.DataFrame, lambda a, columns: pl.DataFrame(a, schema=columns)]
)
@pytest.mark.parametrize("given", [True, False])
def test_functions_get_what_the_user_passed(frame, given):
    seen = []

    def score(estimator, X, y):
        seen.append((X, y))
        assert estimator.best_iteration_ == len(seen)
        assert estimator.feature_importances_.size == 4
        # Other rows, and other rounds, are predicted as by any model.
        first = estimator.predict_proba(X, rounds=1)
        assert np.array_equal(first, estimator.truncate(1).predict_proba(X))
        assert np.array_equal(first, estimator.predict_proba(X)) == (len(seen) == 1)
        assert np.array_equal(estimator.predict(X)[:5], estimator.predict(X[:5]))
        return estimator.score(X, y)

    table = frame(X, columns=list("abcd"))
    labels = np.array(["no", "yes"])[BINARY]
    model = GradientBoostingClassifier(**{**PARAMS, "n_estimators": 4}, scoring=score)
    if given:
        model.fit(table, labels, X_val=table[:40], y_val=labels[:40])
    else:
        model.set_params(early_stopping=True).fit(table, labels)
    first, y = seen[0]
    assert type(first) is type(table)
    assert list(first.columns) == list("abcd")
    assert len(first) == len(y) == (40 if given else 16)
    assert set(y) == {"no", "yes"}


def test_validation_rows_are_not_predicted_again(monkeypatch):
    def refuse(*args):
        raise AssertionError("predicted again")

    monkeypatch.setattr(TreeEnsemble, "predict_raw", refuse)
    model = GradientBoostingClassifier(**PARAMS, early_stopping=True, scoring="neg_log_loss")
    model.fit(X, THREE)
    assert model.best_score_ < 0


def test_scorers_see_initial_scores():
    init_score = 3.0 * RNG.normal(size=160)
    model = GradientBoostingRegressor(**{**PARAMS, "n_estimators": 1}, scoring="r2")
    model.fit(
        X[TRAIN],
        Y[TRAIN],
        init_score=init_score[TRAIN],
        X_val=X[VALID],
        y_val=Y[VALID],
        init_score_val=init_score[VALID],
    )
    total = model.predict(X[VALID]) + init_score[VALID]
    errors = np.sum((Y[VALID] - total) ** 2) / np.sum((Y[VALID] - Y[VALID].mean()) ** 2)
    assert model.best_score_ == pytest.approx(1 - errors)


def test_a_score_that_is_not_a_number():
    model = GradientBoostingRegressor(scoring=lambda estimator, X, y: np.nan)
    with pytest.raises(TrainingError, match="scoring gave nan"):
        model.fit(X, Y, X_val=X, y_val=Y)


def test_scores_that_are_no_numbers_can_be_saved(tmp_path):
    model = GradientBoostingRegressor(n_estimators=2, scoring=lambda *args: np.nan)
    model.set_params(early_stopping=False).fit(X, Y, X_val=X, y_val=Y).save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert np.isnan(loaded.history_["validation_score"]).all()
    assert loaded.scoring == "loss"  # a function is not saved


def test_the_name_of_a_scorer_is_saved(tmp_path):
    model = GradientBoostingRegressor(**PARAMS, scoring="r2").fit(X, Y, X_val=X, y_val=Y)
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert loaded.scoring == "r2"
    assert loaded.best_score_ == model.best_score_


def test_tolerance():
    exact, coarse = (
        GradientBoostingRegressor(**PARAMS, tol=tol, n_iter_no_change=3).fit(
            X[TRAIN], Y[TRAIN], X_val=X[VALID], y_val=Y[VALID]
        )
        for tol in (0.0, 0.5)
    )
    assert coarse.best_iteration_ < exact.best_iteration_


# With scikit-learn


def test_in_a_pipeline_and_in_cross_validation():
    model = GradientBoostingClassifier(**PARAMS, early_stopping=True, scoring="accuracy")
    scores = cross_val_score(make_pipeline(StandardScaler(), model), X, BINARY, cv=3)
    assert scores.mean() > 0.6


def test_in_a_grid_search():
    model = GradientBoostingClassifier(**PARAMS, early_stopping=True)
    grid = {"scoring": ["loss", "roc_auc"], "validation_rows": ["random", "last"]}
    search = GridSearchCV(model, grid, cv=2, error_score="raise").fit(X, BINARY)
    assert search.best_estimator_.best_iteration_ < 40


def test_groups_are_routed(seen_rows):
    groups = np.repeat(np.arange(20), 8)
    with sklearn.config_context(enable_metadata_routing=True):
        model = GradientBoostingClassifier(**PARAMS, early_stopping=True)
        model.set_fit_request(groups=True, sample_weight=True)
        model.set_score_request(sample_weight=False)
        params = {"groups": groups, "sample_weight": np.ones(160)}
        cross_validate(model, X, BINARY, cv=GroupKFold(4), params=params, error_score="raise")
    for rows in seen_rows:
        assert rows.train.size + rows.valid.size == 120
        assert rows.weight.size == 120
        # Groups of 8 rows follow one another, with those of the test fold left out.
        assert not set(rows.train // 8) & set(rows.valid // 8)


def test_validation_rows_pass_through_a_pipeline():
    with sklearn.config_context(enable_metadata_routing=True):
        model = GradientBoostingRegressor(**PARAMS).set_fit_request(X_val=True, y_val=True)
        pipeline = Pipeline(
            [("scale", StandardScaler()), ("boost", model)], transform_input=["X_val"]
        )
        pipeline.fit(X[TRAIN], Y[TRAIN], X_val=X[VALID], y_val=Y[VALID])
        fitted = pipeline[-1]
        scaled = pipeline[0].transform(X[VALID])
    loss = 0.5 * np.mean((fitted.predict(scaled) - Y[VALID]) ** 2)
    assert fitted.best_score_ == pytest.approx(loss)


@pytest.mark.parametrize("flag", [True, np.True_])
def test_flags_of_numpy(flag, seen_rows):
    GradientBoostingRegressor(**PARAMS, early_stopping=flag).fit(X, Y)
    assert seen_rows[0].valid.size == 16


def make_colors(n_rows=200):
    rng = np.random.default_rng(0)
    color = np.array(["red", "green", "blue", None], dtype=object)[rng.integers(4, size=n_rows)]
    size = rng.normal(size=n_rows)
    return color, size, size + (color == "red")


@pytest.mark.parametrize("own_rows", [True, False], ids=["X_val", "held out"])
@pytest.mark.parametrize(
    "convert",
    [
        lambda color, size: np.column_stack([color, size]),
        lambda color, size: np.column_stack([color, size]).tolist(),
        lambda color, size: pl.DataFrame({"color": color.tolist(), "size": size}),
        lambda color, size: pl.LazyFrame({"color": color.tolist(), "size": size}),
    ],
    ids=["objects", "lists", "frame", "lazy frame"],
)
def test_scorers_get_tables_with_categories(convert, own_rows):
    color, size, y = make_colors()
    X = convert(color, size)
    model = GradientBoostingRegressor(n_estimators=5, scoring="r2", random_state=0)
    if own_rows:
        model.fit(X, y, X_val=X, y_val=y)
        assert model.best_score_ == pytest.approx(model.score(X, y))
    else:
        model.set_params(early_stopping=True).fit(X, y)
        assert model.history_["validation_score"].size == 5


def test_scorers_get_numbers_that_are_categories():
    X = np.column_stack([np.arange(200) % 7, np.arange(200)])
    shapes = []

    def score(estimator, X_val, y_val):
        assert (X_val[:, 0] == X_val[:, 1] % 7).all()
        shapes.append(X_val.shape)
        return estimator.score(X_val, y_val)

    model = GradientBoostingRegressor(
        n_estimators=3, categorical_features=[0], scoring=score, early_stopping=True
    )
    model.fit(X, X[:, 0] % 3)
    assert set(shapes) == {(20, 2)}
