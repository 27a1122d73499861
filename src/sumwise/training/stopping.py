"""Early stopping: remember the best round, and when to give up."""

import math

from sumwise.errors import TrainingError


class EarlyStopping:
    """Watches a validation loss.

    Parameters
    ----------
    patience : int
        Rounds without a new best after which training stops.
    """

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.best_loss = math.inf
        self.best_round = 0

    def should_stop(self, n_rounds: int, loss: float) -> bool:
        """Take note of the loss after ``n_rounds`` rounds."""
        if not math.isfinite(loss):
            raise TrainingError(
                "the validation loss is not finite: targets or weights are too large in magnitude, "
                "or scores have grown without bound; scale them down or lower learning_rate"
            )
        if loss < self.best_loss:
            self.best_loss, self.best_round = loss, n_rounds
        return n_rounds - self.best_round >= self.patience
