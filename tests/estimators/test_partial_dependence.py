"""Partial dependence: which way is taken, the grid, and scikit-learn's on our models."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.inspection import PartialDependenceDisplay
from sklearn.inspection import partial_dependence as sklearn_dependence
from sklearn.tree import DecisionTreeRegressor as SklearnTree

from sumwise import (
    AdaBoostRegressor,
    AveragingRegressor,
    BaggingRegressor,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sumwise.errors import DataError, ParameterError
from sumwise.inspection import partial_dependence
from sumwise.inspection.dependence import depend_on

mpl.use("Agg")
X, Y = make_friedman1(400, n_features=5, random_state=0)
BINARY, THREE = (Y > 14).astype(int), np.digitize(Y, [12, 16])
FRAME = pd.DataFrame(X, columns=list("abcde")).assign(
    color=np.random.default_rng(0).choice(["red", "green", "blue"], 400)
)
SMALL = {"n_estimators": 10, "min_samples_leaf": 5}
BOOSTING = GradientBoostingRegressor(**SMALL).fit(X, Y)
MIXED = GradientBoostingRegressor(**SMALL, categorical_encoding="native").fit(FRAME, Y)


def test_a_tree_gives_what_scikit_learns_gives():
    ours = DecisionTreeRegressor(max_depth=4, max_bins=255).fit(X.round(2), Y)
    theirs = SklearnTree(max_depth=4).fit(X.round(2), Y)
    np.testing.assert_allclose(ours.predict(X), theirs.predict(X))  # the same tree
    for features in ([0], [3, 1]):
        found = partial_dependence(ours, X, features, method="recursion", grid_resolution=20)
        expected = sklearn_dependence(theirs, X, features, method="recursion", grid_resolution=20)
        np.testing.assert_allclose(found.average, expected.average, rtol=1e-6)
        for own, other in zip(found.grid_values, expected.grid_values, strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-12)


def test_boosting_gives_what_scikit_learns_gives_and_the_constant():
    """Trees of one split on the same bins: scikit-learn's leaves the constant out."""
    rounded = X.round(1)
    params = {"max_depth": 1, "learning_rate": 0.5, "min_samples_leaf": 5}
    theirs = HistGradientBoostingRegressor(max_iter=5, early_stopping=False, **params)
    theirs.fit(rounded, Y)
    ours = GradientBoostingRegressor(n_estimators=5, l2=0.0, growth="depth", **params)
    ours.fit(rounded, Y)
    np.testing.assert_allclose(ours.predict(rounded), theirs.predict(rounded), rtol=1e-3)
    found = partial_dependence(ours, rounded, [3])
    expected = sklearn_dependence(theirs, rounded, [3], method="recursion")
    np.testing.assert_allclose(found.average - Y.mean(), expected.average, atol=0.02)


@pytest.mark.parametrize(
    ("model", "target", "n_outputs"),
    [
        (GradientBoostingRegressor(**SMALL), Y, 1),
        (GradientBoostingRegressor(**SMALL), np.column_stack([Y, -Y]), 2),
        (GradientBoostingClassifier(**SMALL), BINARY, 1),
        (GradientBoostingClassifier(**SMALL), THREE, 3),
        (RandomForestRegressor(5, random_state=0), Y, 1),
        (RandomForestRegressor(5, random_state=0), np.column_stack([Y, -Y]), 2),
        (RandomForestClassifier(5, random_state=0), BINARY, 1),
        (RandomForestClassifier(5, random_state=0), THREE, 3),
    ],
)
def test_shapes(model, target, n_outputs):
    model.fit(X, target)
    one = partial_dependence(model, X, 0, grid_resolution=7)
    assert one.average.shape == (n_outputs, 7)
    assert [values.shape for values in one.grid_values] == [(7,)]
    two = partial_dependence(model, X, [0, 3], grid_resolution=7)
    assert two.average.shape == (n_outputs, 7, 7)


@pytest.mark.parametrize(
    ("model", "target", "method"),
    [
        (GradientBoostingRegressor(**SMALL), Y, "auto"),
        (GradientBoostingClassifier(**SMALL), THREE, "decision_function"),
        (RandomForestRegressor(5, random_state=0), Y, "auto"),
        (RandomForestClassifier(5, random_state=0), BINARY, "predict_proba"),
    ],
)
def test_both_ways_are_close(model, target, method):
    """Features are independent, so that shares of rows hardly depend on those of the grid."""
    model.fit(X, target)
    quick = partial_dependence(model, X, [3], response_method=method)
    slow = partial_dependence(model, X, [3], response_method=method, method="brute")
    assert np.array_equal(quick.grid_values[0], slow.grid_values[0])
    spread = np.ptp(slow.average, axis=1)
    assert np.all(np.abs(quick.average - slow.average).max(axis=1) < 0.15 * spread)
    assert not np.array_equal(quick.average, slow.average)


