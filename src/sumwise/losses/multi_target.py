"""Several targets at once: one loss and one output per target.

L = L_1(y_1, f_1) + ... + L_K(y_K, f_K), so the gradient of an output is that of its own target.
The value that early stopping watches is the mean over the targets instead of the sum, so that it
does not grow with their number.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from sumwise.errors import DataError
from sumwise.losses.base import Location, Loss, take_target
from sumwise.peers import ALONE, Peers

if TYPE_CHECKING:
    from sumwise.cuda.runtime.team import DeviceTeam


class MultiTarget(Loss):
    """A loss for each of several targets; ``target`` has shape (n_rows, n_outputs).

    Parameters
    ----------
    losses : sequence of Loss
        One per target, all of the same class.
    """

    is_separable = True

    def __init__(self, losses: Sequence[Loss]) -> None:
        self._losses = tuple(losses)
        self.n_outputs = len(self._losses)
        self.link = self._losses[0].link

    def at_output(self, output: int) -> Loss:
        return self._losses[output]

    def initial_shift(
        self,
        target: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        init_score: np.ndarray,
        peers: Peers = ALONE,
    ) -> np.ndarray:
        parts = self._split(target)
        shifts = [loss.initial_shift(y, weight, rows, init_score[k], peers) for k, loss, y in parts]
        return np.concatenate(shifts)

    def adapt(
        self,
        target: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        scores: np.ndarray | None,
        peers: Peers = ALONE,
    ) -> "MultiTarget":
        adapted = [
            loss.adapt(y, weight, rows, None if scores is None else scores[k], peers)
            for k, loss, y in self._split(target)
        ]
        return MultiTarget(adapted)

    def at_round(
        self,
        target: np.ndarray,
        raw: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
        peers: Peers = ALONE,
    ) -> "MultiTarget":
        parts = self._split(target)
        return MultiTarget([loss.at_round(y, raw[k], weight, rows, peers) for k, loss, y in parts])

    def on_device(self, team: "DeviceTeam") -> "MultiTarget":
        return MultiTarget([loss.on_device(team) for loss in self._losses])

    def check_target(self, target: np.ndarray, weight: np.ndarray, peers: Peers = ALONE) -> None:
        for k, loss in enumerate(self._losses):
            try:
                loss.check_target(take_target(target, k), weight, peers)
            except DataError as error:
                raise DataError(f"target {k}: {error}") from None

    @property
    def location(self) -> Location | None:
        """The location of the first target; each output has its own."""
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
