"""Cross-entropy of targets that are probabilities themselves.

L = log(1 + e^f) - y f with 0 <= y <= 1 and p = 1 / (1 + e^-f), so g = p - y and h = p (1 - p).
For y = 0 or 1 this is the logistic loss. As there, the best constant is the log odds of the mean.
A row with probability y counts as a row of class 1 with weight y and one of class 0 with 1 - y.
"""

import numpy as np

from sumwise.kernels.losses import pointwise as kernels
from sumwise.kernels.runtime.threads import Team
from sumwise.losses.base import check_range, weighted_mean
from sumwise.losses.binary import Logistic
from sumwise.peers import ALONE, Peers


class CrossEntropy(Logistic):
    """Cross-entropy of probabilities; scores are log odds, predictions the mean probability."""

    link = "sigmoid"
    _gradient_kernel = kernels.cross_entropy_gradient
    _value_kernel = kernels.cross_entropy_value

    def _find_mean(
        self, target: np.ndarray, weight: np.ndarray, team: Team | None, peers: Peers
    ) -> float:
        return weighted_mean(target, weight, team, peers)

    def check_target(self, target: np.ndarray, weight: np.ndarray, peers: Peers = ALONE) -> None:
        is_right = (target >= 0) & (target <= 1)
        check_range(target, weight, is_right, "cross_entropy", "probabilities in [0, 1]", peers)
