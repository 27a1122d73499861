"""Squared error of targets, or of their logarithms.

Squared: L = (f - y)^2 / 2, so g = f - y and h = 1; the best constant is the mean.

Squared logarithmic: L = (log(1 + p) - log(1 + y))^2 / 2 for the prediction p. The score is the
logarithm f = log(1 + p), so L = (f - log(1 + y))^2 / 2 is convex, and p = e^f - 1 is above -1. In
XGBoost the score is p itself, and the gradient is ours times df/dp = 1 / (1 + p).
"""

import numpy as np

from sumwise.kernels.losses import pointwise as kernels
from sumwise.kernels.losses.links import log_one_plus
from sumwise.kernels.runtime.threads import Team
from sumwise.losses.base import Loss, check_range, weighted_mean
from sumwise.peers import ALONE, Peers


class Squared(Loss):
    """Half the squared error."""

    link = "identity"
    hessian_is_weight = True
    _gradient_kernel = kernels.squared_gradient
    _value_kernel = kernels.squared_value

    def _find_constant(
        self, target: np.ndarray, weight: np.ndarray, team: Team | None, peers: Peers = ALONE
    ) -> float:
        return weighted_mean(target, weight, team, peers)


class SquaredLog(Loss):
    """Half the squared error of log(1 + target)."""

    link = "log1p"
    hessian_is_weight = True
    _gradient_kernel = kernels.squared_log_gradient
    _value_kernel = kernels.squared_log_value

    def _find_constant(
        self, target: np.ndarray, weight: np.ndarray, team: Team | None, peers: Peers = ALONE
    ) -> float:
        logs = np.empty(target.size)
        log_one_plus(target, logs)
        return weighted_mean(logs, weight, team, peers)

    def check_target(self, target: np.ndarray, weight: np.ndarray, peers: Peers = ALONE) -> None:
        rule = "targets above -1"
        check_range(target, weight, target > -1, "squared_log_error", rule, peers)
