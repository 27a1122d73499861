"""AutoEnsembleClassifier."""

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin

from sumwise.combine.classes import log_probabilities, one_hot
from sumwise.docstrings import document_rows, fill_docstring
from sumwise.errors import DataError
from sumwise.estimators.auto.bags import ClassifierBag
from sumwise.estimators.auto.base import BaseAutoEnsemble
from sumwise.estimators.auto.data import TrainingData
from sumwise.estimators.auto.distilling import distill_classes
from sumwise.estimators.auto.docs import TEXTS
from sumwise.estimators.auto.explaining import attribute_ensemble
from sumwise.estimators.explaining import PROBABILITY, Question, attribute_classes
from sumwise.estimators.log_probabilities import LogProbabilitiesMixin

if TYPE_CHECKING:
    from sumwise.inspection.attribution import Attribution


@fill_docstring(**TEXTS)
class AutoEnsembleClassifier(LogProbabilitiesMixin, ClassifierMixin, BaseAutoEnsemble):
    """The best classifier that some seconds suffice for: many members, chosen and combined.

    Members are gradient boosting of several kinds, forests, linear models, nearest neighbors and
    networks. Their predictions for rows that they have not seen decide how they are combined.

    Parameters
    ----------
    metric : str, callable or None, default=None
        What to optimize: "log_loss" (None), "roc_auc", "accuracy", the name of a scikit-learn
        scorer, a scorer, or a function of (y_true, y_pred).
    {parameters}

    Attributes
    ----------
    classes_ : ndarray
        Class labels, sorted. A single class is predicted with probability 1.
    diversity_ : PairwiseMatrix
        The kappa of the labels of each pair of members.
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sumwise import AutoEnsembleClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AutoEnsembleClassifier(preset="fast", n_folds=3, random_state=0).fit(X, y)
    >>> model.leaderboard_.metric
    'log_loss'
    >>> model.predict(X[:3])
    array([0, 0, 0])
    """

    _bag_class = ClassifierBag
    classes_: np.ndarray

    def _learn_classes(self, data: TrainingData) -> None:
        assert data.classes is not None
        self.classes_ = data.classes

    def _check_same(self, data: TrainingData) -> None:
        super()._check_same(data)
        assert data.classes is not None
        if not np.array_equal(data.classes, self.classes_):
            raise DataError(
                f"y has the classes {data.classes.tolist()[:20]}, and those of fit were "
                f"{self.classes_.tolist()[:20]}"
            )

    @document_rows
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return class probabilities.

        {rows}
        ndarray of shape (n_rows, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._combine(X)

    @document_rows
    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row.

        {rows}
        ndarray of shape (n_rows,)
        """
        probabilities = self._combine(X)
        return self.classes_[probabilities.argmax(axis=1)]

    @document_rows
    def decision_function(self, X: Any) -> np.ndarray:
        """Return log odds for two classes, and the logarithms of the probabilities for more.

        {rows}
        ndarray of shape (n_rows,) or (n_rows, n_classes)
        """
        logs = log_probabilities(self._combine(X))
        with np.errstate(invalid="ignore"):
            return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs

    @property
    def _scale(self) -> str:
        return PROBABILITY

    def _attribute(self, question: Question) -> "Attribution":
        n_classes = self.classes_.size
        return attribute_ensemble(
            self,
            question,
            lambda members, own: attribute_classes(members, own, self.n_features_in_, n_classes),
        )

    def _encode_truth(self, y: np.ndarray) -> np.ndarray:
        return one_hot(y, self.classes_.size)

    def _distill(
        self, X: Any, predictions: np.ndarray, weight: np.ndarray | None, params: dict[str, Any]
    ) -> Any:
        own = self._choose_parameters(params)
        return distill_classes(X, predictions, self.classes_, weight, own)
