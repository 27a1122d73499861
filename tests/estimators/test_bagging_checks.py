"""scikit-learn's own checks of ensembles of one base learner."""

from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from sumwise import BaggingClassifier, BaggingRegressor

# As of scikit-learn's bagging: rows are drawn, so that a row of weight two is not the row twice.
_REASON = "sample_weight is not equivalent to removing/repeating samples."
_DRAWN = {
    "check_sample_weight_equivalence_on_dense_data": _REASON,
    "check_sample_weight_equivalence_on_sparse_data": _REASON,
}


def expect(estimator):
    is_drawn = isinstance(estimator, (BaggingClassifier, BaggingRegressor))
    return _DRAWN if is_drawn else {}


@parametrize_with_checks(
    [
        BaggingClassifier(n_estimators=5),
        BaggingClassifier(
            LogisticRegression(C=1),
            n_estimators=3,
            sampling="poisson",
            votes="hard",
            tie="confidence",
            max_features=0.7,
        ),
        BaggingRegressor(n_estimators=5),
        BaggingRegressor(n_estimators=3, sampling="bayesian"),
    ],
    expected_failed_checks=expect,
)
def test_sklearn_checks_of_ensembles_of_one_learner(estimator, check):
    check(estimator)
