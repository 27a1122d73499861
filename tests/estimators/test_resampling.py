"""Predictions over resampled data."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import BaggingRegressor
from sklearn.tree import DecisionTreeRegressor

from sumwise import GradientBoostingRegressor, resample_predictions
from sumwise.diversity import bias_variance_covariance
from sumwise.errors import DataError, ParameterError

X, Y = make_friedman1(150, random_state=0)
X_NEW, Y_NEW = make_friedman1(200, noise=0.0, random_state=1)


def take_apart(model, n_resamples=10, **options):
    predictions = resample_predictions(
        model, X, Y, X_NEW, n_resamples=n_resamples, random_state=0, **options
    )
    return bias_variance_covariance(predictions, Y_NEW)


def test_bagging_cuts_variance_and_boosting_cuts_bias():
    tree = take_apart(DecisionTreeRegressor())
    bagged = take_apart(BaggingRegressor(DecisionTreeRegressor(), 20))
    assert bagged.variance < 0.5 * tree.variance
    assert 0.6 < bagged.squared_bias / tree.squared_bias < 1.5
    stump = take_apart(GradientBoostingRegressor(n_estimators=1, max_depth=1, learning_rate=1.0))
    boosted = take_apart(GradientBoostingRegressor(n_estimators=60, max_depth=1))
    assert boosted.squared_bias < 0.5 * stump.squared_bias


def test_members_of_bagging_vary_together():
    parts = take_apart(BaggingRegressor(DecisionTreeRegressor(), 5), members=True)
    assert parts.n_learners == 5
    assert 0 < parts.covariance < parts.variance
    rebuilt = parts.squared_bias + parts.variance / 5 + parts.covariance * 4 / 5
    assert rebuilt == pytest.approx(parts.error)


def test_the_seed_decides():
    runs = [
        resample_predictions(DecisionTreeRegressor(), X, Y, X_NEW, n_resamples=3, random_state=s)
        for s in (0, 0, 1)
    ]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0] != runs[2]).any()


def test_functions_that_fit():
    sizes = []

    def fit(rows, target):
        sizes.append(len(rows))
        return DummyRegressor().fit(rows, target)

    result = resample_predictions(fit, X, Y, X_NEW[:3], n_resamples=4, n_rows=50)
    assert sizes == [50] * 4
    assert result.shape == (4, 3)


def test_inputs_are_checked():
    with pytest.raises(ParameterError, match="n_resamples=0"):
        resample_predictions(DummyRegressor(), X, Y, X_NEW, n_resamples=0)
    with pytest.raises(ParameterError, match="must be an estimator or a function"):
        resample_predictions("tree", X, Y, X_NEW)
    sizes = iter([2, 3])

    def fit(rows, target):
        return BaggingRegressor(n_estimators=next(sizes)).fit(rows, target)

    with pytest.raises(DataError, match="different numbers of members: 2 and 3"):
        resample_predictions(fit, X, Y, X_NEW, members=True)


def test_what_fit_returns_does_not_matter():
    class Silent(DummyRegressor):
        def fit(self, X, y):
            super().fit(X, y)

    silent, usual = (
        resample_predictions(model, X, Y, X_NEW, n_resamples=3, random_state=0)
        for model in (Silent(), DummyRegressor())
    )
    np.testing.assert_array_equal(silent, usual)
