"""AdaBoost for classification; tests/equivalence compares it with scikit-learn's."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import learning_curve
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from sumwise import (
    AdaBoostClassifier,
)
from sumwise import DecisionTreeClassifier as OwnTree
from sumwise.errors import DataError, ParameterError
from tests.estimators.resampled.learners import Stubborn

CANCER = load_breast_cancer(return_X_y=True)

IRIS = load_iris(return_X_y=True)


# --- the method ---


def test_three_rounds_by_hand():
    """Example 8.1 of Li Hang's "Statistical Learning Methods": three stumps make no error."""
    X = np.arange(10.0)[:, np.newaxis]
    y = np.array([1, 1, 1, -1, -1, -1, 1, 1, 1, -1])
    model = AdaBoostClassifier(n_estimators=3).fit(X, y)
    thresholds = [member.tree_.threshold[0] for member in model.estimators_]
    assert thresholds == [2.5, 8.5, 5.5]
    np.testing.assert_allclose(model.estimator_errors_, [3 / 10, 3 / 14, 2 / 11], rtol=1e-13)
    half_log_odds = 0.5 * np.log([7 / 3, 11 / 3, 9 / 2])
    np.testing.assert_allclose(model.estimator_weights_, half_log_odds, rtol=1e-13)
    np.testing.assert_array_equal(model.predict(X), y)
    first, second, third = half_log_odds
    assert model.decision_function(X[:1]) == pytest.approx(first + second - third)


@pytest.mark.parametrize("rate", [0.5, 1.0])
@pytest.mark.parametrize("estimator", [None, GaussianNB(), DecisionTreeClassifier(max_depth=2)])
def test_mean_exponential_loss_is_the_product_of_the_normalizers(estimator, rate):
    X, y = CANCER
    weight = np.random.default_rng(0).random(y.size)
    model = AdaBoostClassifier(estimator, n_estimators=12, learning_rate=rate, random_state=0)
    for given in (None, weight):
        model.fit(X, y, sample_weight=given)
        for score, loss in zip(
            model.staged_decision_function(X), model.exponential_loss_, strict=True
        ):
            losses = np.exp(-(2.0 * y - 1.0) * score)
            assert np.average(losses, weights=given) == pytest.approx(loss, rel=1e-10)
    errors = model.estimator_errors_
    if rate == 1.0 and model.stop_reason_ != "perfect":
        normalizers = 2.0 * np.sqrt(errors * (1.0 - errors))
        np.testing.assert_allclose(model.exponential_loss_, np.cumprod(normalizers), rtol=1e-10)


def test_exponential_loss_of_three_classes():
    X, y = IRIS
    model = AdaBoostClassifier(n_estimators=5).fit(X, y)
    for scores, loss in zip(
        model.staged_decision_function(X), model.exponential_loss_, strict=True
    ):
        assert scores.sum(axis=1) == pytest.approx(0.0, abs=1e-13)
        # The score of a class is (K V - sum(V)) / (K - 1) of the votes V; K = 3.
        assert np.exp(-4.0 / 3.0 * scores[np.arange(150), y]).mean() == pytest.approx(loss)


def test_probabilities_are_those_of_the_log_odds():
    X, y = CANCER
    model = AdaBoostClassifier(n_estimators=9).fit(X, y)
    expected = 1.0 / (1.0 + np.exp(-2.0 * model.decision_function(X)))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expected, rtol=1e-12)
    np.testing.assert_array_equal(model.predict_log_proba(X), np.log(model.predict_proba(X)))
    X, y = IRIS
    model.fit(X, y)
    odds = np.exp(4.0 / 3.0 * model.decision_function(X))
    expected = odds / odds.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-12)
    np.testing.assert_array_equal(model.predict_proba(X).argmax(axis=1), model.predict(X))


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=1)])
@pytest.mark.parametrize("data", [CANCER, IRIS])
def test_stages_end_in_the_model(estimator, data):
    X, y = data
    model = AdaBoostClassifier(estimator, n_estimators=7, random_state=0).fit(X, y)
    for method in ("predict", "predict_proba", "decision_function"):
        *_, last = getattr(model, f"staged_{method}")(X)
        np.testing.assert_array_equal(last, getattr(model, method)(X))
    scores = list(model.staged_score(X, y))
    assert len(scores) == len(model.estimators_)
    assert scores[-1] == model.score(X, y)


