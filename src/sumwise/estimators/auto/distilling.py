"""Distillation: one boosting model that learns what the whole ensemble predicts."""

from typing import Any

import numpy as np

from sumwise.data.frames.selection import take_rows
from sumwise.estimators.boosting.classifier import GradientBoostingClassifier
from sumwise.estimators.boosting.regressor import GradientBoostingRegressor

DEFAULTS = {
    "n_estimators": 2000,
    "learning_rate": 0.05,
    "early_stopping": True,
    "n_iter_no_change": 30,
}
# Fewer rows are not split for early stopping; then there are so many rounds.
_FEWEST_ROWS, _FEW_ROUNDS = 50, 100
# Classes that are less probable are left out.
_SMALLEST = 1e-3


def distill_classes(
    X: Any,
    probabilities: np.ndarray,
    classes: np.ndarray,
    weight: np.ndarray | None,
    params: dict[str, Any],
) -> GradientBoostingClassifier:
    """Return a classifier that has learned probabilities.

    Each row is there once for every class that is possible, with its probability as the weight:
    the log loss of these rows is the cross-entropy to the probabilities.
    """
    rows, class_idx = np.nonzero(probabilities >= _SMALLEST)
    own = probabilities[rows, class_idx] * (1.0 if weight is None else weight[rows])
    model = GradientBoostingClassifier(**_choose_parameters(len(probabilities), params))
    # The copies of a row are held out together.
    return model.fit(take_rows(X, rows), classes[class_idx], own, groups=rows)


def distill_numbers(
    X: Any, predictions: np.ndarray, weight: np.ndarray | None, params: dict[str, Any]
) -> GradientBoostingRegressor:
    """Return a regressor that has learned predictions."""
    model = GradientBoostingRegressor(**_choose_parameters(len(predictions), params))
    return model.fit(X, predictions, weight)


def _choose_parameters(n_rows: int, params: dict[str, Any]) -> dict[str, Any]:
    defaults = DEFAULTS
    if n_rows < _FEWEST_ROWS:
        defaults = {"n_estimators": _FEW_ROUNDS, "min_samples_leaf": max(1, n_rows // 20)}
    return {**defaults, **params}
