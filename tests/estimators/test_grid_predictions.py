"""Predictions at the points of a grid are those of scikit-learn, row by row."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.inspection import partial_dependence as sklearn_dependence

from sumwise import (
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearLeaves,
    RandomForestClassifier,
    RandomForestRegressor,
    TargetStatistics,
)
from sumwise.estimators import grid_predictions
from sumwise.inspection import partial_dependence

RNG = np.random.default_rng(0)
N_ROWS = 60
X = pd.DataFrame(RNG.normal(size=(N_ROWS, 3)), columns=["a", "b", "c"])
X["color"] = RNG.choice(["red", "green", "blue"], N_ROWS)
Y = (X["a"] * X["b"] + (X["color"] == "red")).to_numpy()
TWO, THREE = np.where(Y > 0.3, "yes", "no"), np.digitize(Y, [-0.2, 0.6])
SMALL = {"n_estimators": 5, "min_samples_leaf": 3, "n_jobs": 1}
BOOST = {**SMALL, "categorical_encoding": "native"}
ENCODED = {**SMALL, "categorical_encoding": TargetStatistics(native_limit=0)}

CASES = {
    "boosting": (GradientBoostingRegressor(**BOOST), Y, {}),
    "log link": (GradientBoostingRegressor(**BOOST, loss="poisson"), np.abs(Y), {}),
    "statistics": (GradientBoostingRegressor(**ENCODED, random_state=0), Y, {}),
    "targets": (GradientBoostingRegressor(**BOOST), np.column_stack([Y, -Y]), {}),
    "two classes": (GradientBoostingClassifier(**BOOST), TWO, {}),
    "three classes": (GradientBoostingClassifier(**BOOST), THREE, {}),
    "scores": (GradientBoostingClassifier(**BOOST), TWO, {"response_method": "decision_function"}),
    "tree": (DecisionTreeRegressor(max_depth=4), Y, {}),
    "forest": (RandomForestClassifier(4, max_depth=4, random_state=0), TWO, {}),
    "forest, three classes": (RandomForestClassifier(4, max_depth=4, random_state=0), THREE, {}),
    "calibrated": (
        RandomForestClassifier(20, random_state=0, calibrate="isotonic"),
        TWO,
        {"response_method": "predict_proba"},
    ),
    "calibrated boosting": (GradientBoostingClassifier(**BOOST, calibrate="logistic"), TWO, {}),
    "forest, targets": (RandomForestRegressor(4, random_state=0), np.column_stack([Y, -Y]), {}),
}


@pytest.fixture(scope="module")
def fitted():
    return {name: model.fit(X, target) for name, (model, target, _) in CASES.items()}


@pytest.mark.parametrize("features", [["a"], ["color"], ["color", "b"]], ids=str)
@pytest.mark.parametrize("name", CASES)
def test_they_are_those_of_scikit_learn(fitted, name, features):
    options = {**CASES[name][2], "kind": "both", "method": "brute", "grid_resolution": 5}
    options["categorical_features"] = ["color"]
    for weight in (None, RNG.random(N_ROWS)):
        ours = partial_dependence(fitted[name], X, features, sample_weight=weight, **options)
        theirs = sklearn_dependence(fitted[name], X, features, sample_weight=weight, **options)
        np.testing.assert_allclose(ours.average, theirs.average, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(ours.individual, theirs.individual, rtol=1e-12, atol=1e-12)
        for own, other in zip(ours.grid_values, theirs.grid_values, strict=True):
            assert own.tolist() == pytest.approx(other.tolist()) or (own == other).all()
    alone = partial_dependence(fitted[name], X, features, **{**options, "kind": "individual"})
    assert "average" not in alone
    np.testing.assert_array_equal(alone.individual, ours.individual)


def test_points_are_predicted_some_at_a_time(fitted, monkeypatch):
    whole = partial_dependence(fitted["boosting"], X, ["a", "b"], kind="both", grid_resolution=7)
    monkeypatch.setattr(grid_predictions, "_MOST_ROWS", 3 * N_ROWS)
    parts = partial_dependence(fitted["boosting"], X, ["a", "b"], kind="both", grid_resolution=7)
    np.testing.assert_array_equal(whole.individual, parts.individual)
    np.testing.assert_allclose(whole.average, parts.average, rtol=1e-13)


def test_missing_values_and_unknown_categories():
    rows = X.copy()
    rows.loc[::4, "a"] = np.nan
    rows.loc[::5, "color"] = None
    for model in (GradientBoostingRegressor(**BOOST), GradientBoostingRegressor(**ENCODED)):
        model.fit(rows, Y)
        own = {"color": ["red", "unheard of", None]}
        found = partial_dependence(model, rows, ["color"], custom_values=own, kind="individual")
        for k, value in enumerate(own["color"]):
            expected = model.predict(rows.assign(color=pd.Series([value] * N_ROWS, dtype=object)))
            np.testing.assert_array_equal(found.individual[0, :, k], expected)
        found = partial_dependence(model, rows, ["a"], kind="individual", grid_resolution=4)
        assert np.isfinite(found.grid_values[0]).all()
        new = rows.assign(color="unheard of")
        found = partial_dependence(model, new, ["a"], kind="individual", grid_resolution=4)
        expected = model.predict(new.assign(a=found.grid_values[0][1]))
        np.testing.assert_array_equal(found.individual[0, :, 1], expected)


def test_any_dense_container(fitted):
    model = fitted["boosting"]
    expected = partial_dependence(model, X, ["a"], kind="individual", grid_resolution=4)
    found = partial_dependence(
        model, pl.from_pandas(X), ["a"], kind="individual", grid_resolution=4
    )
    np.testing.assert_array_equal(found.individual, expected.individual)
    numbers = X[["a", "b", "c"]].to_numpy()
    single = GradientBoostingRegressor(**SMALL).fit(numbers, Y)
    mask = partial_dependence(single, numbers, [True, False, False], kind="both")
    index = partial_dependence(single, numbers.astype(np.float32).astype(float), 0, kind="both")
    assert mask.individual.shape == index.individual.shape == (1, N_ROWS, N_ROWS)
    sparse = X[["a", "b", "c"]].round().astype(pd.SparseDtype(float, fill_value=0.0))
    model = GradientBoostingRegressor(**SMALL).fit(sparse, Y)
    found = partial_dependence(model, sparse, ["a"], kind="individual")
    dense = partial_dependence(model, sparse.sparse.to_dense(), ["a"], kind="individual")
    np.testing.assert_array_equal(found.individual, dense.individual)


def test_linear_models_and_leaves():
    numbers = X[["a", "b", "c"]]
    for own in ({"booster": "linear"}, {"leaves": LinearLeaves()}):
        model = GradientBoostingRegressor(**SMALL, **own).fit(numbers, Y)
        found = partial_dependence(model, numbers, "a", kind="individual", grid_resolution=4)
        expected = model.predict(numbers.assign(a=found.grid_values[0][2]))
        np.testing.assert_allclose(found.individual[0, :, 2], expected, rtol=1e-12)
