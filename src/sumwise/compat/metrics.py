"""Metrics of other libraries: how far predictions are from the target, by their formulas."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sumwise.errors import ParameterError
from sumwise.parts import find_close_name

# Probabilities are kept away from 0 and 1 by this much before their logarithm is taken.
_SMALLEST = 1e-15


class Scored(NamedTuple):
    """Rows of a validation set and what the model says about them.

    Attributes
    ----------
    y : ndarray of shape (n_rows,)
        Targets; of a classifier, places of the classes.
    raw : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Raw scores.
    mean : ndarray of the same shape
        Predictions; of a classifier, the probability of the second of two classes, or of all.
    weight : ndarray or None
    """

    y: np.ndarray
    raw: np.ndarray
    mean: np.ndarray
    weight: np.ndarray | None

    def average(self, values: np.ndarray) -> float:
        """Return the weighted mean of one value per row; those of several targets are averaged."""
        values = values.mean(axis=1) if values.ndim == 2 else values
        return float(np.average(values, weights=self.weight))

    @property
    def labels(self) -> np.ndarray:
        """The most probable classes, as places."""
        return self.mean.argmax(axis=1) if self.mean.ndim == 2 else (self.mean > 0.5).astype(int)

    @property
    def error(self) -> np.ndarray:
        """Target minus prediction."""
        return self.y - self.mean


@dataclass
class Metric:
    """A metric under the name that the library reports.

    Attributes
    ----------
    name : str
    measure : callable
        From :class:`Scored` to a number.
    higher : bool
        Whether higher is better.
    by_classes : int
        1 for regression, 2 for two classes, 3 for more, 0 for all classes; -1 for any task.
    """

    name: str
    measure: Callable[[Scored], float]
    higher: bool = False
    by_classes: int = -1


# --- regression ---


def mean_squared_error(s: Scored) -> float:
    """Return the mean of squared errors."""
    return s.average(s.error**2)


def root_mean_squared_error(s: Scored) -> float:
    """Return the root of the mean of squared errors."""
    return float(np.sqrt(s.average(s.error**2)))


def mean_absolute_error(s: Scored) -> float:
    """Return the mean of absolute errors."""
    return s.average(np.abs(s.error))


def mean_relative_error(s: Scored) -> float:
    """Return the mean of absolute errors, each divided by the target."""
    return s.average(np.abs(s.error / s.y))


def mean_bounded_relative_error(s: Scored) -> float:
    """Return the mean of absolute errors, each divided by the target if this is above 1."""
    return s.average(np.abs(s.error) / np.maximum(1.0, np.abs(s.y)))


def mean_squared_log_error(s: Scored) -> float:
    """Return the mean squared difference of logarithms of 1 + value."""
    return s.average((np.log1p(s.y) - np.log1p(s.mean)) ** 2)


def root_mean_squared_log_error(s: Scored) -> float:
    """Return the root of the mean squared difference of logarithms of 1 + value."""
    return float(np.sqrt(mean_squared_log_error(s)))


def r_squared(s: Scored) -> float:
    """Return the coefficient of determination."""
    return 1.0 - mean_squared_error(s) / s.average((s.y - s.average(s.y)) ** 2)


def median_absolute_error(s: Scored) -> float:
    """Return the median of absolute errors, without weights."""
    return float(np.median(np.abs(s.error)))


def pinball_loss(level: Any) -> Callable[[Scored], float]:
    """Return the metric of a quantile, or the mean of those of several."""

    def measure(s: Scored) -> float:
        error = s.y[:, None] - s.mean if s.mean.ndim == 2 else s.error[:, None]
        levels = np.atleast_1d(np.asarray(level, dtype=float))
        losses = np.where(error >= 0, levels * error, (levels - 1) * error)
        return s.average(losses.mean(axis=1))

    return measure


def huber_loss(delta: float) -> Callable[[Scored], float]:
    """Return the metric that is squared up to ``delta`` and linear beyond."""

    def measure(s: Scored) -> float:
        error = np.abs(s.error)
        return s.average(np.where(error <= delta, error**2 / 2, delta * (error - delta / 2)))

    return measure


def fair_loss(c: float) -> Callable[[Scored], float]:
    """Return Fair's metric."""

    def measure(s: Scored) -> float:
        error = np.abs(s.error)
        return s.average(c * error - c * c * np.log1p(error / c))

    return measure