@pytest.mark.parametrize(
    ("model", "target", "options", "is_quick"),
    [
        (GradientBoostingRegressor(**SMALL), Y, {}, True),
        (GradientBoostingRegressor(**SMALL, loss="poisson"), Y, {}, False),
        (GradientBoostingRegressor(**SMALL, loss="poisson"), Y, {"method": "recursion"}, True),
        (GradientBoostingRegressor(**SMALL, booster="linear"), Y, {}, False),
        (GradientBoostingRegressor(**SMALL), Y, {"kind": "individual"}, False),
        (GradientBoostingRegressor(**SMALL), Y, {"sample_weight": Y}, False),
        (GradientBoostingClassifier(**SMALL), BINARY, {}, True),
        (GradientBoostingClassifier(**SMALL), BINARY, {"response_method": "predict_proba"}, False),
        (RandomForestClassifier(5), BINARY, {}, True),
        (AdaBoostRegressor(n_estimators=2), Y, {}, False),
    ],
)
def test_which_way_is_taken(model, target, options, is_quick, monkeypatch):
    model.fit(X, target)
    calls = []

    def count(*arguments):
        calls.append(1)
        return depend_on(*arguments)

    monkeypatch.setattr("sumwise.estimators.partial_dependence.depend_on", count)
    partial_dependence(model, X, 0, grid_resolution=3, **options)
    assert bool(calls) == is_quick


def test_categories_take_all_of_their_values():
    found = partial_dependence(MIXED, FRAME, "color")
    assert found.grid_values[0].tolist() == ["blue", "green", "red"]
    assert found.average.shape == (1, 3)
    slow = partial_dependence(MIXED, FRAME, "color", method="brute")
    assert slow.grid_values[0].tolist() == ["blue", "green", "red"]
    np.testing.assert_allclose(found.average, slow.average, atol=0.5)


def test_values_of_the_users_own():
    own = {"color": ["red", "unheard of"], "a": [0.25, 0.5, np.nan]}
    found = partial_dependence(MIXED, FRAME, ["color", "a"], custom_values=own)
    assert found.average.shape == (1, 2, 3)
    assert found.grid_values[0].tolist() == ["red", "unheard of"]
    alone = partial_dependence(MIXED, FRAME, ["a"], custom_values={"a": [0.25]})
    assert alone.average.shape == (1, 1)


def test_few_values_are_all_in_the_grid_and_missing_ones_are_not():
    few = X.round(1)
    few[::7, 0] = np.nan
    model = GradientBoostingRegressor(**SMALL).fit(few, Y)
    grid = partial_dependence(model, few, 0, grid_resolution=50).grid_values[0]
    np.testing.assert_allclose(grid, np.linspace(0, 1, 11), atol=1e-12)
    grid = partial_dependence(model, few, 0, grid_resolution=5, categorical_features=[0])
    assert grid.grid_values[0].size == 11


def test_sparse_rows():
    few = X * (X > 0.5)
    model = GradientBoostingRegressor(**SMALL).fit(sparse.csr_matrix(few), Y)
    found = partial_dependence(model, sparse.csr_matrix(few), 1)
    np.testing.assert_allclose(found.average, partial_dependence(model, few, 1).average)


@pytest.mark.parametrize(
    ("model", "table", "target"),
    [
        (BOOSTING, X, Y),
        (MIXED, FRAME, Y),
        (RandomForestRegressor(3), FRAME, Y),
        (RandomForestClassifier(3), X, BINARY),
        (AdaBoostRegressor(n_estimators=3), X, Y),
        (BaggingRegressor(n_estimators=3), FRAME, Y),
        (AveragingRegressor([("tree", DecisionTreeRegressor())]), X, Y),
    ],
    ids=lambda value: type(value).__name__,
)
def test_scikit_learns_own_takes_our_models(model, table, target):
    model.fit(table, target)
    result = sklearn_dependence(model, table, [0], grid_resolution=4)
    assert result.average.shape == (1, 4)
    display = PartialDependenceDisplay.from_estimator(model, table, [0, (0, 1)], grid_resolution=4)
    assert len(display.pd_results) == 2


