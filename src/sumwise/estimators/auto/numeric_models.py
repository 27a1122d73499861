"""Models of scikit-learn on prepared numbers: linear models, neighbors and networks."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from sumwise.estimators.auto.preparing import NumericInputs


class _NumericModel(BaseEstimator):
    """A model and the preparation of its inputs.

    Parameters
    ----------
    inputs : NumericInputs
    model : estimator
        It is fitted itself, not a copy.
    """

    def __init__(self, inputs: NumericInputs, model: Any) -> None:
        self.inputs = inputs
        self.model = model

    def _fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> None:
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.model.fit(self.inputs.fit_transform(X), y, **weights)


class NumericClassifier(ClassifierMixin, _NumericModel):
    """A classifier; a single class is predicted with probability 1."""

    def fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        """Fit the preparation and the model."""
        self.classes_ = np.unique(y)
        if self.classes_.size > 1:
            self._fit(X, y, sample_weight)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes."""
        if self.classes_.size == 1:
            return np.ones((X.shape[0], 1))
        return self.model.predict_proba(self.inputs.transform(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable classes."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class NumericRegressor(RegressorMixin, _NumericModel):
    """A regressor; its model learns a target of mean 0 and variance 1."""

    def fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        """Fit the preparation and the model."""
        unit = np.ldexp(1.0, np.frexp(np.abs(y).max(initial=0.0))[1])  # squares may overflow
        own = y / unit
        self.center_ = float(np.average(own, weights=sample_weight)) * unit
        deviation = float(np.sqrt(np.average((own - self.center_ / unit) ** 2)))
        self.scale_ = (deviation if deviation > 0.0 else 1.0) * unit
        self._fit(X, (y - self.center_) / self.scale_, sample_weight)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return predicted numbers."""
        found = np.asarray(self.model.predict(self.inputs.transform(X)))
        return found * self.scale_ + self.center_
