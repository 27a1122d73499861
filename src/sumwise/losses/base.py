"""What a loss must say of itself."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sumwise.errors import DataError
from sumwise.kernels.losses.influence import CLIPPED
from sumwise.kernels.runtime.reduce import exact_sum
from sumwise.kernels.runtime.threads import Team

# Probabilities are kept this far from 0 and 1 when they become scores.
SMALLEST_PROBABILITY = 1e-15
# Up to as many scores take less time than to call another thread.
_FEW_SCORES = 50_000


class Location(NamedTuple):
    """What the value of a leaf is where the hessian does not serve; see kernels/location.py."""

    level: float
    delta: float = np.inf  # the quantile alone
    influence: int = CLIPPED  # of distances from it, at most delta


class Loss(ABC):
    """A loss of (target, raw score); raw scores have shape (n_outputs, n_rows).

    Targets are float64: the response, 0 or 1 for two classes, the class index for more. An empty
    ``weight`` stands for weights of one.
    """

    link: str
    n_outputs: int = 1
    # Whether the hessian is the second derivative; otherwise it is at least that.
    exact_hessian: ClassVar[bool] = True
    # Whether the hessian of a row is its weight, whatever its score.
    hessian_is_weight: bool = False
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
        kernel, arguments = type(self)._gradient_kernel, self._kernel_arguments()
        run(kernel, target, raw, weight, gradient, hessian, *arguments)

    def value(
        self, target: np.ndarray, raw: np.ndarray, weight: np.ndarray, rows: np.ndarray
    ) -> float:
        """Weighted mean loss over ``rows``; the same for any order of the rows."""
        losses = np.empty(rows.size)
        type(self)._value_kernel(target, raw, weight, rows, losses, *self._kernel_arguments())
        return mean_loss(losses, weight, rows)

    @abstractmethod
    def initial_score(self, target: np.ndarray, weight: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The constant score that minimizes the loss over ``rows``, one an output."""

    def initial_shift(
        self, target: np.ndarray, weight: np.ndarray, rows: np.ndarray, init_score: np.ndarray
    ) -> np.ndarray:
        """The constant to add to initial scores of the user's own: none, unless a loss says so."""
        return np.zeros(self.n_outputs)

    def adapt(
        self,
        target: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        init_score: np.ndarray | None,
    ) -> "Loss":
        """Return the loss with what it takes from the training rows of a fit."""
        return self

    def at_round(
        self, target: np.ndarray, raw: np.ndarray, weight: np.ndarray, rows: np.ndarray
    ) -> "Loss":
        """Return the loss whose gradients a round follows, where it changes with the scores."""
        return self

    def at_output(self, output: int) -> "Loss":
        """Return the loss of one output, where each has its own."""
        return self

    def check_target(self, target: np.ndarray, weight: np.ndarray) -> None:
        """Raise DataError for a target of positive weight that the loss is not defined for."""
        return None

    @property
    def location(self) -> Location | None:
        """What leaves are refitted to; None where their values come from the hessian."""
        return None

    @property
    def refits_leaves(self) -> bool:
        """Whether leaves have a location; known before :meth:`adapt` finds its parameters."""
        return type(self).location is not Loss.location

    def location_weight(self, target: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The weights of rows in locations; empty if all are one."""
        return weight

    @property
    def has_value(self) -> bool:
        """Whether the loss of scores can be measured."""
        return True

    def _kernel_arguments(self) -> tuple[float, ...]:
        """The parameters, as the kernels take them."""
        return ()


def mean_loss(losses: np.ndarray, weight: np.ndarray, rows: np.ndarray) -> float:
    """The weighted mean of losses of ``rows`` that are multiplied by their weights already."""
    total = exact_sum(weight[rows]) if weight.size else float(rows.size)
    return float(exact_sum(losses) / total)


def check_range(
    target: np.ndarray, weight: np.ndarray, is_right: np.ndarray, name: str, rule: str
) -> None:
    """Raise DataError for the first target that is not right and counts."""
    is_wrong = ~is_right & (weight > 0) if weight.size else ~is_right
    if is_wrong.any():
        row = int(is_wrong.argmax())
        raise DataError(
            f"y[{row}] is {target[row]:g}; loss={name!r} needs {rule} "
            f"({np.count_nonzero(is_wrong)} of {target.size} targets are not)"
        )


def weighted_mean(values: np.ndarray, weight: np.ndarray) -> float:
    """Mean under weights (none if empty), independent of the order."""
    if weight.size:
        with np.errstate(over="ignore"):  # inf makes the mean nan, which the caller refuses
            return float(exact_sum(values * weight) / exact_sum(weight))
    return float(exact_sum(values) / values.size)


def at_rows(weight: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The weights of rows; empty stays empty."""
    return weight[rows] if weight.size else weight
