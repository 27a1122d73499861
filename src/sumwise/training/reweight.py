"""The arithmetic of AdaBoost's rounds, as functions of errors and arrays.

With K classes, an error e and a learning rate r, SAMME (Zhu et al., 2009) gives a learner the
weight ``a = r / 2 * (ln((1 - e) / e) + ln(K - 1))``. Rows that it gets wrong weigh ``exp(2 a)``
times as much as before, relative to those it gets right. For two classes this is Freund and
Schapire's AdaBoost: ``a = r / 2 * ln((1 - e) / e)``. For numbers it is AdaBoost.R2 (Drucker, 1997).
"""

import math
from typing import NamedTuple

import numpy as np

# Lower bound of the error, so that the weight of a perfect learner is finite.
SMALLEST_ERROR = float(np.finfo(np.float64).eps)
# Differences from chance below this, and distances below this share of the largest target, are
# rounding errors.
_ROUNDING = 1e-13


def find_chance_error(n_classes: int) -> float:
    """Return the error of guessing, the limit for a learner; one half for numbers (0 classes)."""
    return 1.0 - 1.0 / n_classes if n_classes else 0.5


def is_too_weak(error: float, chance_error: float) -> bool:
    """Whether a learner is no better than chance, up to rounding."""
    return not error < chance_error - _ROUNDING


def weigh_classifier(error: float, n_classes: int, learning_rate: float = 1.0) -> float:
    """Return the weight of a learner: half the log odds of being right, above those of chance.

    >>> round(weigh_classifier(0.25, 2), 4)  # ln(3) / 2
    0.5493
    """
    error = max(error, SMALLEST_ERROR)
    odds = math.log1p(-error) - math.log(error) + math.log(n_classes - 1)
    return 0.5 * learning_rate * odds


def weigh_regressor(error: float, learning_rate: float = 1.0) -> float:
    """Return the weight of a regressor: ``ln(1 / beta)`` with ``beta = error / (1 - error)``."""
    error = max(error, SMALLEST_ERROR)
    return learning_rate * (math.log1p(-error) - math.log(error))


class WeightChange(NamedTuple):
    """Factors on the weights of rows, so that they sum to one again.

    Attributes
    ----------
    right : float
        Factor of rows that the learner got right.
    wrong : float
        Factor of the others.
    log_normalizer : float
        Logarithm of Z, the factor by which the round changes the exponential loss.
    """

    right: float
    wrong: float
    log_normalizer: float


def change_weights(error: float, weight: float, n_classes: int) -> WeightChange:
    """Return how a learner with this error and weight changes the weights of rows.

    The exponential loss of a row is ``exp(-2 (K - 1) / K * a)`` times as large if the learner is
    right, and ``exp(2 / K * a)`` times if it is wrong: ``exp(-a)`` and ``exp(a)`` for two classes.
    Nothing overflows, even for large weights.
    """
    ratio = math.exp(-2.0 * weight)  # of right to wrong
    share = error + (1.0 - error) * ratio
    if share == 0.0:  # a perfect learner whose weight is too large for exp
        return WeightChange(1.0, 1.0, -2.0 * weight * (n_classes - 1) / n_classes)
    log_normalizer = 2.0 * weight / n_classes + math.log(share)
    return WeightChange(ratio / share, 1.0 / share, log_normalizer)


def is_rounding(distance: float, y: np.ndarray) -> bool:
    """Whether a distance from y is only a rounding error."""
    return distance <= _ROUNDING * float(np.abs(y).max(initial=0.0))
