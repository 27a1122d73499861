"""What ensembles of one base learner accept, and the form of the rows that members get."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from sumwise import AdaBoostClassifier, BaggingClassifier, BaggingRegressor, OutputCodeClassifier
from sumwise.errors import DataError, ParameterError
from tests.estimators.resampled.learners import Returnless

X, Y = load_iris(return_X_y=True)
ENSEMBLES = [AdaBoostClassifier, BaggingClassifier, OutputCodeClassifier]


@pytest.mark.parametrize("ensemble", ENSEMBLES)
def test_members_need_not_return_themselves_and_get_arrays_for_lists(ensemble):
    model = ensemble(Returnless()).fit(X.tolist(), Y.tolist())
    assert all(isinstance(member, Returnless) for member in model.estimators_)
    assert model.score(X.tolist(), Y) > 0.8


@pytest.mark.parametrize("ensemble", ENSEMBLES)
def test_one_row_needs_two_dimensions(ensemble):
    model = ensemble(GaussianNB()).fit(X, Y)
    with pytest.raises(DataError, match="Reshape your data"):
        model.predict(X[0])


@pytest.mark.parametrize("ensemble", ENSEMBLES)
def test_no_rows(ensemble):
    with pytest.raises(DataError, match="0 sample"):
        ensemble(GaussianNB()).fit(np.empty((0, 4)), [])


@pytest.mark.parametrize("ensemble", [AdaBoostClassifier, BaggingClassifier])
@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (LinearRegression(), "is a regressor; members must be classifiers"),
        (GaussianNB, "must be an estimator with fit and predict"),
        ("stump", "must be an estimator with fit and predict"),
        (StandardScaler(), "must be an estimator with fit and predict"),
    ],
)
def test_wrong_base_learners_are_refused(ensemble, learner, message):
    with pytest.raises(ParameterError, match=message):
        ensemble(learner).fit(X, Y)


def test_classifiers_are_refused_for_numbers():
    with pytest.raises(ParameterError, match="is a classifier; members must be regressors"):
        BaggingRegressor(GaussianNB()).fit(X, Y)


class Tolerant(BaseEstimator):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.sparse = tags.input_tags.string = True
        return tags


@pytest.mark.parametrize("ensemble", ENSEMBLES)
def test_tags_are_those_of_the_base_learner(ensemble):
    tags = get_tags(ensemble(Tolerant())).input_tags
    assert (tags.allow_nan, tags.sparse, tags.string, tags.categorical) == (True, True, True, False)
    assert not get_tags(ensemble("no estimator")).input_tags.allow_nan
