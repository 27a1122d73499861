"""scikit-learn's own checks of ensembles of one base learner."""

from sklearn.linear_model import LogisticRegression

from sumwise import (
    BaggingClassifier,
    BaggingRegressor,
    OutputCodeClassifier,
    OutputFlippingClassifier,
    OutputSmearingRegressor,
)
from tests.estimators.sklearn_checks import (
    WEIGHTS_ARE_REPETITIONS,
    parametrize_with_checks,
    run_check,
)


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
        OutputCodeClassifier(LogisticRegression(C=1, solver="liblinear")),
        OutputCodeClassifier(LogisticRegression(C=1), code="data", decoding="hamming"),
    ]
)
def test_sklearn_checks_of_ensembles_of_one_learner(estimator, check):
    """Rows, or their noise, are drawn as in scikit-learn: weight two is not the row twice."""
    draws = not isinstance(estimator, OutputCodeClassifier)
    run_check(estimator, check, failures=WEIGHTS_ARE_REPETITIONS if draws else ())
