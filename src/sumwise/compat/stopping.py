"""Early stopping by the rules of other libraries, on what :class:`Evaluation` has measured."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sumwise.compat.evaluation import Entry


class Patience:
    """Stops when a watched metric has not improved for some rounds, and knows its best round.

    Parameters
    ----------
    rounds : int
        Rounds without improvement after which training stops; a huge number only tracks the best.
    select : callable
        From the entries of a round to those that are watched. If there are several, each one
        that has not improved stops training, and it decides on the best round.
    min_delta : sequence of float or float, default=0.0
        An improvement must be larger than this; a sequence has one number per watched entry.

    Attributes
    ----------
    best_round : int or None
        Rounds in the best model.
    best_entries : list of Entry
        All that was measured after it.
    """

    def __init__(
        self,
        rounds: int,
        select: Callable[[list[Entry]], list[Entry]],
        min_delta: float | Sequence[float] = 0.0,
    ) -> None:
        self.rounds, self.select, self.min_delta = rounds, select, min_delta
        self.best_round: int | None = None
        self.best_score = np.nan
        self.best_entries: list[Entry] = []
        self._bests: list[tuple[float, int, list[Entry]]] = []

    def __call__(self, n_rounds: int, entries: list[Entry], state: Any = None, /) -> bool:
        """Record a round; return whether to stop."""
        watched = self.select(entries)
        deltas = np.broadcast_to(np.asarray(self.min_delta, dtype=float), (len(watched),))
        stopped = None
        for k, own in enumerate(watched):
            if k == len(self._bests):
                self._bests.append((own.value, n_rounds, entries))
            best, since, _ = self._bests[k]
            gain = own.value - best if own.higher else best - own.value
            if gain > deltas[k]:
                self._bests[k] = own.value, n_rounds, entries
            elif n_rounds - since >= self.rounds and stopped is None:
                stopped = k
        if self._bests:
            self.best_score, self.best_round, self.best_entries = self._bests[stopped or 0]
        return stopped is not None
