"""The fitted members of an automatic ensemble: one model per fold, or one of all rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from sumwise.docstrings import document_rows
from sumwise.estimators.auto.data import ReadTable
from sumwise.estimators.auto.fold_fits import arrange_outputs, count_trained
from sumwise.estimators.auto.members import is_shared
from sumwise.estimators.auto.portfolio import Recipe
from sumwise.estimators.input.features import read_rows
from sumwise.estimators.members import name_failure


class Bag(BaseEstimator):
    """Models of one recipe, whose predictions are averaged.

    Parameters
    ----------
    recipe : Recipe
    models : list of fitted estimators
    reader : estimator
        Knows the features of X.
    classes : ndarray or None
        The labels of the ensemble; models know them by their indices.
    """

    def __init__(
        self, recipe: Recipe, models: Sequence[Any], reader: Any, classes: np.ndarray | None
    ) -> None:
        self.recipe = recipe
        self.models = models
        self.reader = reader
        self.classes = classes

    @property
    def name(self) -> str:
        """The name of the member."""
        return self.recipe.name

    @property
    def is_shared(self) -> bool:
        """Whether the models were fitted on the shared table."""
        return is_shared(self.recipe)

    @property
    def n_rounds(self) -> int:
        """Mean number of rounds of boosting, or of trees; 0 for other models."""
        return round(float(np.mean([count_trained(model) for model in self.models])))

    def predict_outputs(self, rows: ReadTable) -> np.ndarray:
        """Return the mean predictions of read rows: numbers, or probabilities of all classes."""
        X = rows.feed(self.is_shared)
        n_classes = 1 if self.classes is None else self.classes.size
        with name_failure(f"member {self.name!r}", self.models[0], "predict"):
            outputs = [
                arrange_outputs(model, X, n_classes, self.classes is not None)
                for model in self.models
            ]
        return np.mean(outputs, axis=0)

    def _read(self, X: Any) -> ReadTable:
        return ReadTable.of(read_rows(self.reader, X))

    def find_importances(self) -> np.ndarray | None:
        """Return the mean importances of features; None if the models have none."""
        if not all(hasattr(model, "feature_importances_") for model in self.models):
            return None
        return np.mean([model.feature_importances_ for model in self.models], axis=0)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self.models)} models)"


class ClassifierBag(ClassifierMixin, Bag):
    """Fitted classifiers."""

    @property
    def classes_(self) -> np.ndarray:
        """Class labels, sorted."""
        assert self.classes is not None
        return self.classes

    @document_rows
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the mean probabilities of the models.

        {rows}
        ndarray of shape (n_rows, n_classes)
        """
        return self.predict_outputs(self._read(X))

    @document_rows
    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row.

        {rows}
        ndarray of shape (n_rows,)
        """
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


class RegressorBag(RegressorMixin, Bag):
    """Fitted regressors."""

    @document_rows
    def predict(self, X: Any) -> np.ndarray:
        """Return the mean predictions of the models.

        {rows}
        ndarray of shape (n_rows,)
        """
        return self.predict_outputs(self._read(X))
