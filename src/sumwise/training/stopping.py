"""Early stopping: the best round so far, and when to stop."""

import math
from collections.abc import Sequence

import numpy as np

from sumwise.errors import TrainingError

LOSS = "validation_loss"
SCORE = "validation_score"
# The decrease of the loss of the rows that a round left out.
OOB = "oob_improvement"


class EarlyStopping:
    """Watches a loss or score of validation rows, or the sum of out-of-bag improvements.

    Parameters
    ----------
    patience : int
        Rounds without a new best after which training stops.
    tol : float
        A new best must be better by more than this.
    watched : str
        The watched score, by its name in the history: "validation_loss", "oob_improvement" or
        another.
    lower : bool or None
        Whether lower is better. None: lower is better only for the validation loss.
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
        self.first = 0  # the first round that is considered
        self._improved = 0.0

    def should_stop(self, n_rounds: int, score: float) -> bool:
        """Record the score after ``n_rounds`` rounds; return whether to stop."""
        if not math.isfinite(score):
            self._refuse(score)
        if self.watched == OOB:
            self._improved += score
            score = self._improved
        if self._is_new_best(score):
            self.best_score, self.best_round = score, n_rounds
        return n_rounds - self.best_round >= self.patience

    def resume(self, measured: Sequence[float], recorded: Sequence[float] | np.ndarray) -> bool:
        """Record the rounds from before this fit; return whether to stop.

        ``measured`` are their scores now, ``recorded`` those when they were trained. If both agree,
        they were measured on the same rows, and early stopping resumes from them. Otherwise it
        considers new rounds only. Rounds that are recorded as nan are not considered.
        """
        n_rounds, n_others = len(measured), int(np.isnan(recorded).sum())
        resumes = np.array_equal(measured[n_others:], recorded[n_others:n_rounds])
        first = self.first = n_others if resumes else n_rounds - 1
        return any(self.should_stop(i + 1, measured[i]) for i in range(first, n_rounds))

    def _is_new_best(self, score: float) -> bool:
        if self.lower:
            return score < self.best_score - self.tol
        return score > self.best_score + self.tol

    def _refuse(self, score: float) -> None:
        if not self.lower and self.watched != OOB:
            raise TrainingError(
                f"scoring gave {score} on the validation rows, so rounds cannot be compared; "
                "choose another scoring, or validation rows that it can judge"
            )
        raise TrainingError(
            "the validation loss is not finite: targets or weights are too large in magnitude, "
            "or scores have grown without bound; scale them down or lower learning_rate"
        )
