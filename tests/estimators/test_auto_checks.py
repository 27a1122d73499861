"""scikit-learn's own checks of automatic ensembles."""

from sumwise import AutoEnsembleClassifier, AutoEnsembleRegressor
from tests.estimators.sklearn_checks import (
    WEIGHTS_ARE_REPETITIONS,
    parametrize_with_checks,
    run_check,
)

# A small ensemble: no limit of time, so that it is the same in every fit.
SMALL = {
    "time_limit": None,
    "members": ["leaf_quick", "linear"],
    "n_folds": 2,
    "n_repeats": 1,
    "combination": "weights",
    "n_jobs": 1,
    "random_state": 0,
}


@parametrize_with_checks([AutoEnsembleClassifier(**SMALL), AutoEnsembleRegressor(**SMALL)])
def test_sklearn_checks_of_automatic_ensembles(estimator, check):
    # A row of weight 2 is in one fold, and two equal rows may be in two.
    run_check(estimator, check, WEIGHTS_ARE_REPETITIONS)
