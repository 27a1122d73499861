"""Base learners that tests of several ensembles use."""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.naive_bayes import GaussianNB

from sumwise import DecisionTreeClassifier, DecisionTreeRegressor


class Recorder(RegressorMixin, BaseEstimator):
    """Remembers what it was fitted on."""

    def fit(self, X, y, sample_weight=None, mark=None):
        self.seen_, self.mark_ = (X, y, sample_weight), mark
        self.n_features_in_ = np.shape(X)[1]
        return self

    def predict(self, X):
        return np.zeros(len(X))


class Stubborn(ClassifierMixin, BaseEstimator):
    """Predicts the first class of its rows, or ``answer``."""

    def __init__(self, answer=None):
        self.answer = answer

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        answer = self.classes_[0] if self.answer is None else self.answer
        return np.full(len(X), answer)


class Returnless(GaussianNB):
    """Its fit returns nothing, and needs an array."""

    def fit(self, X, y, sample_weight=None):
        assert X.shape[1] == 4
        super().fit(X, y, sample_weight)


class OneByOne(DecisionTreeClassifier):
    """A subclass: it is fitted separately for every member."""


class OneByOneRegressor(DecisionTreeRegressor):
    """The same for numbers."""
