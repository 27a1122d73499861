"""Models of scikit-learn on prepared numbers."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from sumwise.estimators.auto.numeric_models import NumericClassifier, NumericRegressor
from sumwise.estimators.auto.preparing import NumericInputs

X = np.random.default_rng(0).normal(size=(60, 2))
INPUTS = NumericInputs(np.zeros(2, dtype=np.int64))


def test_classifier():
    y = np.where(X[:, 0] > 0, 3, 1)
    model = NumericClassifier(INPUTS, LogisticRegression()).fit(X, y)
    assert model.classes_.tolist() == [1, 3]
    assert (model.predict(X) == y).mean() > 0.9
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_a_single_class():
    model = NumericClassifier(INPUTS, LogisticRegression()).fit(X, np.full(60, 2))
    assert model.predict_proba(X).tolist() == [[1.0]] * 60
    assert (model.predict(X) == 2).all()


@pytest.mark.parametrize("size", [1e-200, 1.0, 1e200])
def test_regressor_learns_a_target_of_any_size(size):
    y = (X[:, 0] + 7.0) * size
    found = NumericRegressor(INPUTS, Ridge(1e-6)).fit(X, y).predict(X)
    np.testing.assert_allclose(found / size, y / size, rtol=1e-4)


def test_a_constant_target():
    found = NumericRegressor(INPUTS, Ridge()).fit(X, np.full(60, 5.0)).predict(X)
    np.testing.assert_allclose(found, 5.0)


def test_weights():
    y, weight = X[:, 0].copy(), np.ones(60)
    y[:10], weight[:10] = 100.0, 0.0
    found = NumericRegressor(INPUTS, Ridge(1e-6)).fit(X, y, weight).predict(X)
    np.testing.assert_allclose(found, X[:, 0], atol=1e-3)
