"""Several targets at once: a loss per target, each with an output of its own.

L = (L_1(y_1, f_1) + ... + L_K(y_K, f_K)), so the gradient of an output is that of its own target.
The value that early stopping watches is the mean over the targets instead of the sum: it does not
grow with their number.
"""

from collections.abc import Sequence

import numpy as np

from sumwise.errors import DataError
from sumwise.kernels.runtime.threads import Team
from sumwise.losses.base import Location, Loss


def take_target(target: np.ndarray, output: int) -> np.ndarray:
    """The target of an output: its column, or the target itself if there is only one."""
    return target if target.ndim == 1 else np.ascontiguousarray(target[:, output])


class MultiTarget(Loss):
    """A loss for each of several targets; ``target`` has shape (n_rows, n_outputs).

    Parameters
    ----------
    losses : sequence of Loss
        One per target, all of the same kind.
    """

    def __init__(self, losses: Sequence[Loss]) -> None:
        self._losses = tuple(losses)
        self.n_outputs = len(self._losses)
        self.link = self._losses[0].link

    def at_output(self, output: int) -> Loss:
        return self._losses[output]

    def gradient(
        self,
        team: Team,
        target: np.ndarray,
        raw: np.ndarray,
        weight: np.ndarray,
        gradient: np.ndarray,
        hessian: np.ndarray,
    ) -> None:
        for k, loss in enumerate(self._losses):
            own = (array[k : k + 1] for array in (raw, gradient, hessian))
            scores, g, h = own
            loss.gradient(team, take_target(target, k), scores, weight, g, h)

    def value(
        self, target: np.ndarray, raw: np.ndarray, weight: np.ndarray, rows: np.ndarray
    ) -> float:
        values = [
            loss.value(take_target(target, k), raw[k : k + 1], weight, rows)
            for k, loss in enumerate(self._losses)
        ]
        return sum(values) / self.n_outputs

    def initial_score(self, target: np.ndarray, weight: np.ndarray, rows: np.ndarray) -> np.ndarray:
        scores = [
            loss.initial_score(take_target(target, k), weight, rows)
            for k, loss in enumerate(self._losses)
        ]
        return np.concatenate(scores)

    def initial_shift(
        self, target: np.ndarray, weight: np.ndarray, rows: np.ndarray, init_score: np.ndarray
    ) -> np.ndarray:
        shifts = [
            loss.initial_shift(take_target(target, k), weight, rows, init_score[k : k + 1])
            for k, loss in enumerate(self._losses)
        ]
        return np.concatenate(shifts)

    def adapt(
        self,
        target: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        init_score: np.ndarray | None,
    ) -> "MultiTarget":
        return MultiTarget(
            [
                loss.adapt(
                    take_target(target, k),
                    weight,
                    rows,
                    None if init_score is None else init_score[k : k + 1],
                )
                for k, loss in enumerate(self._losses)
            ]
        )

    def at_round(
        self, target: np.ndarray, raw: np.ndarray, weight: np.ndarray, rows: np.ndarray
    ) -> "MultiTarget":
        return MultiTarget(
            [
                loss.at_round(take_target(target, k), raw[k : k + 1], weight, rows)
                for k, loss in enumerate(self._losses)
            ]
        )

    def check_target(self, target: np.ndarray, weight: np.ndarray) -> None:
        for k, loss in enumerate(self._losses):
            try:
                loss.check_target(take_target(target, k), weight)
            except DataError as error:
                raise DataError(f"target {k}: {error}") from None

    @property
    def location(self) -> Location | None:
        """That of the first target; each output has its own."""
        return self._losses[0].location

    @property
    def refits_leaves(self) -> bool:
        return self._losses[0].refits_leaves

    @property
    def has_value(self) -> bool:
        return self._losses[0].has_value

    @property
    def hessian_is_weight(self) -> bool:  # type: ignore[override]
        return self._losses[0].hessian_is_weight
