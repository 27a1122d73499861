"""scikit-learn's own checks of trees and forests."""

from sumwise import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from tests.estimators.sklearn_checks import (
    WEIGHTS_ARE_REPETITIONS,
    parametrize_with_checks,
    run_check,
)


@parametrize_with_checks(
    [
        DecisionTreeClassifier(),
        DecisionTreeRegressor(),
        DecisionTreeRegressor(criterion="poisson", categorical_features=None),
        RandomForestClassifier(n_estimators=5),
        RandomForestRegressor(n_estimators=5, categorical_features=None),
        ExtraTreesClassifier(n_estimators=5),
        ExtraTreesRegressor(n_estimators=5),
    ]
)
def test_sklearn_checks_of_trees_and_forests(estimator, check):
    run_check(estimator, check, find_failures(estimator))


def find_failures(estimator):
    """As in scikit-learn, drawn rows differ from repeated ones; Poisson has no negative targets."""
    if getattr(estimator, "criterion", None) == "poisson":
        return ("check_regressor_multioutput",)
    return WEIGHTS_ARE_REPETITIONS if getattr(estimator, "bootstrap", False) else ()
