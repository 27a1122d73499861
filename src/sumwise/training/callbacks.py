"""Callbacks: functions that are called after each round of training."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from sumwise.errors import ParameterError
from sumwise.parts import Part, check_count


@dataclass(frozen=True)
class RoundState:
    """The state of training after a round.

    Attributes
    ----------
    round_number : int
        Rounds in the model so far: 1 after the first.
    n_rounds : int
        Rounds to train in total.
    scores : mapping of str to float
        "training_loss"; with validation rows "validation_loss"; with ``scoring`` other than
        "loss", "validation_score"; with a sampler that leaves rows out at random,
        "oob_improvement".
    seconds : float
        Time since training began.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import GradientBoostingRegressor, RoundState
    >>> def stop_when_good(state: RoundState) -> bool:
    ...     return state.scores["training_loss"] < 2000
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(callbacks=[stop_when_good]).fit(X, y)
    >>> model.best_iteration_ < 100
    True
    """

    round_number: int
    n_rounds: int
    scores: Mapping[str, float]
    seconds: float
    _make_model: Callable[[], Any] = field(repr=False, compare=False)

    def model(self) -> Any:
        """Return a fitted copy of the estimator with all rounds so far."""
        return self._make_model()


class Callback(Protocol):
    """A function, or another callable, of the state after a round.

    Training stops if it returns True; any other result is ignored. With early stopping the model
    still ends with its best round. An exception ends the fit and leaves no model.

    Examples
    --------
    >>> from sumwise import Callback, RoundState
    >>> class TimeLimit:
    ...     def __init__(self, seconds: float) -> None:
    ...         self.seconds = seconds
    ...     def __call__(self, state: RoundState) -> bool:
    ...         return state.seconds > self.seconds
    >>> limit: Callback = TimeLimit(60)
    """

    def __call__(self, state: RoundState, /) -> Any:
        """Handle a round; return True to stop."""


@dataclass(eq=False, repr=False)
class Snapshot(Part):
    """A callback that saves the model at regular intervals.

    The file replaces the last one only when it is complete. It has all rounds so far, including
    those that early stopping would remove: ``fit(..., init_model=path)`` with the same data and
    parameters gives the same model as an uninterrupted fit.

    Parameters
    ----------
    path : str or path-like
        File to write.
    every : int, default=10
        Number of rounds between snapshots.

    Examples
    --------
    >>> import os, tempfile
    >>> import sumwise
    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "snapshot.sumwise")
    ...     save = sumwise.Snapshot(path, every=4)
    ...     model = sumwise.GradientBoostingRegressor(n_estimators=10, callbacks=[save]).fit(X, y)
    ...     sumwise.load(path).best_iteration_
    8
    """

    path: str | os.PathLike[str]
    every: int = 10

    def check(self) -> None:
        """Refuse parameters that cannot be used, before training."""
        check_count(self, "every", 1)
        folder = Path(self.path).parent
        if not folder.is_dir():
            raise ParameterError(f"Snapshot(path={self.path!r}): there is no folder {folder}")

    def __call__(self, state: RoundState, /) -> None:
        if state.round_number % self.every == 0:
            state.model().save(self.path)


def call_all(callbacks: Sequence[Callback], state: RoundState) -> bool:
    """Call all callbacks; return whether one of them asks to stop."""
    answers = [callback(state) for callback in callbacks]
    return any(isinstance(answer, (bool, np.bool_)) and bool(answer) for answer in answers)
