"""AdaBoost is scikit-learn's where the procedure is the same."""

import numpy as np
import pytest
from sklearn import ensemble as theirs
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sumwise import AdaBoostClassifier, AdaBoostRegressor


def make_table(n_classes, seed=0, n_rows=240):
    """No more rows than there are bins: splits are exact."""
    X, y = make_classification(
        n_rows, 6, n_informative=4, n_classes=n_classes, flip_y=0.15, random_state=seed
    )
    return X.astype(np.float32).astype(np.float64), y


@pytest.mark.parametrize("rate", [0.5, 1.0])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "base", [DecisionTreeClassifier(max_depth=1), DecisionTreeClassifier(max_depth=3)]
)
def test_any_base_learner(base, n_classes, rate):
    X, y = make_table(n_classes)
    weight = np.random.default_rng(0).random(y.size)
    settings = {"n_estimators": 25, "learning_rate": rate, "random_state": 1}
    ours = AdaBoostClassifier(base, **settings).fit(X, y, sample_weight=weight)
    rival = theirs.AdaBoostClassifier(base, **settings).fit(X, y, sample_weight=weight)
    n = len(ours.estimators_)
    assert n == len(rival.estimators_)
    last = n - (ours.stop_reason_ == "perfect")  # which has a weight of 1 there
    np.testing.assert_allclose(
        2.0 * ours.estimator_weights_[:last], rival.estimator_weights_[:last], rtol=1e-9
    )
    np.testing.assert_allclose(ours.estimator_errors_, rival.estimator_errors_[:n], atol=1e-12)
    for predicted, expected in zip(
        list(ours.staged_predict(X))[:last], rival.staged_predict(X), strict=False
    ):
        np.testing.assert_array_equal(predicted, expected)


def test_decision_functions_differ_by_the_sum_of_weights():
    for n_classes in (2, 3):
        X, y = make_table(n_classes)
        base = DecisionTreeClassifier(max_depth=1)
        ours = AdaBoostClassifier(base, n_estimators=9, random_state=0).fit(X, y)
        rival = theirs.AdaBoostClassifier(base, n_estimators=9, random_state=0).fit(X, y)
        scaled = ours.decision_function(X) / ours.estimator_weights_.sum()
        factor = 2.0 if n_classes == 2 else 1.0
        np.testing.assert_allclose(factor * scaled, rival.decision_function(X), atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n_classes", [2, 3])
def test_our_stumps(n_classes, seed):
    """With weights that differ no two splits are equally good."""
    X, y = make_table(n_classes, seed)
    new, _ = make_table(n_classes, seed + 100)
    weight = np.random.default_rng(seed).random(y.size) + 0.5
    ours = AdaBoostClassifier(n_estimators=40).fit(X, y, sample_weight=weight)
    rival = theirs.AdaBoostClassifier(n_estimators=40, random_state=0)
    rival.fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(2.0 * ours.estimator_weights_, rival.estimator_weights_, rtol=1e-8)
    for rows in (X, new):
        np.testing.assert_array_equal(ours.predict(rows), rival.predict(rows))
    np.testing.assert_allclose(ours.feature_importances_, rival.feature_importances_, atol=1e-6)


def test_our_stumps_on_iris():
    X, y = load_iris(return_X_y=True)
    ours = AdaBoostClassifier(n_estimators=20).fit(X, y)
    rival = theirs.AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y)
    assert abs(ours.score(X, y) - rival.score(X, y)) < 0.03


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
@pytest.mark.parametrize("rate", [0.5, 1.0])
def test_r2(rate, loss):
    X, y = load_diabetes(return_X_y=True)
    weight = np.random.default_rng(0).random(y.size)
    base = DecisionTreeRegressor(max_depth=3)
    settings = {"n_estimators": 20, "learning_rate": rate, "loss": loss, "random_state": 0}
    ours = AdaBoostRegressor(base, max_restarts=0, **settings).fit(X, y, sample_weight=weight)
    rival = theirs.AdaBoostRegressor(base, **settings).fit(X, y, sample_weight=weight)
    n = len(ours.estimators_)
    assert n == len(rival.estimators_)
    np.testing.assert_allclose(ours.estimator_weights_, rival.estimator_weights_[:n], rtol=1e-9)
    np.testing.assert_array_equal(ours.predict(X), rival.predict(X))
    for predicted, expected in zip(ours.staged_predict(X), rival.staged_predict(X), strict=True):
        np.testing.assert_array_equal(predicted, expected)


def test_our_trees_of_r2_are_as_good():
    X, y = load_diabetes(return_X_y=True)
    train, test = slice(0, 300), slice(300, None)

    def mean_score(model):
        fits = (model.set_params(random_state=seed).fit(X[train], y[train]) for seed in range(8))
        return np.mean([fitted.score(X[test], y[test]) for fitted in fits])

    ours = mean_score(AdaBoostRegressor(n_estimators=20))
    rival = mean_score(theirs.AdaBoostRegressor(n_estimators=20))
    assert ours > rival - 0.03


def test_linear_base_learner():
    X, y = make_table(3)
    base = LogisticRegression()
    ours = AdaBoostClassifier(base, n_estimators=10, random_state=0).fit(X, y)
    rival = theirs.AdaBoostClassifier(base, n_estimators=10, random_state=0).fit(X, y)
    np.testing.assert_array_equal(ours.predict(X), rival.predict(X))
