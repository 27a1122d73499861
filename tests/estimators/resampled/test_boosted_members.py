"""AdaBoost of any base learner: what members get, and which are refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from sumwise import (
    AdaBoostClassifier,
    AdaBoostRegressor,
)
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.resampled.shallow_trees import ShallowTreeClassifier
from tests.estimators.resampled.learners import Stubborn

CANCER = load_breast_cancer(return_X_y=True)

IRIS = load_iris(return_X_y=True)

DIABETES = load_diabetes(return_X_y=True)


# --- how learners are told the weights ---


class Moody(ClassifierMixin, BaseEstimator):
    """A stump that is turned around for some samples; it takes no weights."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self._stump = DecisionTreeClassifier(max_depth=1).fit(X, y)
        self._is_turned = len(np.unique(X[:, 0])) % 3 != 0
        return self

    def predict(self, X):
        answer = self._stump.predict(X)
        return 1 - answer if self._is_turned else answer


def test_weak_samples_are_drawn_again():
    rng = np.random.default_rng(0)
    X = rng.random((200, 2))
    y = (X.sum(axis=1) > 1.0).astype(int)
    settings = {"n_estimators": 15, "method": "resample", "random_state": 0}
    patient = AdaBoostClassifier(Moody(), max_restarts=50, **settings).fit(X, y)
    assert patient.n_restarts_ > 0
    assert (patient.stop_reason_, len(patient.estimators_)) == ("n_estimators", 15)
    assert (patient.estimator_errors_ < 0.5).all()
    hasty = AdaBoostClassifier(Moody(), max_restarts=1, **settings)
    try:
        hasty.fit(X, y)
    except DataError:
        pass
    else:
        assert len(hasty.estimators_) < 15


# --- base learners ---


def test_any_estimator_is_a_base_learner():
    X, y = CANCER
    for base in (GaussianNB(), make_pipeline(StandardScaler(), LogisticRegression())):
        model = AdaBoostClassifier(base, n_estimators=3, method="resample", random_state=0)
        assert model.fit(X, y).score(X, y) > 0.9
    assert model.get_params()["estimator__logisticregression__C"] == 1.0
    X, y = DIABETES
    model = AdaBoostRegressor(LinearRegression(), n_estimators=5, random_state=0)
    assert model.fit(X, y).score(X, y) > 0.4


def test_members_see_data_as_it_was_given():
    frame = pd.DataFrame({"color": list("rgbrgb") * 10, "size": np.arange(60.0)})
    y = np.where((frame["color"] == "r") | (frame["size"] > 40), "yes", "no")
    encoder = make_column_transformer((OneHotEncoder(), ["color"]), remainder="passthrough")
    base = make_pipeline(encoder, DecisionTreeClassifier(max_depth=1))
    for data in (frame, pl.from_pandas(frame)):
        model = AdaBoostClassifier(base, n_estimators=9, method="resample", random_state=0)
        assert model.fit(data, y).score(data, y) > 0.9
        np.testing.assert_array_equal(model.feature_names_in_, ["color", "size"])
    texts = ["good day", "bad day", "good night", "bad night"] * 5
    words = make_pipeline(CountVectorizer(), DecisionTreeClassifier(max_depth=1))
    model = AdaBoostClassifier(words, n_estimators=2, method="resample", random_state=0)
    assert model.fit(texts, [1, 0] * 10).score(texts, [1, 0] * 10) == 1.0


def test_sparse_matrices_go_to_members():
    X, y = IRIS
    stump = DecisionTreeClassifier(max_depth=1)
    for method in ("reweight", "resample"):
        model = AdaBoostClassifier(stump, n_estimators=5, method=method, random_state=0)
        expected = model.fit(X, y).predict(X)
        np.testing.assert_array_equal(model.fit(csr_matrix(X), y).predict(csr_matrix(X)), expected)


def test_seeds_of_members_differ():
    base = DecisionTreeClassifier(max_depth=1, max_features=1)
    model = AdaBoostClassifier(base, n_estimators=4, random_state=0).fit(*CANCER)
    assert len({member.random_state for member in model.estimators_}) == 4


def test_parameters_of_the_base_learner_are_checked():
    with pytest.raises(ParameterError, match="max_depth=20"):
        AdaBoostClassifier(ShallowTreeClassifier(max_depth=20)).fit(*IRIS)


class Strange(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), np.nan)


def test_strange_predictions_are_refused():
    with pytest.raises(DataError, match="Stubborn predicts 7, which is not a class"):
        AdaBoostClassifier(Stubborn(answer=7)).fit(*IRIS)
    with pytest.raises(DataError, match=r"Strange predicts an array .* not finite"):
        AdaBoostRegressor(Strange()).fit(*DIABETES)


# --- progress, failures, and what members get ---


class Fragile(DecisionTreeRegressor):
    """Fails as soon as it draws a certain seed."""

    def fit(self, X, y, sample_weight=None):
        if np.unique(y).size < 190:
            raise ValueError("what a pity")
        return super().fit(X, y, sample_weight)


def test_a_learner_that_fails_is_named():
    model = AdaBoostRegressor(Fragile(max_depth=2), random_state=0)
    with pytest.raises(ValueError, match=r"learner \d+ \(Fragile\) failed to fit: what a pity"):
        model.fit(*DIABETES)
    assert not hasattr(model, "estimators_")
