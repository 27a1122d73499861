"""Imported models explain, export and describe themselves as other models do."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.inspection import permutation_importance

import sumwise
from sumwise.export.portable import describe
from tests.naive.portable import predict_row


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    score = X[:, 0] + X[:, 1] * X[:, 2]
    return X, score, np.digitize(score, [-0.5, 0.5])


def test_shap_values_of_forests_add_up_to_probabilities(data):
    X, score, classes = data
    theirs = RandomForestClassifier(5, random_state=0).fit(X, score > 0)
    ours = sumwise.from_sklearn(theirs)
    found = ours.explain(X[:20])
    assert (found.scale, found.values.shape) == ("probability", (20, 4))
    np.testing.assert_allclose(found.outputs, theirs.predict_proba(X[:20])[:, 1], atol=1e-12)
    ours = sumwise.from_sklearn(RandomForestClassifier(5, random_state=0).fit(X, classes))
    found = ours.explain(X[:20])
    np.testing.assert_allclose(found.outputs, ours.predict_proba(X[:20]), atol=1e-12)
    ours = sumwise.from_sklearn(AdaBoostClassifier(n_estimators=4).fit(X, score > 0))
    found = ours.explain(X[:20])
    np.testing.assert_allclose(found.outputs, ours.decision_function(X[:20]), atol=1e-12)


def test_shap_values_are_those_of_the_origin(data):
    X, score, _ = data
    lightgbm, xgboost = pytest.importorskip("lightgbm"), pytest.importorskip("xgboost")
    theirs = lightgbm.LGBMRegressor(n_estimators=4, n_jobs=1, verbose=-1).fit(X, score)
    expected = theirs.predict(X, pred_contrib=True)[:, :-1]
    np.testing.assert_allclose(
        sumwise.from_lightgbm(theirs).explain(X).values, expected, atol=1e-12
    )
    theirs = xgboost.XGBRegressor(n_estimators=4, n_jobs=1).fit(X, score)
    expected = theirs.get_booster().predict(xgboost.DMatrix(X), pred_contribs=True)[:, :-1]
    found = sumwise.from_xgboost(theirs).explain(X).values
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_several_targets_are_described(data):
    X, score, classes = data
    labels = np.column_stack([classes, score > 0])
    ours = sumwise.from_sklearn(RandomForestClassifier(3, random_state=0).fit(X, labels))
    described = describe(ours)
    assert [own.tolist() for own in described.classes] == [[0, 1, 2], [0, 1]]
    expected = np.concatenate(ours.predict_proba(X[:4]), axis=1)
    found = [predict_row(described, row) for row in X[:4].tolist()]
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_scikit_learn_can_use_them(data):
    X, score, _ = data
    ours = sumwise.from_sklearn(RandomForestRegressor(3, random_state=0).fit(X, score))
    assert ours.score(X, score) > 0.8
    found = permutation_importance(ours, X, score, n_repeats=2, random_state=0)
    assert found.importances_mean.argmin() == 3
    copied = clone(ours.set_params(n_jobs=1))
    assert copied.n_jobs == 1
    with pytest.raises(NotFittedError):
        copied.predict(X)
    assert ours.n_outputs_ == 1


def test_fewer_trees(data):
    X, score, _ = data
    theirs = RandomForestRegressor(4, random_state=0).fit(X, score)
    ours = sumwise.from_sklearn(theirs).truncate(1)
    np.testing.assert_array_equal(ours.predict(X), theirs.estimators_[0].predict(X))
