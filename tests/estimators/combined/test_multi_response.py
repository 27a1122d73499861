import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression

from sumwise import MultiResponseLinear
from sumwise.errors import DataError, ParameterError
from tests.estimators.sklearn_checks import parametrize_with_checks


@parametrize_with_checks([MultiResponseLinear(), MultiResponseLinear(nonnegative=True)])
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_predicts_the_class_of_the_largest_regression():
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    model = MultiResponseLinear().fit(X, names[y])
    responses = LinearRegression().fit(X, np.eye(3)[y]).predict(X)
    np.testing.assert_array_equal(model.predict(X), names[responses.argmax(axis=1)])
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_options_are_checked():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ParameterError, match="nonnegative='yes'; must be one of True, False"):
        MultiResponseLinear(nonnegative="yes").fit(X, y)
    with pytest.raises(DataError, match="4 columns"):
        MultiResponseLinear(own_class_only=True).fit(X, y)
    with pytest.raises(DataError, match="all sample weights are zero"):
        MultiResponseLinear().fit(X, y, sample_weight=np.zeros(len(y)))


def test_a_fit_that_fails_leaves_no_mix_of_two_fits():
    X, y = load_iris(return_X_y=True)
    model = MultiResponseLinear().fit(X, y)
    with pytest.raises(DataError):
        model.fit(X, np.array(["a", "b", "c"])[y], sample_weight=np.full(len(y), -1.0))
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_one_class_is_always_predicted():
    X, _ = load_iris(return_X_y=True)
    for options in ({}, {"nonnegative": True}, {"own_class_only": True}):
        model = MultiResponseLinear(**options).fit(X, ["only"] * len(X))
        assert set(model.predict(X)) == {"only"}
        np.testing.assert_array_equal(model.predict_proba(X), np.ones((len(X), 1)))


def test_logarithms_of_probabilities():
    X, y = load_iris(return_X_y=True)
    model = MultiResponseLinear().fit(X, y)
    assert (model.predict_proba(X) == 0.0).any()  # no warning for these
    with np.errstate(divide="ignore"):
        expected = np.log(model.predict_proba(X))
    np.testing.assert_array_equal(model.predict_log_proba(X), expected)
