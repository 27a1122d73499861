"""Bagging of our own trees: one table for all members, and the same answers as one by one."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn.tree
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.utils import get_tags

from sumwise import (
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    Pasting,
    RandomForestClassifier,
    RandomForestRegressor,
    oob_permutation_importance,
)
from sumwise.errors import DataError, DataWarning

IRIS, CANCER = load_iris(return_X_y=True), load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)
SEEDED = {"n_estimators": 12, "random_state": 3}

pytestmark = pytest.mark.filterwarnings("ignore::sumwise.errors.DataWarning")


def mean_of_members(model, X):
    """The naive twin of prediction: each member answers for its own features."""
    parts = zip(model.estimators_, model.estimators_features_, strict=True)
    if not hasattr(model, "classes_"):
        return np.mean([member.predict(X[:, own]) for member, own in parts], axis=0)
    if model.votes_ == "soft":
        return np.mean([member.predict_proba(X[:, own]) for member, own in parts], axis=0)
    places = np.arange(model.classes_.size)
    return np.mean([member.predict(X[:, own])[:, None] == places for member, own in parts], axis=0)


def predict_values(model, X):
    return model.predict_proba(X) if hasattr(model, "classes_") else model.predict(X)


# --- what it equals ---


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("data", [IRIS, CANCER, DIABETES], ids=["iris", "cancer", "diabetes"])
def test_it_is_a_forest_without_drawing_features_in_nodes(data, weighted):
    X, y = data
    weight = np.random.default_rng(0).integers(0, 4, len(y)) * 1.0 if weighted else None
    is_class = data is not DIABETES
    bagging = (BaggingClassifier if is_class else BaggingRegressor)(oob_score=True, **SEEDED)
    forest = RandomForestClassifier if is_class else RandomForestRegressor
    forest = forest(max_features=None, oob_score=True, **SEEDED)
    bagging.fit(X, y, weight)
    forest.fit(X, y, weight)
    np.testing.assert_array_equal(predict_values(bagging, X), predict_values(forest, X))
    name = "oob_decision_function_" if is_class else "oob_prediction_"
    np.testing.assert_array_equal(getattr(bagging, name), getattr(forest, name))


MODELS = {
    "soft": (BaggingClassifier(**SEEDED), IRIS),
    "two classes": (BaggingClassifier(**SEEDED), CANCER),
    "hard": (BaggingClassifier(votes="hard", tie="confidence", **SEEDED), IRIS),
    "hard, two classes": (BaggingClassifier(votes="hard", max_features=3, **SEEDED), CANCER),
    "subspace": (BaggingClassifier(bootstrap=False, max_features=0.5, **SEEDED), IRIS),
    "patches": (BaggingRegressor(sampling=Pasting(0.5), max_features=0.5, **SEEDED), DIABETES),
    "poisson": (BaggingRegressor(sampling="poisson", **SEEDED), DIABETES),
    "bayesian": (BaggingRegressor(sampling="bayesian", **SEEDED), DIABETES),
    "random cuts": (BaggingRegressor(DecisionTreeRegressor(splitter="random"), **SEEDED), DIABETES),
    "balanced": (BaggingClassifier(DecisionTreeClassifier(class_weight="balanced")), CANCER),
}
EACH = pytest.mark.parametrize(("model", "data"), MODELS.values(), ids=MODELS.keys())


@EACH
def test_predictions_are_the_means_of_the_members(model, data):
    model = clone(model).fit(*data)
    assert hasattr(model, "_trees")
    np.testing.assert_allclose(predict_values(model, data[0]), mean_of_members(model, data[0]))


@EACH
def test_the_number_of_jobs_changes_nothing(model, data):
    X, y = np.tile(data[0], (4, 1)), np.tile(data[1], 4)  # enough for a second thread
    one, two = (clone(model).set_params(n_jobs=n, random_state=0).fit(X, y) for n in (1, 2))
    np.testing.assert_array_equal(predict_values(one, X), predict_values(two, X))
    two.set_params(n_jobs=1)
    np.testing.assert_array_equal(predict_values(one, X), predict_values(two, X))


@pytest.mark.parametrize("votes", ["soft", "hard"])
@pytest.mark.parametrize("data", [IRIS, CANCER], ids=["iris", "cancer"])
def test_rows_out_of_bag_are_predicted_by_members_that_did_not_see_them(votes, data):
    X, y = data
    model = BaggingClassifier(votes=votes, max_features=2, oob_score=True, **SEEDED).fit(X, y)
    is_out = np.ones((12, len(y)), dtype=bool)
    for number, rows in enumerate(model.estimators_samples_):
        is_out[number, rows] = False
    answers = []
    for member, own in zip(model.estimators_, model.estimators_features_, strict=True):
        shares = member.predict_proba(X[:, own])
        answers.append(shares if votes == "soft" else np.eye(shares.shape[1])[shares.argmax(1)])
    with np.errstate(invalid="ignore"):
        expected = np.einsum("tnk,tn->nk", answers, is_out) / is_out.sum(axis=0)[:, None]
    np.testing.assert_allclose(model.oob_decision_function_, expected)
    is_known = is_out.any(axis=0)
    right = model.classes_[expected[is_known].argmax(axis=1)] == y[is_known]
    assert model.oob_score_ == pytest.approx(right.mean(), abs=0.02)  # ties are drawn


def test_balanced_weights_are_of_each_bag():
    X, y = CANCER
    model = BaggingClassifier(DecisionTreeClassifier(class_weight="balanced"), **SEEDED).fit(X, y)
    forest = RandomForestClassifier(class_weight="balanced_subsample", max_features=None, **SEEDED)
    np.testing.assert_array_equal(model.predict_proba(X), forest.fit(X, y).predict_proba(X))


# --- members ---


def test_members_are_trees_with_seeds_of_their_own():
    model = BaggingClassifier(DecisionTreeClassifier(max_depth=3), **SEEDED).fit(*IRIS)
    members = model.estimators_
    assert {type(member) for member in members} == {DecisionTreeClassifier}
    assert len({member.random_state for member in members}) == len(members) == 12
    assert max(member.get_depth() for member in members) == 3
    shown = model.predict_members(IRIS[0])
    np.testing.assert_allclose(shown.mean(axis=0), model.predict_proba(IRIS[0]))


def test_a_bag_without_a_class_gives_it_no_probability():
    X, y = np.arange(30.0)[:, None], np.repeat(["a", "b", "c"], [14, 15, 1])
    model = BaggingClassifier(**SEEDED).fit(X, y)
    missed = [29 not in rows for rows in model.estimators_samples_]
    assert any(missed)
    for member, lacks in zip(model.estimators_, missed, strict=True):
        assert (member.predict_proba(X)[:, 2].max() == 0) == lacks


def test_other_members_can_be_put_in_their_place():
    model = BaggingRegressor(**SEEDED).fit(*DIABETES)
    few = BaggingRegressor(n_estimators=3, random_state=3).fit(*DIABETES)
    model.estimators_ = model.estimators_[:3]
    np.testing.assert_allclose(model.predict(DIABETES[0]), few.predict(DIABETES[0]))
    model.estimators_.clear()
    assert len(few.estimators_) == 3


def test_pickles_hold_the_trees_once():
    model = BaggingRegressor(n_estimators=30, random_state=0).fit(*DIABETES)
    size = len(pickle.dumps(model))
    model.estimators_, model.predict(DIABETES[0])
    assert len(pickle.dumps(model)) < 1.01 * size
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(DIABETES[0]), model.predict(DIABETES[0]))
    assert len(again.estimators_) == 30


def test_tables_of_numbers_and_strings():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "color": rng.choice(["red", "green", "blue"], 300),
            "size": rng.normal(size=300),
            "shape": pd.Categorical(rng.choice(["round", "square"], 300)),
            "noise": rng.normal(size=300),
        }
    )
    y = (frame["color"] == "red") * 2.0 + (frame["shape"] == "round") + frame["size"]
    model = BaggingRegressor(max_features=3, oob_score=True, n_estimators=40, random_state=0)
    model.fit(frame, y)
    assert model.oob_score_ > 0.6
    members = zip(model.estimators_, model.estimators_features_, strict=True)
    answers = [m.predict(frame.iloc[:, own]) for m, own in members]
    np.testing.assert_allclose(model.predict(frame), np.mean(answers, axis=0))
    for member, own in zip(model.estimators_, model.estimators_features_, strict=True):
        assert member.feature_names_in_.tolist() == frame.columns[own].tolist()
    found = oob_permutation_importance(model, frame, y, random_state=0).importances_mean
    assert found.argmin() == 3
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["size", "color", "shape", "noise"]])


# --- more members ---


def test_more_members_of_other_kinds():
    X, y = DIABETES
    model = BaggingRegressor(n_estimators=3, random_state=0, warm_start=True).fit(X, y)
    old = model.predict(X)
    other = sklearn.tree.DecisionTreeRegressor(max_depth=2)
    model.set_params(estimator=other, n_estimators=4).fit(X, y)
    assert not hasattr(model, "_trees")
    expected = (3 * old + model.estimators_[3].predict(X)) / 4
    np.testing.assert_allclose(model.predict(X), expected)
    model.set_params(estimator=None, n_estimators=5).fit(X, y)  # the others are no trees of a table
    assert [type(m).__module__.split(".")[0] for m in model.estimators_] == [
        *["sumwise"] * 3,
        "sklearn",
        "sumwise",
    ]


def test_more_members_go_on_with_the_bins_and_categories_of_the_first():
    frame = pd.DataFrame({"word": list("abcd") * 25, "number": np.arange(100) % 7})
    y = np.arange(100) % 4 + frame["number"]
    model = BaggingRegressor(n_estimators=3, random_state=0, warm_start=True).fit(frame, y)
    before = model.predict_members(frame)
    model.set_params(n_estimators=6).fit(frame[::-1], y[::-1])
    np.testing.assert_array_equal(model.predict_members(frame)[:3], before)


# --- when members are fitted one by one ---


class OwnTree(DecisionTreeClassifier):
    pass


@pytest.mark.parametrize(
    "params",
    [
        {"perturb": {"max_depth": [1, 2]}},
        {"bootstrap_features": True},
        {"estimator": OwnTree()},
        {"estimator": sklearn.tree.DecisionTreeClassifier()},
        {"estimator": DecisionTreeClassifier(class_weight={0: 1, 1: 2})},
        {"estimator": DecisionTreeClassifier(categorical_features=[0]), "max_features": 1.0},
    ],
)
def test_other_members_are_fitted_one_by_one(params):
    model = BaggingClassifier(n_estimators=3, random_state=0).set_params(**params)
    model.fit(np.round(IRIS[0]), IRIS[1])
    assert hasattr(model, "_trees") == ("max_features" in params)  # categories of all members
    model.predict(np.round(IRIS[0]))


def test_features_are_not_known_by_place_where_they_are_drawn():
    tree = DecisionTreeRegressor(monotonic_cst=[1, *[0] * 9])
    model = BaggingRegressor(tree, max_features=0.5)
    with pytest.raises(ValueError, match="monotonic_cst"):
        model.fit(*DIABETES)
    assert hasattr(model.set_params(max_features=1.0).fit(*DIABETES), "_trees")


def test_tags_of_the_default_are_those_of_a_tree(monkeypatch):
    asked = []
    get_estimator = BaggingClassifier._get_estimator
    monkeypatch.setattr(
        BaggingClassifier, "_get_estimator", lambda self: asked.append(1) or get_estimator(self)
    )
    tags = get_tags(BaggingClassifier())
    assert tags.input_tags.allow_nan
    assert tags.input_tags.categorical
    assert tags.input_tags.sparse
    assert len(asked) == 1  # and not again and again


# --- what is refused ---


def test_bad_input_is_refused_by_the_trees():
    for learner in (DecisionTreeClassifier(criterion="best"), DecisionTreeClassifier(max_depth=0)):
        with pytest.raises(ValueError, match=r"criterion|max_depth"):
            BaggingClassifier(learner).fit(*IRIS)
    with pytest.raises(DataError, match="weight of zero"):
        BaggingRegressor(sampling=Pasting(0.02), n_estimators=50, random_state=0).fit(
            DIABETES[0], DIABETES[1], np.r_[1.0, np.zeros(441)]
        )
    model = BaggingClassifier().fit(*IRIS)
    for wrong in (IRIS[0][:, :2], IRIS[0][0], np.full((3, 4), "a", dtype=object)):
        with pytest.raises(ValueError, match=r"."):
            model.predict(wrong)


def test_too_few_members_for_an_out_of_bag_score_are_told():
    with pytest.warns(DataWarning, match="in the bag of every member"):
        model = BaggingClassifier(n_estimators=2, oob_score=True, random_state=0).fit(*IRIS)
    assert np.isnan(model.oob_decision_function_).any()


def test_it_is_silent_unless_asked_to_tell(capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BaggingRegressor(**SEEDED).fit(*DIABETES)
    assert capfd.readouterr() == ("", "")
    BaggingRegressor(verbose=1, **SEEDED).fit(*DIABETES)
    assert "12" in capfd.readouterr().err
