"""Squared error, the loss of regression.

L = (f - y)^2 / 2, so g = f - y and h = 1; the best constant is the mean.
"""

import numpy as np

from sumwise.kernels import losses as kernels
from sumwise.losses.base import Loss, at_rows, weighted_mean


class Squared(Loss):
    """Half the squared error."""

    link = "identity"
    _gradient_kernel = kernels.squared_gradient
    _value_kernel = kernels.squared_value

    def initial_score(self, target: np.ndarray, weight: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.array([weighted_mean(target[rows], at_rows(weight, rows))])