def test_ours_can_be_drawn_by_scikit_learns_display():
    results = [partial_dependence(BOOSTING, X, [0]), partial_dependence(BOOSTING, X, [1])]
    display = PartialDependenceDisplay(
        results,
        features=[(0,), (1,)],
        feature_names=list("abcde"),
        target_idx=0,
        deciles={k: np.quantile(X[:, k], np.linspace(0.1, 0.9, 9)) for k in (0, 1)},
    )
    display.plot()
    assert display.lines_.size == 2


@pytest.mark.parametrize("kind", ["average", "individual", "both"])
def test_scikit_learns_display_of_categories_and_classes(kind):
    options = {"grid_resolution": 4, "categorical_features": ["color"], "kind": kind}
    # It draws individual curves of single numbers only.
    features = ["a", "color", ("a", "b")] if kind == "average" else ["a"]
    display = PartialDependenceDisplay.from_estimator(MIXED, FRAME, features, **options)
    assert len(display.pd_results) == len(features)
    model = GradientBoostingClassifier(**SMALL, categorical_encoding="native").fit(FRAME, THREE)
    for target in (0, 2):
        display = PartialDependenceDisplay.from_estimator(
            model, FRAME, features, target=target, **options
        )
        assert display.target_idx == target


def test_individual_curves_of_ours_in_scikit_learns_display():
    result = partial_dependence(BOOSTING, X, [0], kind="both", grid_resolution=5)
    display = PartialDependenceDisplay(
        [result],
        features=[(0,)],
        feature_names=list("abcde"),
        target_idx=0,
        deciles={0: np.quantile(X[:, 0], np.linspace(0.1, 0.9, 9))},
        kind="both",
        subsample=20,
        random_state=0,
    )
    display.plot()
    assert display.lines_.shape == (1, 1, 21)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "quick"}, ParameterError, "method='quick': must be one of 'auto'"),
        ({"features": "a"}, ParameterError, "no feature named 'a'"),
        ({"features": 5}, ParameterError, "5 must be a name or an index from 0 to 4"),
        ({"features": -1}, ParameterError, "-1 must be a name or an index"),
        ({"percentiles": (0.9, 0.1)}, ParameterError, "must be two ascending"),
        ({"grid_resolution": 1}, ParameterError, "grid_resolution=1: must be at least 2"),
        ({"custom_values": {0: [[1.0]]}}, ParameterError, "must have one dimension"),
        ({"X": np.full((3, 5), np.nan)}, DataError, "no value of feature 0"),
        (
            {"method": "recursion", "kind": "both"},
            ParameterError,
            "kind='both' is of predictions of rows; use method='brute'",
        ),
        ({"method": "recursion", "sample_weight": Y}, ParameterError, "sample_weight is for means"),
        (
            {"method": "recursion", "response_method": "predict_proba"},
            ParameterError,
            "response_method='predict_proba' must be 'auto'",
        ),
    ],
)
def test_inputs_are_checked(options, error, message):
    with pytest.raises(error, match=message):
        partial_dependence(**{"estimator": BOOSTING, "X": X, "features": 0, **options})


def test_values_that_are_too_close():
    table = np.column_stack([np.r_[np.zeros(380), np.arange(20.0)], X[:, 1]])
    model = GradientBoostingRegressor(**SMALL).fit(table, Y)
    with pytest.raises(DataError, match="too close"):
        partial_dependence(model, table, 0, grid_resolution=5)


def test_models_without_trees():
    with pytest.raises(NotFittedError):
        partial_dependence(GradientBoostingRegressor(), X, 0)
    linear = GradientBoostingRegressor(**SMALL, booster="linear").fit(X, Y)
    with pytest.raises(ParameterError, match="GradientBoostingRegressor has no trees of sumwise"):
        partial_dependence(linear, X, 0, method="recursion")
    encoded = GradientBoostingRegressor(**SMALL, categorical_encoding="ordered").fit(FRAME, Y)
    with pytest.raises(ParameterError, match="statistics of categories"):
        partial_dependence(encoded, FRAME, "a", method="recursion")
    assert partial_dependence(encoded, FRAME, "a", grid_resolution=3).average.shape == (1, 3)
    leaves = GradientBoostingRegressor(**SMALL, leaves="linear").fit(X, Y)
    with pytest.raises(ParameterError, match="the leaves hold linear models"):
        partial_dependence(leaves, X, 0, method="recursion")
    assert partial_dependence(leaves, X, 0, grid_resolution=3).average.shape == (1, 3)
