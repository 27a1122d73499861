"""AdaBoost for regression; tests/equivalence compares it with scikit-learn's."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.tree import DecisionTreeRegressor

from sumwise import (
    AdaBoostRegressor,
)
from sumwise import DecisionTreeRegressor as OwnTreeRegressor
from sumwise.errors import DataError

DIABETES = load_diabetes(return_X_y=True)


# --- the method ---


@pytest.mark.parametrize("estimator", [None, DecisionTreeRegressor(max_depth=3)])
def test_stages_of_numbers_end_in_the_model(estimator):
    X, y = DIABETES
    model = AdaBoostRegressor(estimator, n_estimators=7, random_state=0).fit(X, y)
    stages = list(model.staged_predict(X))
    assert len(stages) == len(model.estimators_)
    np.testing.assert_array_equal(stages[-1], model.predict(X))
    np.testing.assert_allclose(stages[0], model.estimators_[0].predict(X), rtol=1e-12)
    *_, last = model.staged_score(X, y)
    assert last == pytest.approx(model.score(X, y))


# --- how it ends ---


def test_a_perfect_regressor_ends_training():
    X = np.repeat(np.arange(4.0), 5)[:, np.newaxis]
    y = np.array([0.1, 0.7, 0.3, 0.9])[X[:, 0].astype(int)]
    for estimator in (None, DecisionTreeRegressor()):
        model = AdaBoostRegressor(estimator, method="reweight").fit(X, y)
        assert model.stop_reason_ == "perfect"
        np.testing.assert_allclose(model.predict(X), y, rtol=1e-12)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "base", [None, OwnTreeRegressor(max_depth=3), DecisionTreeRegressor(max_depth=3)], ids=str
)
def test_targets_at_the_limit_of_floats_are_refused(base):
    X, y = DIABETES
    y = (y - y.mean()) / np.abs(y - y.mean()).max()
    model = AdaBoostRegressor(base, n_estimators=3, random_state=0)
    for largest in (1e308, 1.7e308):
        with pytest.raises(DataError, match=r"y has .* in row \d+: .* too large .*; scale y"):
            model.fit(X, largest * y)
        assert not hasattr(model, "estimators_")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("exponent", [-900, -500, 500, 980])
def test_huge_and_tiny_targets_are_as_others(exponent):
    X, y = DIABETES
    model = AdaBoostRegressor(n_estimators=10, random_state=0)
    expected, importance = model.fit(X, y).predict(X), model.feature_importances_
    model.fit(X, np.ldexp(y, exponent))
    np.testing.assert_array_equal(model.predict(X), np.ldexp(expected, exponent))
    np.testing.assert_allclose(model.feature_importances_, importance, rtol=1e-9)


def test_a_regressor_keeps_its_only_learner_and_warns():
    X, y = np.ones((6, 1)), np.array([0.0, 1.0] * 3)
    model = AdaBoostRegressor(method="reweight")
    with pytest.warns(UserWarning, match="mean loss of the first ShallowTreeRegressor is 1 of"):
        model.fit(X, y)
    assert (model.stop_reason_, len(model.estimators_)) == ("too_weak", 1)
    np.testing.assert_allclose(model.predict(X), 0.5)
