"""scikit-learn's own checks of ensembles of one base learner."""

from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from sumwise import (
    BaggingClassifier,
    BaggingRegressor,
    OutputCodeClassifier,
    OutputFlippingClassifier,
    OutputSmearingRegressor,
)

# As of scikit-learn's bagging: rows, or their noise, are drawn, so that a row of weight two is not
# the row twice.
_REASON = "sample_weight is not equivalent to removing/repeating samples."
_DRAWN = {
    "check_sample_weight_equivalence_on_dense_data": _REASON,
    "check_sample_weight_equivalence_on_sparse_data": _REASON,
}


def expect(estimator):
    return {} if isinstance(estimator, OutputCodeClassifier) else _DRAWN


@parametrize_with_checks(
    [
        BaggingClassifier(n_estimators=5),
        BaggingClassifier(
            LogisticRegression(C=1),
            n_estimators=3,
            sampling="poisson",
            votes="hard",
            random_state=0,  # a row that must be refused may be out of all bags
            tie="confidence",
        ),
        BaggingRegressor(n_estimators=5),
        BaggingRegressor(n_estimators=3, sampling="bayesian"),
        # With 10 members, two probabilities differ by rounding alone and their logarithms do not.
        OutputFlippingClassifier(n_estimators=8, flip_rate=0.1),
        OutputSmearingRegressor(n_estimators=5, noise=0.2),
        OutputCodeClassifier(LogisticRegression(C=1)),
        OutputCodeClassifier(LogisticRegression(C=1), code="data", decoding="hamming"),
    ],
    expected_failed_checks=expect,
)
def test_sklearn_checks_of_ensembles_of_one_learner(estimator, check):
    check(estimator)
