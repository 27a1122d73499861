"""Parameters of bagging: what they mean, and what is refused."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from sumwise import (
    BaggingClassifier,
    BaggingRegressor,
    Bootstrap,
    Pasting,
)
from sumwise.errors import DataError, ParameterError
from tests.estimators.resampled.learners import Recorder

X, Y = load_iris(return_X_y=True)


NUMBERED = np.column_stack([np.arange(60.0), np.arange(60.0) + 100])

TARGET = np.arange(60.0) * 2


# --- what members see ---


@pytest.mark.parametrize(("max_samples", "n_drawn"), [(None, 60), (0.5, 30), (7, 7), (90, 90)])
def test_number_of_rows(max_samples, n_drawn):
    model = BaggingRegressor(Recorder(), 2, max_samples=max_samples).fit(NUMBERED, TARGET)
    assert [rows.size for rows in model.estimators_samples_] == [n_drawn] * 2


# --- parameters ---


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"sampling": "jackknife"}, "must be 'bootstrap', 'pasting'"),
        ({"sampling": "pasting", "bootstrap": True}, "bootstrap=True contradicts"),
        ({"sampling": Bootstrap(), "bootstrap": False}, "bootstrap=False contradicts"),
        ({"sampling": Pasting(), "max_samples": 0.5}, "leave max_samples None"),
        ({"sampling": "bayesian", "max_samples": 0.5}, "leave max_samples None"),
        ({"sampling": Bootstrap(0)}, r"Bootstrap\(rate=0\)"),
        ({"max_samples": 0}, "max_samples=0; must be"),
        ({"max_samples": 1.5}, "max_samples=1.5; must be"),
        ({"max_samples": True}, "max_samples=True; must be"),
        ({"bootstrap": False, "max_samples": 151}, "X has 150 rows"),
        ({"max_features": 5}, "max_features must be <= n_features"),
        ({"max_features": 0.0}, "max_features=0.0; must be"),
        ({"n_estimators": 0}, "n_estimators=0"),
        ({"bootstrap": "yes"}, "bootstrap='yes'"),
        ({"estimator": DecisionTreeClassifier}, "must be an estimator"),
        ({"estimator": StandardScaler()}, "with fit and predict"),
        ({"perturb": ["max_depth"]}, "must be a dict"),
        ({"perturb": {"depth": [1]}}, "no parameter of DecisionTreeClassifier"),
        ({"perturb": {"max_depth": []}}, "non-empty list"),
        ({"perturb": {"max_depth": 3}}, "non-empty list"),
        ({"oob_score": "exactness"}, "oob_score='exactness'; must be"),
        ({"oob_score": True, "sampling": "bayesian"}, "leaves no row out"),
        ({"oob_score": True, "bootstrap": False}, "leaves no row out"),
        ({"estimator": LinearRegression()}, "is a regressor; members must be classifiers"),
        ({"estimator": KNeighborsClassifier(), "sampling": "bayesian"}, "cannot take sample"),
        ({"estimator": RidgeClassifier(), "votes": "soft"}, "has no predict_proba"),
        ({"estimator": RidgeClassifier(), "tie": "confidence"}, "has no predict_proba"),
        ({"tie": "first"}, "tie='first'"),
        ({"early_stopping": "oob"}, "partial_fit"),
        ({"early_stopping": True}, "must be 'oob'"),
    ],
)
def test_what_cannot_be_is_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        BaggingClassifier(**parameters).fit(X, Y)


def test_compatible_values_of_bootstrap_and_sampling():
    for bootstrap, sampling in [(True, "poisson"), (True, "bayesian"), (False, "pasting")]:
        model = BaggingClassifier(n_estimators=2, bootstrap=bootstrap, sampling=sampling)
        assert model.fit(X, Y).score(X, Y) > 0.9


def test_bad_rows():
    with pytest.raises(ValueError, match="inconsistent"):
        BaggingClassifier().fit(X, Y[1:])
    with pytest.raises(DataError, match="0 sample"):
        BaggingRegressor().fit(np.empty((0, 2)), [])
    with pytest.raises(DataError, match="Reshape your data"):
        BaggingClassifier(n_estimators=2).fit(X, Y).predict(X[0])
    with pytest.raises(ValueError, match="features"):
        BaggingClassifier(n_estimators=2).fit(X, Y).predict(X[:, :2])
    with pytest.raises(DataError, match="all have a weight of zero"):
        BaggingRegressor(n_estimators=5, sampling=Pasting(0.1)).fit(X, Y, np.r_[np.zeros(149), 1.0])


# --- scikit-learn's habits ---


def test_parameters_of_parts_and_learners_can_be_set():
    model = BaggingClassifier(DecisionTreeClassifier(), sampling=Bootstrap(0.5))
    grid = GridSearchCV(model, {"sampling__rate": [0.1, 0.9], "estimator__max_depth": [1, 3]}, cv=2)
    assert set(grid.fit(X, Y).best_params_) == {"sampling__rate", "estimator__max_depth"}
    with pytest.raises(ParameterError, match="pass sampling=Bootstrap"):
        BaggingClassifier(sampling="bootstrap").set_params(sampling__rate=0.5)


# --- failures, and what members get ---


def test_parameters_that_are_refused_leave_no_old_model():
    model = BaggingClassifier(n_estimators=3).fit(X, Y)
    with pytest.raises(ParameterError):
        model.set_params(votes="hard", max_samples=0.0).fit(X, Y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_rows_drawn_with_replacement_are_bounded():
    small = X[::10], Y[::10]
    model = BaggingClassifier(KNeighborsClassifier(), 2, max_samples=100).fit(*small)
    assert [rows.size for rows in model.estimators_samples_] == [100, 100]
    for parameters in ({"max_samples": 10**9}, {"max_samples": None, "sampling": Bootstrap(1e9)}):
        with pytest.raises(ParameterError, match=r"would draw 1.*000 rows for every member"):
            model.set_params(**parameters).fit(*small)
    with pytest.raises(ParameterError, match=r"max_samples=1000000000.0; must be"):
        model.set_params(max_samples=1e9, sampling=None).fit(*small)