# --- how it ends ---


def test_nothing_to_boost_is_an_error():
    X, y = np.ones((6, 1)), np.array([0, 1] * 3)
    with pytest.raises(DataError, match=r"first ShallowTreeClassifier is no better than chance"):
        AdaBoostClassifier().fit(X, y)
    with pytest.raises(DataError, match=r"first Stubborn .*\(error 0\.5\).*raise max_restarts"):
        AdaBoostClassifier(Stubborn(answer=1), method="resample").fit(X, y)


@pytest.mark.parametrize("method", ["reweight", "resample"])
@pytest.mark.parametrize(
    "base", [None, OwnTree(max_depth=2), DecisionTreeClassifier(), GaussianNB()], ids=str
)
def test_one_class_only(base, method):
    X, y = np.eye(3), ["a", "a", "a"]
    model = AdaBoostClassifier(base, method=method).fit(X, y)
    assert (len(model), model.n_classes_, model.stop_reason_) == (1, 1, "perfect")
    np.testing.assert_array_equal(model.predict(X), y)
    np.testing.assert_array_equal(model.predict_proba(X), np.ones((3, 1)))
    np.testing.assert_array_equal(model.predict_log_proba(X), np.zeros((3, 1)))
    np.testing.assert_array_equal(model.decision_function(X), np.zeros((3, 1)))
    np.testing.assert_array_equal(next(model.staged_predict(X)), y)
    assert np.isfinite(model.estimator_weights_).all()


def test_learning_curves_begin_with_one_class():
    X, y = CANCER
    order = np.argsort(y, kind="stable")
    _, train, test = learning_curve(
        AdaBoostClassifier(n_estimators=2), X[order], y[order], train_sizes=[20, 370], cv=3
    )
    assert np.isfinite(train).all()
    assert np.isfinite(test).all()


# --- how learners are told the weights ---


def test_learners_without_weights_draw_rows_and_say_so():
    X, y = IRIS
    model = AdaBoostClassifier(KNeighborsClassifier(30), n_estimators=5, random_state=0)
    with pytest.warns(UserWarning, match="KNeighborsClassifier takes no sample_weight"):
        model.fit(X, y)
    assert model.method_ == "resample"
    assert model.score(X, y) > 0.9
    again = clone(model).set_params(method="resample")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        again.fit(X, y)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    with pytest.raises(ParameterError, match="method='reweight' needs a base learner"):
        model.set_params(method="reweight").fit(X, y)


def test_samples_may_lack_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    y = np.array(["a"] * 14 + ["b"] * 14 + ["rare"] * 2)
    X[y == "b"] += 3.0
    X[y == "rare"] -= 4.0
    n_known = set()
    for seed in range(12):
        model = AdaBoostClassifier(
            GaussianNB(), method="resample", n_estimators=2, random_state=seed
        ).fit(X, y)
        assert model.predict_proba(X).shape == (30, 3)
        n_known |= {member.classes_.size for member in model.estimators_}
    assert n_known == {2, 3}
    # A sample of one class alone is drawn again: some learners would refuse it.
    y = np.array(["a"] * 28 + ["b"] * 2)
    X[y == "b"] += 9.0
    linear = AdaBoostClassifier(
        LogisticRegression(), method="resample", n_estimators=5, random_state=0
    )
    assert linear.fit(X, y).score(X, y) > 0.9


# --- our own trees ---


def test_a_class_without_weight_is_never_predicted():
    X, y = IRIS
    model = AdaBoostClassifier(n_estimators=5).fit(X, y, sample_weight=(y < 2).astype(float))
    assert set(model.predict(X)) == {0, 1}
    np.testing.assert_array_equal(model.classes_, [0, 1, 2])
