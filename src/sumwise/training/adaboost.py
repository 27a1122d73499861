"""The loop of AdaBoost: learners of any type, trained one after another on changing weights."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from sumwise.kernels.adaboost import reweight as reweigh
from sumwise.kernels.runtime.threads import Team
from sumwise.training.callbacks import Callback, RoundState
from sumwise.training.reweight import (
    change_weights,
    find_chance_error,
    is_rounding,
    is_too_weak,
    weigh_classifier,
    weigh_regressor,
)
from sumwise.tree.shallow import choose_run

LOSSES = {
    "linear": reweigh.LINEAR,
    "square": reweigh.SQUARE,
    "exponential": reweigh.EXPONENTIAL,
}
# Why training ended.
ALL_ROUNDS, PERFECT, TOO_WEAK = "n_estimators", "perfect", "too_weak"

# From weights of rows, which sum to one, to a fitted member and its predictions for all rows: class
# indices or numbers. None if a sample cannot be learned from.
Learn = Callable[[np.ndarray], tuple[Any, np.ndarray] | None]


@dataclass
class AdaBoostResult:
    """The result of the rounds.

    Attributes
    ----------
    members : list
        Learners that were kept.
    weights, errors : list of float
        Weight and error of each member.
    log_losses : list of float
        Logarithm of the exponential loss after each round; of no meaning for numbers.
    stop_reason : str
        "n_estimators", "perfect" or "too_weak".
    n_restarts : int
        Learners that were too weak and replaced.
    rejected : tuple or None
        The last learner that was too weak, and its error.
    """

    members: list[Any] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    log_losses: list[float] = field(default_factory=list)
    stop_reason: str = ALL_ROUNDS
    n_restarts: int = 0
    rejected: tuple[Any, float] | None = None


class Rule(Protocol):
    """How errors are measured, and how they change the weights of rows."""

    chance_error: float

    def measure(self, predicted: np.ndarray, weight: np.ndarray) -> float:
        """Return the weighted error of predictions."""

    def weigh(self, error: float) -> float:
        """Return the weight of a learner with this error."""

    def change(self, error: float, member_weight: float, weight: np.ndarray) -> float:
        """Change the weights of rows after ``measure``; return log Z, see :class:`WeightChange`."""


class ClassRule:
    """SAMME, which is AdaBoost for two classes. One class counts as two, one of them empty."""

    def __init__(
        self, class_idx: np.ndarray, n_classes: int, learning_rate: float, team: Team
    ) -> None:
        n_classes = max(n_classes, 2)
        self.chance_error = find_chance_error(n_classes)
        self._class_idx = class_idx.astype(np.uint16)
        self._n_classes, self._learning_rate = n_classes, learning_rate
        self._run = choose_run(team, class_idx.size)
        self._wrong = np.empty(class_idx.size, dtype=np.uint8)
        self._sums = _allocate_sums(class_idx.size)

    def measure(self, predicted: np.ndarray, weight: np.ndarray) -> float:
        """Return the share of the rows that are wrong, by weight."""
        predicted = predicted.astype(np.uint16, copy=False)
        arguments = (self._class_idx, predicted, weight, self._wrong, self._sums)
        self._run(reweigh.find_wrong, *arguments)
        return _share(self._sums)

    def weigh(self, error: float) -> float:
        """Return half the log odds, times the learning rate."""
        return weigh_classifier(error, self._n_classes, self._learning_rate)

    def change(self, error: float, member_weight: float, weight: np.ndarray) -> float:
        """Increase the weights of wrong rows, relative to the others."""
        right, wrong, log_normalizer = change_weights(error, member_weight, self._n_classes)
        # The sum of weights is one except for rounding errors, which must not accumulate.
        total = float(self._sums[:, 1].sum())
        self._run(reweigh.multiply_weights, self._wrong, right / total, wrong / total, weight)
        return log_normalizer


class NumberRule:
    """AdaBoost.R2: losses are relative to the largest error."""

    chance_error = find_chance_error(0)

    def __init__(self, y: np.ndarray, loss: str, learning_rate: float, team: Team) -> None:
        self._y = np.ascontiguousarray(y, dtype=np.float64)
        self._kind, self._learning_rate = LOSSES[loss], learning_rate
        self._run = choose_run(team, y.size)
        self._losses = np.empty(y.size)
        self._sums = _allocate_sums(y.size)

    def measure(self, predicted: np.ndarray, weight: np.ndarray) -> float:
        """Return the weighted mean loss."""
        predicted = np.ascontiguousarray(predicted, dtype=np.float64)
        largest = np.empty(self._sums.shape[0])
        self._run(reweigh.measure_distances, self._y, predicted, weight, self._losses, largest)
        most = float(largest.max())
        if is_rounding(most, self._y):
            return 0.0
        arguments = (self._kind, most, weight, self._losses, self._sums)
        self._run(reweigh.measure_losses, *arguments)
        return _share(self._sums)

    def weigh(self, error: float) -> float:
        """Return ``ln(1 / beta)``, times the learning rate."""
        return weigh_regressor(error, self._learning_rate)

    def change(self, error: float, member_weight: float, weight: np.ndarray) -> float:
        """Decrease the weights of rows, more so for rows with smaller losses."""
        arguments = (self._losses, -member_weight, weight, self._sums)
        self._run(reweigh.shrink_weights, *arguments)
        weight /= self._sums[:, 0].sum()
        return 0.0


def boost_learners(
    learn: Learn,
    rule: Rule,
    weight: np.ndarray,
    n_rounds: int,
    max_restarts: int,
    shown: Sequence[Callback] = (),
) -> AdaBoostResult:
    """Train up to ``n_rounds`` learners, and weight them by their errors.

    Parameters
    ----------
    learn : callable
        Returns a member and its predictions for given weights of rows: see ``Learn``.
    rule : ClassRule or NumberRule
    weight : ndarray of shape (n_rows,)
        Initial weights, which sum to one. They are changed in place.
    max_restarts : int
        How often a learner that is no better than chance is replaced, in each round. Useful only
        for learners that draw rows at random.
    shown : sequence of callables
        Called after each round, to show the progress.
    """
    result = AdaBoostResult()
    log_loss, began = 0.0, time.perf_counter()
    for number in range(1, n_rounds + 1):
        learned = _learn_better_than_chance(learn, rule, weight, max_restarts, result)
        if learned is None:
            result.stop_reason = TOO_WEAK
            break
        member, error = learned
        member_weight = rule.weigh(error)
        result.members.append(member)
        result.errors.append(error)
        result.weights.append(member_weight)
        if error <= 0.0:
            result.stop_reason = PERFECT
        log_loss += rule.change(error, member_weight, weight)
        result.log_losses.append(log_loss)
        for show in shown:
            seconds = time.perf_counter() - began
            show(RoundState(number, n_rounds, {"error": error}, seconds, lambda: None))
        if error <= 0.0:
            break
    return result


def _learn_better_than_chance(
    learn: Learn, rule: Rule, weight: np.ndarray, max_restarts: int, result: AdaBoostResult
) -> tuple[Any, float] | None:
    """Return a member and its error; None if all are too weak."""
    for attempt in range(max_restarts + 1):
        result.n_restarts += attempt > 0
        learned = learn(weight)
        if learned is None:
            continue
        member, predicted = learned
        error = rule.measure(predicted, weight)
        if not is_too_weak(error, rule.chance_error):
            return member, error
        result.rejected = member, error
    return None


def _allocate_sums(n_rows: int) -> np.ndarray:
    return np.zeros((-(-n_rows // reweigh.BLOCK), 2))


def _share(sums: np.ndarray) -> float:
    """Return the first of two sums over blocks as a share of the second."""
    of_some, of_all = sums.sum(axis=0)
    return math.nan if of_all == 0.0 else float(of_some / of_all)
