"""Test metrics, computed by scikit-learn for every library."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score, root_mean_squared_error

from benchmarks.rivals import Task

LARGER_IS_BETTER = {"AUC", "accuracy"}


def predict(estimator: Any, X: Any, task: Task) -> NDArray[Any]:
    """Return what metrics compare: class probabilities, or predicted values."""
    return estimator.predict(X) if task == "regression" else estimator.predict_proba(X)


def score(task: Task, y: NDArray[Any], prediction: NDArray[Any]) -> dict[str, float]:
    """Return the metrics of a task. Classes are integers from 0."""
    if task == "regression":
        return {"RMSE": float(root_mean_squared_error(y, prediction))}
    prediction = prediction.astype(np.float64)
    prediction /= prediction.sum(axis=1, keepdims=True)
    classes = np.arange(prediction.shape[1])
    loss = float(log_loss(y, prediction, labels=classes))
    if task == "binary":
        return {"AUC": float(roc_auc_score(y, prediction[:, 1])), "log loss": loss}
    return {"accuracy": float(accuracy_score(y, prediction.argmax(axis=1))), "log loss": loss}
