"""What a loss must say of itself."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from sumwise.kernels.reduce import exact_sum
from sumwise.kernels.threads import Team

# Probabilities are kept this far from 0 and 1 when they become scores.
SMALLEST_PROBABILITY = 1e-15
# Up to as many scores take less time than to call another thread.
_FEW_SCORES = 20_000


class Loss(ABC):
    """A loss of (target, raw score); raw scores have shape (n_outputs, n_rows).

    Targets are float64: the response, 0 or 1 for two classes, the class index for more. An empty
    ``weight`` stands for weights of one.
    """

    link: ClassVar[str]
    n_outputs: int = 1
    # Kernels of kernels.losses.
    _gradient_kernel: Any
    _value_kernel: Any

    def gradient(
        self,
        team: Team,
        target: np.ndarray,
        raw: np.ndarray,
        weight: np.ndarray,
        gradient: np.ndarray,
        hessian: np.ndarray,
    ) -> None:
        """Fill gradient and hessian, shaped as ``raw``."""
        run = team.run if raw.size > _FEW_SCORES else team.run_alone
        run(type(self)._gradient_kernel, target, raw, weight, gradient, hessian)

    def value(
        self, target: np.ndarray, raw: np.ndarray, weight: np.ndarray, rows: np.ndarray
    ) -> float:
        """Weighted mean loss over ``rows``; the same for any order of the rows."""
        losses = np.empty(rows.size)
        type(self)._value_kernel(target, raw, weight, rows, losses)
        total = exact_sum(weight[rows]) if weight.size else float(rows.size)
        return float(exact_sum(losses) / total)

    @abstractmethod
    def initial_score(self, target: np.ndarray, weight: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The constant score that minimizes the loss over ``rows``, one an output."""


def weighted_mean(values: np.ndarray, weight: np.ndarray) -> float:
    """Mean under weights (none if empty), independent of the order."""
    if weight.size:
        with np.errstate(over="ignore"):  # inf makes the mean nan, which the caller refuses
            return float(exact_sum(values * weight) / exact_sum(weight))
    return float(exact_sum(values) / values.size)


def at_rows(weight: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The weights of rows; empty stays empty."""
    return weight[rows] if weight.size else weight
