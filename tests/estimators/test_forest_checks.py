"""scikit-learn's own checks of trees and forests."""

from sklearn.utils.estimator_checks import parametrize_with_checks

from sumwise import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

# scikit-learn's forests fail the first two as well; the targets of the other are negative.
_REASON = "rows are drawn in proportion to their weights, but not the same rows"
EXPECTED = {
    True: {
        "check_sample_weight_equivalence_on_dense_data": _REASON,
        "check_sample_weight_equivalence_on_sparse_data": _REASON,
    },
    "poisson": {"check_regressor_multioutput": "checks with negative targets"},
}


def find_expected(estimator):
    for name in ("criterion", "bootstrap"):
        if (value := getattr(estimator, name, None)) in EXPECTED:
            return EXPECTED[value]
    return {}


@parametrize_with_checks(
    [
        DecisionTreeClassifier(),
        DecisionTreeRegressor(),
        DecisionTreeRegressor(criterion="poisson", categorical_features=None),
        RandomForestClassifier(n_estimators=5),
        RandomForestRegressor(n_estimators=5, categorical_features=None),
        ExtraTreesClassifier(n_estimators=5),
        ExtraTreesRegressor(n_estimators=5),
    ],
    expected_failed_checks=find_expected,
)
def test_sklearn_checks_of_trees_and_forests(estimator, check):
    check(estimator)
