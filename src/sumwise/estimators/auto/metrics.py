"""The metric of an automatic ensemble: scores of predictions, greater is better inside."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise.combine.bayes import score_classes
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.scoring import (
    KnownClassifier,
    KnownRegressor,
    resolve_scoring,
    score_known,
)

# Blocks of rows that are left out in turn, to estimate the standard error of a score.
_N_BLOCKS = 20
# Takes compact predictions, y and weights.
_Function = Callable[[np.ndarray, np.ndarray, np.ndarray | None], float]


@dataclass(frozen=True)
class Metric:
    """A score of predictions.

    Attributes
    ----------
    name : str
    sign : int
        -1 if lower values are better, as users see them.
    kept : {"class", "second", "all"}
        What of probabilities is looked at: that of the true class, that of the second class, or
        all of them.
    function : callable
        Returns the value from what is looked at, y (class indices or numbers) and weights.
    is_quick : bool
        Whether it takes microseconds per thousand rows.
    """

    name: str
    sign: int
    kept: str
    function: _Function
    is_quick: bool = True

    def compact(self, predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return what is looked at, of one prediction or of several (members first).

        It is linear: of an average of members, it is the average of what is looked at.
        """
        if self.kept == "class":
            return predictions[..., np.arange(y.size), y]
        return predictions[..., 1] if self.kept == "second" else predictions

    def score(self, compact: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
        """Return the score of compact predictions, greater is better; -inf if there is none."""
        try:
            value = self.sign * self.function(compact, y, weight)
        except ValueError:  # for example, an area under the curve of a single class
            return -np.inf
        return value if np.isfinite(value) else -np.inf

    def require_score(
        self, predictions: np.ndarray, y: np.ndarray, weight: np.ndarray | None
    ) -> None:
        """Raise an error that says why predictions have no score."""
        value = self.function(self.compact(predictions, y), y, weight)
        if not np.isfinite(value):
            raise DataError(f"metric {self.name!r} gives {value} for the out-of-fold predictions")

    def show(self, score: float) -> float:
        """Return a score as users know the metric."""
        return self.sign * score if np.isfinite(score) else np.nan

    def measure(self, predictions: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
        """Return the score of predictions."""
        return self.score(self.compact(predictions, y), y, weight)

    def estimate_error(
        self, predictions: np.ndarray, y: np.ndarray, weight: np.ndarray | None
    ) -> float:
        """Return the standard error of the score over rows, by a jackknife of blocks."""
        n_blocks = min(_N_BLOCKS, y.size)
        if n_blocks < 2:
            return np.nan
        compact = self.compact(predictions, y)
        block = np.arange(y.size) % n_blocks
        scores = np.array(
            [
                self.score(compact[own], y[own], None if weight is None else weight[own])
                for own in (block != k for k in range(n_blocks))
            ]
        )
        if not np.isfinite(scores).all():
            return np.nan
        return float(np.sqrt((n_blocks - 1) / n_blocks * ((scores - scores.mean()) ** 2).sum()))


def resolve_metric(metric: Any, owner: Any, classes: np.ndarray | None) -> Metric:
    """Return the metric that the parameter ``metric`` of an estimator stands for.

    Parameters
    ----------
    metric : str, callable or None
    owner : estimator
    classes : ndarray or None
        The labels of a classifier.
    """
    known = _list_known(classes)
    if metric is None:
        return next(iter(known.values()))
    if isinstance(metric, str) and metric in known:
        return known[metric]
    try:
        scorer = resolve_scoring(metric, owner)
    except ParameterError as error:
        raise ParameterError(
            f"{type(owner).__name__}: metric={metric!r}; must be {', '.join(map(repr, known))}, "
            "the name of a scikit-learn scorer, a scorer, or a function of (y_true, y_pred)"
        ) from error

    def ask(predictions: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
        if classes is None:
            return score_known(scorer, KnownRegressor(predictions), y, weight)
        labels = classes[predictions.argmax(axis=1)]
        known_classifier = KnownClassifier(labels, classes, predictions)
        return score_known(scorer, known_classifier, classes[y], weight)

    return Metric(_name(metric), 1, "all", ask, is_quick=False)


def choose_loss(metric: Metric, is_class: bool) -> str:
    """Return the loss that boosting minimizes for a metric."""
    return "absolute_error" if not is_class and metric.name == "mae" else "auto"


def _name(metric: Any) -> str:
    if isinstance(metric, str):
        return metric
    function = getattr(metric, "_score_func", metric)
    return str(getattr(function, "__name__", type(function).__name__))


# --- metrics ---


def _log_loss(of_class: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
    scores = score_classes(of_class[:, np.newaxis], np.zeros(y.size, dtype=np.intp))
    return -float(np.average(scores, weights=weight))


def _accuracy(shares: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
    return float(np.average(shares.argmax(axis=1) == y, weights=weight))


def _rmse(predictions: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
    return float(np.sqrt(np.average((predictions - y) ** 2, weights=weight)))


def _mae(predictions: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
    return float(np.average(np.abs(predictions - y), weights=weight))


def measure_area(scores: np.ndarray, is_positive: np.ndarray, weight: np.ndarray | None) -> float:
    """Return the area under the ROC curve: how often a positive row has the higher score.

    NaN if all rows are of one class.
    """
    weight = np.ones(scores.size) if weight is None else weight
    _, place = np.unique(scores, return_inverse=True)
    positive = np.bincount(place, weight * is_positive)
    negative = np.bincount(place, weight * ~is_positive)
    below = np.cumsum(negative) - negative
    total = positive.sum() * negative.sum()
    return float(positive @ (below + 0.5 * negative) / total) if total > 0.0 else np.nan


def _area_of_two(scores: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
    return measure_area(scores, y == 1, weight)


def _area_of_many(shares: np.ndarray, y: np.ndarray, weight: np.ndarray | None) -> float:
    """Return the mean over classes of the area of each against all others."""
    areas = [measure_area(shares[:, k], y == k, weight) for k in range(shares.shape[1])]
    return float(np.mean(areas))


def _list_known(classes: np.ndarray | None) -> dict[str, Metric]:
    """Return the metrics with names of our own, the default first."""
    if classes is None:
        found = [Metric("rmse", -1, "all", _rmse), Metric("mae", -1, "all", _mae)]
    else:
        is_pair = classes.size == 2
        area = ("second", _area_of_two) if is_pair else ("all", _area_of_many)
        found = [
            Metric("log_loss", -1, "class", _log_loss),
            Metric("roc_auc", 1, *area),
            Metric("accuracy", 1, "all", _accuracy),
        ]
    return {metric.name: metric for metric in found}
