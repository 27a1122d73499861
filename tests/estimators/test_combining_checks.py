"""scikit-learn's own checks of ensembles of given members."""

from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sumwise import (
    AveragingRegressor,
    BayesianAveragingClassifier,
    BayesianAveragingRegressor,
    EnsembleSelectionClassifier,
    EnsembleSelectionRegressor,
    VotingClassifier,
)
from tests.estimators.sklearn_checks import parametrize_with_checks

# The members that scikit-learn checks its VotingClassifier and VotingRegressor with.
CLASSIFIERS = [
    ("first", DecisionTreeClassifier(max_depth=3, random_state=0)),
    ("second", DecisionTreeClassifier(max_depth=3, random_state=1)),
]
REGRESSORS = [
    ("first", DecisionTreeRegressor(max_depth=3, random_state=0)),
    ("second", DecisionTreeRegressor(max_depth=3, random_state=1)),
]


@parametrize_with_checks(
    [
        VotingClassifier(CLASSIFIERS),
        VotingClassifier(
            [member for _, member in CLASSIFIERS],
            votes="hard",
            rule="weighted",
            weights="learned",
            tie="confidence",
            cv=3,
        ),
        AveragingRegressor(REGRESSORS, weights="least_squares", cv=3),
        BayesianAveragingClassifier(CLASSIFIERS, n_draws=20, cv=3),
        BayesianAveragingRegressor(REGRESSORS, weights="bic"),
        EnsembleSelectionClassifier(CLASSIFIERS, cv=3, n_selected=3),
        EnsembleSelectionRegressor(REGRESSORS, cv=3, n_selected=3, n_bags=2),
    ]
)
def test_sklearn_checks_of_ensembles_of_members(estimator, check):
    check(estimator)
