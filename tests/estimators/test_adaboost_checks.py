"""scikit-learn's own checks of AdaBoost."""

from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import sumwise
from sumwise import AdaBoostClassifier, AdaBoostRegressor
from sumwise.estimators.resampled.shallow_trees import ShallowTreeClassifier, ShallowTreeRegressor
from tests.estimators.sklearn_checks import (
    WEIGHTS_ARE_REPETITIONS,
    parametrize_with_checks,
    run_check,
)

SMALL = {"n_estimators": 5}


@parametrize_with_checks(
    [
        AdaBoostClassifier(**SMALL),
        AdaBoostRegressor(**SMALL, method="reweight"),
        AdaBoostRegressor(**SMALL),
        AdaBoostClassifier(LogisticRegression(), **SMALL),
        AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), **SMALL),
        AdaBoostRegressor(DecisionTreeRegressor(max_depth=3), **SMALL),
        AdaBoostClassifier(sumwise.DecisionTreeClassifier(max_depth=2), **SMALL),
        AdaBoostRegressor(sumwise.DecisionTreeRegressor(max_depth=3), **SMALL, method="reweight"),
        ShallowTreeClassifier(max_depth=3),
        ShallowTreeRegressor(max_depth=2),
    ]
)
def test_sklearn_checks_of_adaboost(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [
        AdaBoostRegressor(LinearRegression(), **SMALL),
        AdaBoostClassifier(**SMALL, method="resample"),
        AdaBoostRegressor(sumwise.DecisionTreeRegressor(max_depth=3), **SMALL),
    ]
)
def test_sklearn_checks_of_adaboost_that_draws(estimator, check):
    """scikit-learn expects the same of its own AdaBoost, whether it draws rows or not."""
    run_check(estimator, check, failures=WEIGHTS_ARE_REPETITIONS)
