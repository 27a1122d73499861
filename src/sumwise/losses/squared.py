"""Squared error of targets, or of their logarithms.

Squared: L = (f - y)^2 / 2, so g = f - y and h = 1; the best constant is the mean.

Squared logarithmic: L = (log(1 + p) - log(1 + y))^2 / 2 of the prediction p. Scores are the
logarithms, f = log(1 + p): so L = (f - log(1 + y))^2 / 2, which is convex, and p = e^f - 1 is above
-1. XGBoost's scores are p themselves, and its gradient is ours times df/dp = 1 / (1 + p).
"""

import numpy as np

from sumwise.kernels.losses import classification as kernels
from sumwise.kernels.losses import regression as regression_losses
from sumwise.losses.base import Loss, at_rows, check_range, weighted_mean


class Squared(Loss):
    """Half the squared error."""

    link = "identity"
    hessian_is_weight = True
    _gradient_kernel = kernels.squared_gradient
    _value_kernel = kernels.squared_value

    def initial_score(self, target: np.ndarray, weight: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.array([weighted_mean(target[rows], at_rows(weight, rows))])


class SquaredLog(Loss):
    """Half the squared error of logarithms of one plus the target."""

    link = "log1p"
    hessian_is_weight = True
    _gradient_kernel = regression_losses.squared_log_gradient
    _value_kernel = regression_losses.squared_log_value

    def initial_score(self, target: np.ndarray, weight: np.ndarray, rows: np.ndarray) -> np.ndarray:
        logs = np.empty(rows.size)
        regression_losses.log_one_plus(target[rows], logs)
        return np.array([weighted_mean(logs, at_rows(weight, rows))])

    def check_target(self, target: np.ndarray, weight: np.ndarray) -> None:
        check_range(target, weight, target > -1, "squared_log_error", "targets above -1")
