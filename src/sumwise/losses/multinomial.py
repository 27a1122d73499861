"""Negative log likelihood of K > 2 classes, one tree per class and round.

p = softmax(f), g_k = p_k - [y = k]. The true hessian couples the classes; one tree at a time sees
its diagonal p_k (1 - p_k). We use K / (K - 1) times the diagonal, as Friedman (2001, algorithm 6)
and LightGBM do; for K = 2 this gives the step of the binary loss. scikit-learn's
HistGradientBoosting uses the diagonal itself, XGBoost twice the diagonal.
"""

import numpy as np

from sumwise.kernels.losses import multinomial as kernels
from sumwise.kernels.runtime.elementary import natural_log
from sumwise.kernels.runtime.threads import Team
from sumwise.losses.base import SMALLEST_PROBABILITY, Loss, at_rows
from sumwise.losses.peer_sums import add_weights
from sumwise.peers import ALONE, Peers

# Rows counted at a time: their class indices stay in the cache.
_BLOCK = 1 << 15


class Multinomial(Loss):
    """Cross-entropy of the softmax; scores are log probabilities up to a constant.

    Parameters
    ----------
    n_classes : int
        Number of classes, at least 3.
    """

    link = "softmax"
    exact_hessian = False
    _gradient_kernel = kernels.multinomial_gradient
    _value_kernel = kernels.multinomial_value

    def __init__(self, n_classes: int) -> None:
        self.n_outputs = n_classes

    def initial_score(
        self,
        target: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        team: Team | None = None,
        peers: Peers = ALONE,
    ) -> np.ndarray:
        labels, weight = at_rows(target, rows), at_rows(weight, rows)
        if weight.size or peers.size > 1:
            sums, total = add_weights(self.n_outputs, labels, weight, peers)
            shares = [own / total for own in sums.tolist()]
        else:
            shares = [count / labels.size for count in self._count(labels).tolist()]
        return np.array([natural_log(max(share, SMALLEST_PROBABILITY)) for share in shares])

    def _count(self, labels: np.ndarray) -> np.ndarray:
        """Return the number of rows of each class."""
        counts = np.zeros(self.n_outputs, dtype=np.int64)
        for first in range(0, labels.size, _BLOCK):
            block = labels[first : first + _BLOCK].astype(np.intp)
            counts += np.bincount(block, minlength=self.n_outputs)
        return counts
