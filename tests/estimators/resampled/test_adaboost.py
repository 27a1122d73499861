"""What AdaBoost of classes and of numbers share."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from sumwise import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    diversity_matrix,
    member_predictions,
)
from sumwise import DecisionTreeClassifier as OwnTree
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.input import jobs
from sumwise.estimators.resampled.shallow_trees import ShallowTreeClassifier, ShallowTreeRegressor

CANCER = load_breast_cancer(return_X_y=True)

IRIS = load_iris(return_X_y=True)

DIABETES = load_diabetes(return_X_y=True)


# --- how it ends ---


def test_all_rounds():
    model = AdaBoostClassifier(n_estimators=3).fit(*CANCER)
    assert (model.stop_reason_, model.method_, model.n_restarts_) == ("n_estimators", "reweight", 0)
    assert len(model.estimators_) == model.estimator_errors_.size == model.exponential_loss_.size


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier()])
def test_a_perfect_learner_has_a_finite_weight_and_ends_training(estimator):
    X = np.arange(10.0)[:, np.newaxis]
    model = AdaBoostClassifier(estimator).fit(X, X[:, 0] > 3)
    assert (model.stop_reason_, len(model.estimators_)) == ("perfect", 1)
    assert np.isfinite(model.estimator_weights_).all()
    assert model.estimator_errors_ == [0.0]
    assert model.score(X, X[:, 0] > 3) == 1.0
    assert np.isfinite(model.predict_proba(X)).all()


def test_a_learner_that_is_too_weak_ends_training():
    # Exclusive or: no stump is better than chance once the first has been used up.
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1]], dtype=float)
    y = np.array([0, 1, 1, 0, 0])
    model = AdaBoostClassifier(n_estimators=50).fit(X, y)
    assert model.stop_reason_ == "too_weak"
    assert 1 <= len(model.estimators_) < 50
    assert (model.estimator_errors_ < 0.5).all()


def test_a_failed_fit_leaves_no_old_model():
    model = AdaBoostClassifier(n_estimators=2).fit(*CANCER)
    with pytest.raises(DataError):
        model.fit(np.ones((4, 1)), [0, 1, 0, 1])
    with pytest.raises(Exception, match="not fitted"):
        model.predict(np.ones((4, 1)))


# --- how learners are told the weights ---


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=1)])
def test_drawing_rows_is_repeatable(estimator):
    X, y = CANCER
    model = AdaBoostClassifier(estimator, n_estimators=10, method="resample", random_state=3)
    first = model.fit(X, y).decision_function(X)
    np.testing.assert_array_equal(first, model.fit(X, y).decision_function(X))
    other = model.set_params(random_state=4).fit(X, y)
    assert (other.decision_function(X) != first).any()
    assert other.score(X, y) > 0.95
    # Errors are those of all rows, not of the rows drawn.
    wrong = other.estimators_[0].predict(X) != y
    assert other.estimator_errors_[0] == pytest.approx(wrong.mean())


# --- base learners ---


@pytest.mark.parametrize(
    "params",
    [
        {"n_estimators": 0},
        {"learning_rate": 0.0},
        {"method": "other"},
        {"max_restarts": -1},
        {"loss": "cubic"},
        {"n_jobs": 0},
    ],
)
def test_wrong_parameters_are_refused(params):
    with pytest.raises(ParameterError, match=next(iter(params))):
        AdaBoostRegressor(**params).fit(*DIABETES)


# --- our own trees ---


@pytest.mark.parametrize("depth", [2, 3])
def test_deeper_trees(depth):
    X, y = CANCER
    model = AdaBoostClassifier(ShallowTreeClassifier(max_depth=depth), n_estimators=10).fit(X, y)
    assert model.score(X, y) > 0.98
    assert max(member.tree_.n_leaves for member in model.estimators_) > 2
    np.testing.assert_allclose(model.feature_importances_.sum(), 1.0)


def test_members_predict_what_the_model_adds_up():
    for X, y in (CANCER, IRIS):
        labels = np.array(["x", "y", "z"])[y]
        model = AdaBoostClassifier(n_estimators=6).fit(X, labels)
        votes = np.zeros((y.size, model.n_classes_))
        for member, weight in zip(model.estimators_, model.estimator_weights_, strict=True):
            votes[np.arange(y.size), np.searchsorted(model.classes_, member.predict(X))] += weight
            np.testing.assert_allclose(member.predict_proba(X).sum(axis=1), 1.0)
        np.testing.assert_array_equal(model.predict(X), model.classes_[votes.argmax(axis=1)])
        assert clone(model.estimators_[0]).get_params() == ShallowTreeClassifier().get_params()


def test_missing_values_have_a_direction():
    X, y = CANCER
    X = X.copy()
    X[::3, 20:24] = np.nan
    model = AdaBoostClassifier(n_estimators=20).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.__sklearn_tags__().input_tags.allow_nan


def test_frames_give_the_same_model():
    X, y = IRIS
    frame = pd.DataFrame(X, columns=list("abcd"))
    expected = AdaBoostClassifier(n_estimators=5).fit(X, y).decision_function(X)
    for data in (frame, pl.from_pandas(frame)):
        model = AdaBoostClassifier(n_estimators=5).fit(data, y)
        np.testing.assert_array_equal(model.decision_function(data), expected)
        with pytest.raises(ValueError, match="feature names"):
            model.predict(data[["b", "a", "c", "d"]])


@pytest.mark.parametrize("method", ["reweight", "resample"])
@pytest.mark.parametrize("kind", ["two classes", "three classes", "numbers"])
def test_threads_change_nothing(kind, method, monkeypatch):
    monkeypatch.setattr(jobs, "count_cpus", lambda: 4)
    monkeypatch.setattr(jobs, "STEPS_PER_THREAD", 1)
    monkeypatch.setattr(jobs, "count_growers", lambda n_values: 99)
    monkeypatch.setattr("sumwise.tree.shallow._ROWS_FOR_ALL", 1)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 7))
    X[rng.random(X.shape) < 0.05] = np.nan
    y = np.nan_to_num(X[:, 0]) + rng.normal(size=9000)
    weight = rng.random(9000)
    results = []
    for n_jobs in (1, 2, 4):
        settings = {"method": method, "n_estimators": 6, "random_state": 0, "n_jobs": n_jobs}
        if kind == "numbers":
            model = AdaBoostRegressor(**settings, loss="exponential").fit(X, y, weight)
            outputs = [model.predict(X)]
        else:
            labels = np.digitize(y, (0.0,) if kind == "two classes" else (-0.5, 0.5))
            model = AdaBoostClassifier(**settings).fit(X, labels, weight)
            outputs = [model.decision_function(X), model.exponential_loss_]
        outputs += [model.estimator_weights_, model.estimator_errors_]
        fields = [field for member in model for field in vars(member.tree_).values()]
        outputs += [field for field in fields if field is not None]
        results.append(b"".join(output.tobytes() for output in outputs))
    assert results[0] == results[1] == results[2]


def test_zero_weights_are_as_good_as_no_rows():
    X, y = CANCER
    weight = np.ones(y.size)
    weight[::4] = 0.0
    keep = weight > 0
    # Folds of one class alone would be an error; this has all classes.
    weighted = AdaBoostClassifier(n_estimators=10).fit(X, y, sample_weight=weight)
    removed = AdaBoostClassifier(n_estimators=10).fit(X[keep], y[keep])
    np.testing.assert_allclose(weighted.decision_function(X), removed.decision_function(X))
    with pytest.raises(DataError, match="all sample weights are zero"):
        AdaBoostClassifier().fit(X, y, sample_weight=np.zeros(y.size))


# --- as one of scikit-learn's ---


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=1)])
def test_pickles(estimator):
    X, y = IRIS
    model = AdaBoostClassifier(estimator, n_estimators=4, random_state=0).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    again = pickle.loads(pickle.dumps(AdaBoostRegressor(n_estimators=3, random_state=0).fit(X, y)))
    assert again.predict(X).shape == (150,)


def test_is_not_saved_and_says_why(tmp_path):
    model = AdaBoostClassifier(n_estimators=2).fit(*IRIS)
    with pytest.raises(TypeError, match="use pickle"):
        model.save(tmp_path / "model")


def test_parameters_reach_the_base_learner():
    model = AdaBoostClassifier(ShallowTreeClassifier(), n_estimators=3)
    search = GridSearchCV(model, {"estimator__max_depth": [1, 2]}, cv=2).fit(*IRIS)
    assert search.best_params_["estimator__max_depth"] in (1, 2)
    names = list(AdaBoostRegressor().get_params())
    assert {"estimator", "n_estimators", "learning_rate", "loss", "random_state"} <= set(names)


def test_importances():
    X, y = CANCER
    model = AdaBoostClassifier(n_estimators=10).fit(X, y)
    each = [member.feature_importances_ for member in model.estimators_]
    expected = np.average(each, axis=0, weights=model.estimator_weights_)
    np.testing.assert_allclose(model.feature_importances_, expected)
    model = AdaBoostClassifier(GaussianNB(), n_estimators=2).fit(X, y)
    assert not hasattr(model, "feature_importances_")


def test_diversity_of_members():
    X, y = IRIS
    labels = np.array(["x", "y", "z"])[y]
    for estimator in (None, DecisionTreeClassifier(max_depth=1)):
        model = AdaBoostClassifier(estimator, n_estimators=4, random_state=0).fit(X, labels)
        known = member_predictions(model, X)
        assert known.values.shape == (150, 4)
        np.testing.assert_array_equal(known.values[:, 0], model.estimators_[0].predict(X))
        assert diversity_matrix(model, X, labels).values.shape == (4, 4)
    model = AdaBoostRegressor(ShallowTreeRegressor(2), n_estimators=3, random_state=0).fit(X, y)
    np.testing.assert_array_equal(
        member_predictions(model, X).values[:, 1], model.estimators_[1].predict(X)
    )


# --- progress, failures, and what members get ---


@pytest.mark.parametrize("base", [None, OwnTree(max_depth=2), GaussianNB()], ids=str)
def test_progress_is_shown_on_standard_error(base, capsys):
    model = AdaBoostClassifier(base, n_estimators=3).fit(*IRIS)
    assert capsys.readouterr() == ("", "")
    model.set_params(verbose=1).fit(*IRIS)
    shown = capsys.readouterr()
    assert shown.out == ""
    assert f"round 3/3  error {model.estimator_errors_[2]:.6g}" in shown.err
