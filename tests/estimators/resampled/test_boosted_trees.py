"""AdaBoost of decision trees on one table: the same as one by one, and quicker."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

from sumwise import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    member_predictions,
)
from sumwise.errors import DataError
from sumwise.estimators.input import jobs
from sumwise.estimators.resampled.boosted_trees import BoostedTrees, can_share_table, choose_classes
from tests.estimators.resampled.learners import OneByOne, OneByOneRegressor

IRIS, CANCER = load_iris(return_X_y=True), load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
# With no more values than bins, the bins do not depend on weights.
FEW_VALUES = CANCER[0].argsort(axis=0).argsort(axis=0) // 4, CANCER[1]


def make_frame(n_rows=400, seed=0):
    """Rows whose class is told by a set of categories and a number."""
    draws = np.random.RandomState(seed)
    color = draws.choice(["red", "green", "blue", "gray", "black"], n_rows)
    size = draws.normal(size=n_rows)
    y = 2.0 * np.isin(color, ["red", "gray"]) + size > 1.0
    size[::7] = np.nan
    return pd.DataFrame({"color": color, "size": size}), y.astype(int)


# --- the same as one by one ---


@pytest.mark.parametrize("max_depth", [1, 3, None])
@pytest.mark.parametrize("data", [IRIS, FEW_VALUES], ids=["iris", "cancer"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_weights_give_the_trees_of_one_by_one(data, max_depth, class_weight):
    X, y = data
    options = {"max_depth": max_depth, "max_features": 3, "class_weight": class_weight}
    weight = np.random.RandomState(0).uniform(0.5, 2.0, len(y))
    shared, single = (
        AdaBoostClassifier(base(**options), n_estimators=8, random_state=5).fit(X, y, weight)
        for base in (DecisionTreeClassifier, OneByOne)
    )
    assert isinstance(shared._trees, BoostedTrees)
    assert "_trees" not in vars(single)
    np.testing.assert_allclose(shared.estimator_errors_, single.estimator_errors_, rtol=1e-9)
    np.testing.assert_allclose(shared.decision_function(X), single.decision_function(X), rtol=1e-9)
    np.testing.assert_array_equal(shared.predict(X), single.predict(X))
    pairs = zip(shared.estimators_, single.estimators_, strict=True)
    for own, other in pairs:
        assert own.random_state == other.random_state
        np.testing.assert_array_equal(own.predict(X), other.predict(X))


def test_drawn_rows_give_about_the_trees_of_one_by_one():
    """Thresholds lie between values of all rows, not of those drawn."""
    X, y = DIABETES
    shared, single = (
        AdaBoostRegressor(base(max_depth=4), n_estimators=20, random_state=5).fit(X, y)
        for base in (DecisionTreeRegressor, OneByOneRegressor)
    )
    assert shared.method_ == "resample"
    assert shared.score(X, y) == pytest.approx(single.score(X, y), abs=0.03)
    first = zip(shared.estimators_[:1], single.estimators_[:1], strict=True)
    for own, other in first:  # grown on the same rows
        assert own.tree_.n_node_samples[0] < other.tree_.n_node_samples[0] == len(y)
        np.testing.assert_array_equal(own.tree_.feature[:3], other.tree_.feature[:3])


@pytest.mark.parametrize("name", ["min_samples_split", "min_samples_leaf"])
def test_rows_drawn_twice_count_twice_for_the_fewest_rows_of_a_node(name):
    tree = DecisionTreeRegressor(**{name: 10})
    assert can_share_table(tree, draws_rows=False)
    assert not can_share_table(tree, draws_rows=True)
    model = AdaBoostRegressor(tree, n_estimators=3, random_state=0).fit(*DIABETES)
    assert "_trees" not in vars(model)


@pytest.mark.parametrize(
    ("model", "data"),
    [
        (AdaBoostClassifier(DecisionTreeClassifier(max_depth=3)), CANCER),
        (AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), method="resample"), IRIS),
        (AdaBoostRegressor(DecisionTreeRegressor(max_depth=4)), DIABETES),
    ],
    ids=["two classes", "three classes, drawn", "numbers"],
)
def test_predictions_are_those_of_the_members(model, data):
    X, y = data
    model = clone(model).set_params(n_estimators=7, random_state=1).fit(X, y)
    answers = np.array([member.predict(X) for member in model.estimators_])
    np.testing.assert_array_equal(member_predictions(model, X).values, answers.T)
    if hasattr(model, "classes_"):
        votes = answers[:, :, np.newaxis] == model.classes_
        shares = np.einsum("t,tnk->nk", model.estimator_weights_, votes)
        np.testing.assert_array_equal(model.predict(X), model.classes_[shares.argmax(axis=1)])
        *_, last = model.staged_predict_proba(X)
        np.testing.assert_allclose(last, model.predict_proba(X), rtol=1e-12)
    stages = list(model.staged_predict(X))
    assert len(stages) == len(model) == model.estimator_weights_.size
    np.testing.assert_array_equal(stages[0], answers[0])
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert model.feature_importances_.sum() == pytest.approx(1.0)


def test_models_do_not_depend_on_jobs(monkeypatch):
    monkeypatch.setattr(jobs, "count_cpus", lambda: 4)
    monkeypatch.setattr(jobs, "STEPS_PER_THREAD", 1)
    monkeypatch.setattr(jobs, "count_growers", lambda n_values: 99)
    X, y = CANCER
    base = DecisionTreeClassifier(max_depth=3, max_features=5)
    one, four = (
        AdaBoostClassifier(base, n_estimators=5, n_jobs=n_jobs, random_state=0).fit(X, y)
        for n_jobs in (1, 4)
    )
    np.testing.assert_array_equal(one.decision_function(X), four.decision_function(X))


def test_first_of_equal_classes():
    values = np.array([[0.5], [0.6], [0.4]])
    np.testing.assert_array_equal(choose_classes(values), [0, 1, 0])
    np.testing.assert_array_equal(choose_classes(np.array([[0.2, 0.4, 0.4]])), [1])


def test_several_targets_are_refused():
    with pytest.raises(ValueError, match=r"1d array|1D|shape"):
        AdaBoostRegressor(DecisionTreeRegressor()).fit(np.eye(3), np.eye(3))


# --- categories and missing values ---


def test_default_learners_split_categories():
    X, y = make_frame()
    model = AdaBoostClassifier(n_estimators=30).fit(X, y)
    assert repr(model.estimator_) == "DecisionTreeClassifier(max_depth=1)"
    assert model.score(X, y) > 0.9
    same = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=30).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(X), same.decision_function(X))
    new, y_new = make_frame(seed=1)
    assert model.score(new, y_new) > 0.9
    assert model.__sklearn_tags__().input_tags.categorical


def test_regressors_split_categories():
    X, y = make_frame()
    model = AdaBoostRegressor(n_estimators=30, random_state=0).fit(X, 10.0 * y)
    assert repr(model.estimator_) == "DecisionTreeRegressor(max_depth=3)"
    assert model.score(X, 10.0 * y) > 0.7


def test_kinds_of_frames_with_categories_give_the_same_model():
    X, y = make_frame()
    model = AdaBoostClassifier(n_estimators=5)
    expected = model.fit(X, y).decision_function(X)
    for frame in (X.astype({"color": "category"}), pl.from_pandas(X), X.to_numpy()):
        own = clone(model).fit(frame, y)
        np.testing.assert_array_equal(own.decision_function(frame), expected)


def test_unknown_categories_are_missing_or_an_error():
    X, y = make_frame()
    new = X.iloc[:5].assign(color="violet")
    missing = X.iloc[:5].assign(color=None)
    model = AdaBoostClassifier(n_estimators=5).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(new), model.decision_function(missing))
    strict = DecisionTreeClassifier(max_depth=1, unknown_category="error")
    model = AdaBoostClassifier(strict, n_estimators=5).fit(X, y)
    with pytest.raises(DataError, match="violet"):
        model.predict(new)


def test_missing_values_go_where_the_gain_is_higher():
    X = np.array([0.0, 1.0, 2.0, 3.0, np.nan, np.nan] * 5)[:, np.newaxis]
    for label in (0, 1):
        y = np.array([0, 0, 1, 1, label, label] * 5)
        for base in (None, DecisionTreeClassifier(max_depth=1)):
            model = AdaBoostClassifier(base, n_estimators=1).fit(X, y)
            assert model.score(X, y) == 1.0


def test_names_of_an_earlier_fit_are_forgotten():
    X, y = make_frame()
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=3).fit(X, y)
    assert list(model.feature_names_in_) == ["color", "size"]
    model.fit(*IRIS)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 4
