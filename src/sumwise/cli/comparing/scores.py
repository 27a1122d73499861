"""Metrics of a comparison: what is computed from the predictions for the rows of a fold."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn import metrics


class Predictions(NamedTuple):
    """What a model predicts for some rows.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        Labels or numbers.
    probabilities : ndarray of shape (n_rows, n_classes) or None
        In the order of all classes of the data.
    """

    values: np.ndarray
    probabilities: np.ndarray | None


class Metric(NamedTuple):
    """A metric: its name in tables, whether higher is better, and the function."""

    title: str
    greater_is_better: bool
    function: Callable[..., float]
    needs_probabilities: bool = False

    def rate(self, y: np.ndarray, found: Predictions, classes: np.ndarray | None) -> float:
        """Return the score; NaN without the probabilities that it needs."""
        if not self.needs_probabilities:
            return float(self.function(y, found.values))
        if found.probabilities is None or classes is None:
            return float("nan")
        return float(self.function(y, found.probabilities, classes))


def _log_loss(y: np.ndarray, probabilities: np.ndarray, classes: np.ndarray) -> float:
    return float(metrics.log_loss(y, probabilities, labels=classes))


def _roc_auc(y: np.ndarray, probabilities: np.ndarray, classes: np.ndarray) -> float:
    if classes.size == 2:
        return float(metrics.roc_auc_score(y == classes[1], probabilities[:, 1]))
    return float(metrics.roc_auc_score(y, probabilities, labels=classes, multi_class="ovr"))


METRICS = {
    "classification": {
        "accuracy": Metric("accuracy", True, metrics.accuracy_score),
        "balanced_accuracy": Metric("balanced accuracy", True, metrics.balanced_accuracy_score),
        "log_loss": Metric("log loss", False, _log_loss, True),
        "roc_auc": Metric("ROC AUC", True, _roc_auc, True),
    },
    "regression": {
        "r2": Metric("R²", True, metrics.r2_score),
        "rmse": Metric("RMSE", False, metrics.root_mean_squared_error),
        "mae": Metric("MAE", False, metrics.mean_absolute_error),
    },
}


def predict(model: Any, X: Any, classes: np.ndarray | None) -> Predictions:
    """Return what a model predicts; columns of classes that it has not seen are zeros."""
    values = np.asarray(model.predict(X))
    if classes is None or not hasattr(model, "predict_proba"):
        return Predictions(values, None)
    found = np.asarray(model.predict_proba(X))
    known = np.searchsorted(classes, np.asarray(model.classes_))
    if known.size == classes.size:
        return Predictions(values, found)
    probabilities = np.zeros((len(found), classes.size))
    probabilities[:, known] = found
    return Predictions(values, probabilities)
