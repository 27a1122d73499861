"""Losses of two classes, y = 0 or 1.

Logistic: L = log(1 + e^f) - y f with p = 1 / (1 + e^-f), so g = p - y and h = p (1 - p).
Exponential (AdaBoost's): L = e^(-s f) with s = 2 y - 1, so g = -s L and h = L. Its minimizer is
half the log odds, hence p = 1 / (1 + e^(-2 f)).
"""

from typing import ClassVar

import numpy as np

from sumwise.kernels.losses import pointwise as kernels
from sumwise.kernels.runtime.elementary import natural_log
from sumwise.kernels.runtime.threads import Team
from sumwise.losses.base import SMALLEST_PROBABILITY, Loss, find_share
from sumwise.peers import ALONE, Peers


class Logistic(Loss):
    """Negative log likelihood of two classes; scores are log odds."""

    link = "logistic"
    target_type = np.uint8  # an eighth of the memory
    _log_odds: ClassVar[float] = 1.0  # the score in units of log odds
    _gradient_kernel = kernels.logistic_gradient
    _value_kernel = kernels.logistic_value

    def _find_constant(
        self, target: np.ndarray, weight: np.ndarray, team: Team | None, peers: Peers = ALONE
    ) -> float:
        p = self._find_mean(target, weight, team, peers)
        p = min(max(p, SMALLEST_PROBABILITY), 1.0 - SMALLEST_PROBABILITY)
        return self._log_odds * natural_log(p / (1.0 - p))

    def _find_mean(
        self, target: np.ndarray, weight: np.ndarray, team: Team | None, peers: Peers
    ) -> float:
        return find_share(target, weight, team, peers)


class Exponential(Logistic):
    """Exponential loss of the margin; scores are half log odds."""

    link = "half_logistic"
    _log_odds = 0.5
    _gradient_kernel = kernels.exponential_gradient
    _value_kernel = kernels.exponential_value
