"""Early stopping on the held-out rows of a fold, without looking at the row that is predicted.

A fold's models are judged on its held-out rows, so the number of rounds must not be tuned on them:
the score would be optimistic, and more so for boosting than for members that do not stop early. An
inner split would avoid that, and cost training rows. Here the held-out rows are two halves. The
rows of each half are predicted with the number of rounds that is best for the *other* half; the
model that predicts new rows keeps the number that is best for both.
"""

from collections.abc import Callable, Mapping

import numpy as np

from sumwise.training.callbacks import RoundState

# Names of the halves in the history.
HALVES = ("first", "second")
# Fewer rows than this are no guide to the number of rounds.
_FEWEST_ROWS = 10


def halve_rows(rows: np.ndarray, groups: np.ndarray | None) -> dict[str, np.ndarray]:
    """Return two halves of held-out rows by name; none if there are too few rows.

    Rows alternate; groups are in one half as a whole, if there are several.
    """
    if rows.size < len(HALVES) * _FEWEST_ROWS:
        return {}
    turn = np.arange(rows.size)
    if groups is not None:
        distinct, turn = np.unique(groups[rows], return_inverse=True)
        if distinct.size < len(HALVES):
            turn = np.arange(rows.size)
    return {name: rows[turn % len(HALVES) == k] for k, name in enumerate(HALVES)}


class StopWhenStale:
    """A callback that ends training when the loss of the held-out rows no longer improves.

    Parameters
    ----------
    shares : mapping of str to float
        The share of each half in the total weight; without any, only ``is_over`` counts.
    patience : int
        Rounds without improvement after which training ends.
    is_over : callable
        Whether training must end now.
    """

    def __init__(
        self, shares: Mapping[str, float], patience: int, is_over: Callable[[], bool]
    ) -> None:
        self._shares, self._patience, self._is_over = shares, patience, is_over
        self._best_loss, self._best_round = np.inf, 0
        self.was_cut = False

    def __call__(self, state: RoundState, /) -> bool:
        """Return whether training should stop."""
        if self._is_over():
            self.was_cut = True
            return True
        if not self._shares:
            return False
        loss = sum(share * state.scores[f"{name}_loss"] for name, share in self._shares.items())
        if loss < self._best_loss:
            self._best_loss, self._best_round = loss, state.round_number
        return state.round_number - self._best_round >= self._patience


def choose_rounds(
    history: Mapping[str, np.ndarray], shares: Mapping[str, float]
) -> tuple[int, dict[str, int]]:
    """Return the best number of rounds, and by half the number to predict its rows with."""
    losses = {name: history[f"{name}_loss"] for name in shares}
    total = np.sum([share * losses[name] for name, share in shares.items()], axis=0)
    first, second = HALVES
    by_half = {
        first: int(np.argmin(losses[second])) + 1,
        second: int(np.argmin(losses[first])) + 1,
    }
    return int(np.argmin(total)) + 1, by_half
