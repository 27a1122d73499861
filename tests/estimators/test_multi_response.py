import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LinearRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from sumwise import MultiResponseLinear
from sumwise.errors import DataError, ParameterError


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
