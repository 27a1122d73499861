"""Linear models, neighbors and networks on prepared numbers."""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from sumwise.estimators.auto.plain_models import PlainModel, find_probabilities, learn
from sumwise.estimators.auto.preparing import NumericInputs


class _NumericModel(BaseEstimator):
    """A model and the preparation of its inputs.

    Parameters
    ----------
    inputs : NumericInputs
        It is fitted itself, not a copy.
    model : NeighborsRecipe or estimator
        What to learn; see :func:`sumwise.estimators.auto.plain_models.learn`.

    Attributes
    ----------
    learned_ : PlainModel or None
        None if there is a single class.
    """

    learned_: PlainModel | None

    def __init__(self, inputs: NumericInputs, model: Any = None) -> None:
        self.inputs = inputs
        self.model = model

    def _learn(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None) -> PlainModel:
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return learn(self.model, self.inputs.fit_transform(X), y, weights)


class NumericClassifier(ClassifierMixin, _NumericModel):
    """A classifier; a single class is predicted with probability 1."""

    def fit(self, X: Any, y: np.ndarray, sample_weight: np.ndarray | None = None) -> Self:
        """Fit the preparation and the model."""
        self.classes_, places = np.unique(y, return_inverse=True)
        self.learned_ = None
        if self.classes_.size > 1:
            self.learned_ = self._learn(X, places, sample_weight)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes."""
        if self.learned_ is None:
            return np.ones((X.shape[0], 1))
        return find_probabilities(self.learned_, self.inputs.transform(X))

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
        self.learned_ = self._learn(X, (y - self.center_) / self.scale_, sample_weight)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return predicted numbers."""
        assert self.learned_ is not None
        found = self.learned_.compute(self.inputs.transform(X))[:, 0]
        return found * self.scale_ + self.center_