def log_cosh_loss(s: Scored) -> float:
    """Return the mean logarithm of the hyperbolic cosine of the error."""
    return s.average(np.logaddexp(s.error, -s.error) - np.log(2.0))


def poisson_loss(s: Scored) -> float:
    """Return the negative Poisson likelihood, without what does not depend on predictions."""
    return s.average(s.mean - s.y * np.log(np.maximum(s.mean, _SMALLEST)))


def full_poisson_loss(s: Scored) -> float:
    """Return the negative logarithm of the Poisson likelihood."""
    log_factorial = np.vectorize(math.lgamma)(s.y + 1.0)
    return poisson_loss(s) + s.average(log_factorial)


def gamma_loss(s: Scored) -> float:
    """Return the negative logarithm of the gamma likelihood of shape 1."""
    return s.average(s.y / s.mean + np.log(s.mean))


def gamma_deviance(s: Scored) -> float:
    """Return the mean gamma deviance."""
    return 2.0 * s.average(s.y / s.mean - np.log(s.y / s.mean) - 1.0)


def summed_gamma_deviance(s: Scored) -> float:
    """Return the gamma deviance, summed over the rows."""
    total = float(s.y.size if s.weight is None else s.weight.sum())
    return total * gamma_deviance(s)


def tweedie_loss(power: float) -> Callable[[Scored], float]:
    """Return the negative Tweedie likelihood, without what does not depend on predictions."""

    def measure(s: Scored) -> float:
        mean = np.maximum(s.mean, 1e-10)
        return s.average(
            mean ** (2 - power) / (2 - power) - s.y * mean ** (1 - power) / (1 - power)
        )

    return measure


# --- classes ---


def log_loss(s: Scored) -> float:
    """Return the mean negative logarithm of the probability of the own class."""
    if s.mean.ndim == 2:
        own = s.mean[np.arange(s.y.size), s.y.astype(np.intp)]
        return -s.average(np.log(np.maximum(own, _SMALLEST)))
    mean = np.clip(s.mean, _SMALLEST, 1 - _SMALLEST)
    return -s.average(s.y * np.log(mean) + (1 - s.y) * np.log1p(-mean))


def error_rate(s: Scored) -> float:
    """Return the share of rows whose most probable class is wrong."""
    return s.average(s.labels != s.y)


def error_rate_at(threshold: float) -> Callable[[Scored], float]:
    """Return the share of wrong rows if the second class needs more than this probability."""
    return lambda s: s.average((s.mean > threshold) != (s.y > 0.5))


def brier_score(s: Scored) -> float:
    """Return the mean squared error of the probability of the second class."""
    return mean_squared_error(s)


def by_sklearn(name: str, of: str = "labels", **options: Any) -> Callable[[Scored], float]:
    """Return a metric of :mod:`sklearn.metrics`, of ``labels`` or of the ``mean``."""

    def measure(s: Scored) -> float:
        import sklearn.metrics  # slow to import

        metric = getattr(sklearn.metrics, name)
        return float(metric(s.y, getattr(s, of), sample_weight=s.weight, **options))

    return measure


def area_under_curve(s: Scored) -> float:
    """Return the area under the ROC curve; of more than two classes, one against the rest.

    The mean over the classes has their shares as weights.
    """
    several = {"multi_class": "ovr", "average": "weighted"} if s.mean.ndim == 2 else {}
    return by_sklearn("roc_auc_score", "mean", **several)(s)


# --- finding them ---


def find_metric(
    owner: str, name: str, known: Mapping[str, Metric], n_classes: int | None
) -> Metric:
    """Return a metric by name, if it is one of the task.

    Parameters
    ----------
    owner : str
        The estimator, for messages.
    name : str
    known : mapping of str to Metric
    n_classes : int or None
        None for regression.
    """
    if name not in known:
        close = find_close_name(name, known)
        hint = f"known are {', '.join(known)}" if close is None else f"did you mean {close!r}?"
        raise ParameterError(f"{owner}: there is no metric {name!r}; {hint}")
    metric = known[name]
    task = 1 if n_classes is None else 2 if n_classes <= 2 else 3
    fits = metric.by_classes in (-1, task) or (metric.by_classes == 0 and task > 1)
    if not fits:
        meant = {1: "regression", 2: "two classes", 3: "more than two classes", 0: "classes"}
        raise ParameterError(
            f"{owner}: the metric {name!r} is for {meant[metric.by_classes]}, and this is "
            + ("regression" if n_classes is None else f"a task of {n_classes} classes")
        )
    return metric
