"""Permutation importance: scikit-learn's numbers, groups, containers and scorers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from joblib import parallel_config
from scipy.sparse import csr_matrix
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance as sklearn_importance
from sklearn.linear_model import LinearRegression
from sklearn.metrics import accuracy_score, log_loss, make_scorer

from sumwise import (
    AdaBoostClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    TargetStatistics,
)
from sumwise.errors import ParameterError
from sumwise.inspection import permutation_importance

RNG = np.random.default_rng(0)
N_ROWS = 80
X = pd.DataFrame(RNG.normal(size=(N_ROWS, 3)), columns=["a", "b", "c"])
X["color"] = RNG.choice(["red", "green", "blue"], N_ROWS)
X.loc[::9, "b"] = np.nan
NUMBERS = X[["a", "b", "c"]]
Y = (X["a"] + np.nan_to_num(X["b"]) + 2.0 * (X["color"] == "red")).to_numpy()
TWO, THREE = np.where(Y > 0.5, "yes", "no"), np.digitize(Y, [-0.2, 1.5])
SMALL = {"n_estimators": 5, "min_samples_leaf": 3, "n_jobs": 1}
BOOST = {**SMALL, "categorical_encoding": "native"}
ENCODED = {**SMALL, "categorical_encoding": TargetStatistics(native_limit=0), "random_state": 0}

CASES = {
    "boosting": (GradientBoostingRegressor(**BOOST), Y, X),
    "statistics": (GradientBoostingRegressor(**ENCODED), Y, X),
    "classes": (GradientBoostingClassifier(**BOOST), THREE, X),
    "targets": (GradientBoostingRegressor(**BOOST), np.column_stack([Y, -Y]), X),
    "forest": (RandomForestClassifier(4, random_state=0), TWO, X),
    "calibrated": (RandomForestClassifier(20, random_state=0, calibrate="isotonic"), THREE, X),
    "forest of numbers": (RandomForestRegressor(4, random_state=0), Y, X),
    "AdaBoost": (AdaBoostClassifier(n_estimators=3), TWO, X),
    "array": (GradientBoostingRegressor(**SMALL), Y, NUMBERS.to_numpy()),
    "scikit-learn's": (LinearRegression(), Y, NUMBERS.fillna(0)),
}


@pytest.mark.parametrize("name", CASES)
def test_it_is_that_of_scikit_learn(name):
    model, target, rows = CASES[name]
    model.fit(rows, target)
    weight = RNG.random(N_ROWS)
    for options in ({"n_repeats": 3}, {"sample_weight": weight, "n_repeats": 1, "n_jobs": 2}):
        with parallel_config(backend="threading"):  # processes take seconds to start
            ours = permutation_importance(model, rows, target, random_state=3, **options)
            theirs = sklearn_importance(model, rows, target, random_state=3, **options)
        np.testing.assert_allclose(ours.importances, theirs.importances, rtol=0, atol=1e-12)
        np.testing.assert_allclose(ours.importances_mean, theirs.importances_mean, atol=1e-12)
        np.testing.assert_allclose(ours.importances_std, theirs.importances_std, atol=1e-12)
    assert ours.names == tuple(getattr(rows, "columns", ["x0", "x1", "x2"]))


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "roc_auc_ovr", log_loss])
def test_scorers(scoring):
    model = GradientBoostingClassifier(**BOOST).fit(X, THREE)
    ours = permutation_importance(model, X, THREE, scoring=scoring, random_state=0)
    theirs = "neg_log_loss" if scoring is log_loss else scoring
    expected = sklearn_importance(model, X, THREE, scoring=theirs, random_state=0)
    np.testing.assert_allclose(ours.importances, expected.importances, rtol=0, atol=1e-12)


def test_calibrated_probabilities():
    for model in (
        RandomForestClassifier(20, random_state=0, calibrate="isotonic"),
        GradientBoostingClassifier(**BOOST, calibrate="logistic", random_state=0),
    ):
        options = {"scoring": "neg_log_loss", "random_state": 0, "n_repeats": 2}
        ours = permutation_importance(model.fit(X, TWO), X, TWO, **options)
        theirs = sklearn_importance(model, X, TWO, **options)
        np.testing.assert_allclose(ours.importances, theirs.importances, rtol=0, atol=1e-12)


def test_several_scorers():
    for scoring in (["accuracy", "neg_log_loss"], {"own": make_scorer(accuracy_score)}):
        model = RandomForestClassifier(4, random_state=0).fit(X, TWO)
        ours = permutation_importance(model, X, TWO, scoring=scoring, random_state=0)
        theirs = sklearn_importance(model, X, TWO, scoring=scoring, random_state=0)
        assert list(ours) == list(theirs)
        for name, own in ours.items():
            np.testing.assert_allclose(own.importances, theirs[name].importances, atol=1e-12)


def test_a_scorer_that_looks_at_the_rows_sees_them_permuted():
    model = GradientBoostingRegressor(**BOOST).fit(X, Y)

    def score(estimator, rows, y):
        half = rows[:40]
        return -float(((estimator.predict(half) - y[:40]) ** 2).mean()) - float(rows["a"][0] ** 2)

    ours = permutation_importance(model, X, Y, scoring=score, random_state=0)
    theirs = sklearn_importance(model, X, Y, scoring=score, random_state=0)
    np.testing.assert_allclose(ours.importances, theirs.importances, atol=1e-12)
    assert np.abs(ours.importances[0]).min() > 0


# --- groups ---


def test_groups_are_permuted_together():
    rows = NUMBERS.assign(copy=NUMBERS["a"])
    model = RandomForestRegressor(20, max_features=1, random_state=0).fit(rows, X["a"])
    groups = {"twins": ["a", "copy"], "rest": [1]}
    result = permutation_importance(model, rows, X["a"], groups=groups, random_state=0)
    assert result.names == ("twins", "rest", "c")
    assert result.importances.shape == (3, 5)
    single = permutation_importance(model, rows, X["a"], random_state=0)
    assert result.importances_mean[0] > 1.2 * single.importances_mean[[0, 3]].max()
    np.testing.assert_array_equal(result.importances[2], single.importances[2])
    # All features together: the rows themselves are permuted.
    everything = permutation_importance(
        model, rows, X["a"], groups={"all": list(rows.columns)}, random_state=0, scoring="r2"
    )
    assert everything.importances_mean[0] > 1


def test_groups_of_models_of_any_kind_and_of_sparse_rows():
    dense = NUMBERS.fillna(0).to_numpy() * (RNG.random((N_ROWS, 3)) < 0.5)
    groups = {"both": [0, 2]}
    boosting = GradientBoostingRegressor(**SMALL).fit(dense, Y)
    bagging = BaggingRegressor(n_estimators=3, random_state=0).fit(dense, Y)
    linear = LinearRegression().fit(dense, Y)
    for model in (boosting, bagging, linear):
        options = {"groups": groups, "random_state": 1}
        result = permutation_importance(model, dense, Y, **options)
        sparse = permutation_importance(model, csr_matrix(dense), Y, **options)
        assert result.names == ("both", "x1")
        np.testing.assert_allclose(result.importances, sparse.importances, atol=1e-12)
        permuted = dense.copy()
        permuted[:, [0, 2]] = dense[np.ix_(draw_third_order(1), [0, 2])]
        expected = model.score(dense, Y) - model.score(permuted, Y)
        assert result.importances[0, 2] == pytest.approx(expected)


def draw_third_order(random_state):
    """Return the third permutation, as scikit-learn draws it."""
    seed = np.random.RandomState(random_state).randint(np.iinfo(np.int32).max + 1)
    draws, shuffled, order = np.random.RandomState(seed), np.arange(N_ROWS), np.arange(N_ROWS)
    for _ in range(3):
        draws.shuffle(shuffled)
        order = order[shuffled]
    return order


def test_frames_of_other_libraries():
    model = GradientBoostingRegressor(**BOOST).fit(X, Y)
    expected = permutation_importance(model, X, Y, groups={"g": ["a", "color"]}, random_state=0)
    frame = pl.from_pandas(X)
    for rows in (frame, frame.lazy(), frame.to_arrow()):
        found = permutation_importance(model, rows, Y, groups={"g": [0, 3]}, random_state=0)
        np.testing.assert_array_equal(found.importances, expected.importances)
        assert found.names == ("g", "b", "c")
    bagging = BaggingRegressor(n_estimators=2, random_state=0).fit(frame, Y)
    found = permutation_importance(bagging, frame, Y, groups={"g": ["a", "color"]})
    assert found.importances.shape == (3, 5)


def test_unused_features_are_not_permuted(monkeypatch):
    model = GradientBoostingRegressor(n_estimators=1, max_leaves=2).fit(NUMBERS, X["a"])
    calls, predict = [], type(model.ensemble_).predict_raw
    monkeypatch.setattr(
        type(model.ensemble_),
        "predict_raw",
        lambda *args: calls.append(1) or predict(*args),
    )
    result = permutation_importance(model, NUMBERS, X["a"], random_state=0)
    assert len(calls) == 1 + 5
    assert (result.importances[1:] == 0).all()
    assert (result.importances[0] > 0).all()
    leaves = GradientBoostingRegressor(**SMALL, leaves="linear").fit(NUMBERS, Y)
    ours = permutation_importance(leaves, NUMBERS, Y, random_state=0)
    theirs = sklearn_importance(leaves, NUMBERS, Y, random_state=0)
    np.testing.assert_allclose(ours.importances, theirs.importances, atol=1e-12)
    linear = GradientBoostingRegressor(**SMALL, booster="linear").fit(NUMBERS, Y)
    ours = permutation_importance(linear, NUMBERS, Y, random_state=0)
    theirs = sklearn_importance(linear, NUMBERS, Y, random_state=0)
    np.testing.assert_allclose(ours.importances, theirs.importances, atol=1e-12)


def test_nothing_is_changed():
    rows, before = X.copy(), X.copy()
    array = NUMBERS.to_numpy().copy()
    permutation_importance(GradientBoostingRegressor(**BOOST).fit(rows, Y), rows, Y)
    permutation_importance(GradientBoostingRegressor(**SMALL).fit(array, Y), array, Y)
    pd.testing.assert_frame_equal(rows, before)
    np.testing.assert_array_equal(array, NUMBERS.to_numpy())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"groups": {"g": ["tall"]}}, r"groups\['g'\]: 'tall' must be the name"),
        ({"groups": {"g": [4]}}, "an index from 0 to 3"),
        ({"groups": {"g": []}}, "has no features"),
        ({"groups": ["a", "b"]}, "must be a dict"),
        ({"n_repeats": 0}, "n_repeats=0"),
        ({"scoring": "speed"}, "scoring='speed'"),
    ],
)
def test_wrong_arguments(options, message):
    model = GradientBoostingRegressor(**BOOST).fit(X, Y)
    with pytest.raises(ParameterError, match=message):
        permutation_importance(model, X, Y, **options)


def test_wrong_rows():
    with pytest.raises(NotFittedError):
        permutation_importance(GradientBoostingRegressor(), X, Y)
    with pytest.raises(ValueError, match="inconsistent"):
        permutation_importance(GradientBoostingRegressor(**BOOST).fit(X, Y), X, Y[:5])
