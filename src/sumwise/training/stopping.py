"""Early stopping: remember the best round, and when to give up."""

import math
from collections.abc import Sequence

import numpy as np

from sumwise.errors import TrainingError

LOSS = "validation_loss"
SCORE = "validation_score"
# How much lower a round makes the loss of the rows that it left out.
OOB = "oob_improvement"


class EarlyStopping:
    """Watches the loss or the score of validation rows, or what rounds improve where they left
    rows out: the sum of improvements is what should be high then.

    Parameters
    ----------
    patience : int
        Rounds without a new best after which training stops.
    tol : float
        A new best is better than the old one by more than this.
    watched : str
        What is watched, as the history calls it: "validation_loss", "oob_improvement" or another.
    lower : bool or None
        Whether lower is better: None for the validation loss alone.
    """

    def __init__(
        self, patience: int, tol: float = 0.0, watched: str = LOSS, lower: bool | None = None
    ) -> None:
        self.patience = patience
        self.tol = tol
        self.watched = watched
        self.lower = watched == LOSS if lower is None else lower
        self.best_score = math.inf if self.lower else -math.inf
        self.best_round = 0
        self._improved = 0.0

    def should_stop(self, n_rounds: int, score: float) -> bool:
        """Take note of the score after ``n_rounds`` rounds."""
        if not math.isfinite(score):
            self._refuse(score)
        if self.watched == OOB:
            self._improved += score
            score = self._improved
        if self._is_new_best(score):
            self.best_score, self.best_round = score, n_rounds
        return n_rounds - self.best_round >= self.patience

    def resume(self, measured: Sequence[float], recorded: Sequence[float] | np.ndarray) -> bool:
        """Take note of rounds from before this fit; return whether they are enough.

        ``measured`` is what they score now, ``recorded`` what they scored when they were trained.
        If both agree, they were measured on the same rows, and training goes on as if it had not
        paused. Otherwise the old rounds are given, and only new ones are chosen from.
        """
        n_rounds = len(measured)
        paused = np.array_equal(measured, recorded[:n_rounds])
        first = 0 if paused else n_rounds - 1
        return any(self.should_stop(i + 1, measured[i]) for i in range(first, n_rounds))

    def _is_new_best(self, score: float) -> bool:
        if self.lower:
            return score < self.best_score - self.tol
        return score > self.best_score + self.tol

    def _refuse(self, score: float) -> None:
        if not self.lower and self.watched != OOB:
            raise TrainingError(
                f"scoring gave {score} on the validation rows, so that rounds cannot be compared; "
                "choose another scoring, or validation rows that it can judge"
            )
        raise TrainingError(
            "the validation loss is not finite: targets or weights are too large in magnitude, "
            "or scores have grown without bound; scale them down or lower learning_rate"
        )
