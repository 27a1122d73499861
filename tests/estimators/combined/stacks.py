"""Data and members of the tests of stacks."""

from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

from sumwise import GradientBoostingClassifier, GradientBoostingRegressor

IRIS = load_iris(return_X_y=True)
CANCER = load_breast_cancer(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


def make_members(n_estimators=5):
    return [
        ("leaf", GradientBoostingClassifier(n_estimators=n_estimators, n_jobs=1)),
        ("bayes", GaussianNB()),
    ]


def make_regressors(n_estimators=5):
    return [
        ("leaf", GradientBoostingRegressor(n_estimators=n_estimators, n_jobs=1)),
        ("ridge", Ridge()),
    ]
