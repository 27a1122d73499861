"""How members are combined: candidates are compared by cross-validation of their predictions.

The members' out-of-fold predictions are split again. Weights are learned from one part and judged
on the other, so that a combination with more freedom wins only if that pays. The best single member
is chosen and judged in the same way: the score of the best of many is too good by chance. If no
combination beats it, it is the model.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sumwise.combine.average import average, fit_simplex_weights
from sumwise.combine.classes import one_hot
from sumwise.combine.select import count_selected, select_greedily
from sumwise.estimators.auto.metrics import Metric
from sumwise.estimators.auto.pooling import LinearPool, LogPool

BEST, GREEDY, WEIGHTS, STACKING = "best", "greedy", "weights", "stacking"
KINDS = (BEST, GREEDY, WEIGHTS, STACKING)

_N_PARTS = 5
# Steps of greedy selection, and the best members that it starts from.
_N_STEPS, _N_START = 40, 3
# Learning weights looks at no more members, and numbers, than this: the best ones, and the rows at
# equal distances.
_MOST_MEMBERS, _MOST_NUMBERS = 30, 3_000_000
# Members with a smaller share are not worth the time that they take to predict.
_LEAST_SHARE = 0.02
# A metric of milliseconds is asked less often.
_SLOW_MEMBERS, _SLOW_ROWS, _SLOW_STEPS = 8, 5_000, 10


@dataclass(frozen=True, eq=False)
class Average:
    """A weighted average; the weights have the sum 1."""

    coef: np.ndarray

    def combine(self, predictions: np.ndarray) -> np.ndarray:
        """Return the average."""
        return average(predictions, self.coef)


Combined = Average | LinearPool | LogPool


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Out-of-fold predictions of members, and what they are judged by.

    Attributes
    ----------
    predictions : ndarray of shape (n_members, n_rows) or (n_members, n_rows, n_classes)
    y : ndarray of shape (n_rows,)
        Numbers or class indices.
    weight : ndarray or None
    metric : Metric
    groups : ndarray or None
    """

    predictions: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None
    metric: Metric
    groups: np.ndarray | None = None

    @property
    def is_class(self) -> bool:
        return self.predictions.ndim == 3

    def take(self, rows: np.ndarray) -> "HeldOut":
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        groups = None if self.groups is None else self.groups[rows]
        return HeldOut(self.predictions[:, rows], self.y[rows], weight, self.metric, groups)

    def take_members(self, members: np.ndarray) -> "HeldOut":
        """Return some of the members."""
        return HeldOut(self.predictions[members], self.y, self.weight, self.metric, self.groups)

    def score(self, predictions: np.ndarray) -> float:
        """Return the score of one prediction per row."""
        return self.metric.measure(predictions, self.y, self.weight)

    def score_members(self) -> np.ndarray:
        """Return the score of each member."""
        return np.array([self.score(each) for each in self.predictions])


@dataclass(frozen=True, eq=False)
class Choice:
    """The chosen combination.

    Attributes
    ----------
    kind : str
        One of ``KINDS``.
    combined : Average, LinearPool or LogPool
        With a coefficient for every member, 0 for those that are not needed.
    score : float
        Of predictions whose weights, or whose choice of the best member, came from other rows.
    std_error : float
    """

    kind: str
    combined: Combined
    score: float
    std_error: float

    @property
    def weights(self) -> np.ndarray:
        """The shares of the members."""
        coef = self.combined.coef
        total = coef.sum()
        return coef / total if total > 0.0 else coef


def choose_combination(
    held_out: HeldOut, kind: str, seed: int, is_over: Callable[[], bool] = lambda: False
) -> Choice:
    """Return the combination that predicts unseen rows best.

    Parameters
    ----------
    held_out : HeldOut
    kind : str
        One of ``KINDS``, which is compared with the best member; "auto" for all of them.
    seed : int
        Splits the rows into parts.
    is_over : callable
        Whether there is no time for further candidates.
    """
    n_members = len(held_out.predictions)
    order = np.argsort(-held_out.score_members(), kind="stable")
    n_used = _MOST_MEMBERS if held_out.metric.is_quick else _SLOW_MEMBERS
    used = np.sort(order[:n_used])
    own = held_out.take_members(used)
    kinds = [each for each in KINDS if each != BEST and kind in ("auto", each)]
    parts = _split(held_out, seed)
    chosen, predicted = BEST, _cross_predict(own, BEST, parts)
    score = held_out.score(predicted)
    for each in kinds:
        # With a single part, weights could only be judged by the rows they come from.
        if n_members == 1 or not parts.any() or is_over():
            break
        own_predicted = _cross_predict(own, each, parts)
        own_score = held_out.score(own_predicted)
        if own_score > score:
            chosen, score, predicted = each, own_score, own_predicted
    error = held_out.metric.estimate_error(predicted, held_out.y, held_out.weight)
    combined = _place(_fit(own, chosen), used, n_members)
    return Choice(chosen, combined, float(score), error)


def _split(held_out: HeldOut, seed: int) -> np.ndarray:
    """Return the part of each row; groups are whole."""
    rng = np.random.default_rng(seed)
    if held_out.groups is None:
        units = np.arange(held_out.y.size)
    else:
        _, units = np.unique(held_out.groups, return_inverse=True)
    n_units = int(units.max()) + 1
    return (rng.permutation(n_units) % min(_N_PARTS, n_units))[units]


def _cross_predict(held_out: HeldOut, kind: str, parts: np.ndarray) -> np.ndarray:
    """Return predictions of all rows, each with weights that were learned from other parts."""
    predicted = np.empty(held_out.predictions.shape[1:])
    for part in range(int(parts.max()) + 1):
        is_own = parts == part
        # With a single part (one group, one row), the best member is that of its own rows.
        rows = np.flatnonzero(is_own if is_own.all() else ~is_own)
        combined = _fit(held_out.take(rows), kind)
        predicted[is_own] = combined.combine(held_out.predictions[:, is_own])
    return predicted


def _fit(held_out: HeldOut, kind: str) -> Combined:
    """Learn a combination from some rows."""
    if kind == BEST:
        coef = np.zeros(len(held_out.predictions))
        coef[int(np.argmax(held_out.score_members()))] = 1.0
        return Average(coef)
    held_out = _thin_out(held_out)
    if kind == GREEDY:
        return Average(_select(held_out))
    found = _weigh(held_out, kind)
    is_small = found.coef < _LEAST_SHARE * found.coef.sum()
    if not is_small.any():
        return found
    kept = np.flatnonzero(~is_small)
    return _place(_weigh(held_out.take_members(kept), kind), kept, is_small.size)


def _weigh(held_out: HeldOut, kind: str) -> Combined:
    y, weight, predictions = held_out.y, held_out.weight, held_out.predictions
    if kind == WEIGHTS:
        target = one_hot(y, predictions.shape[2]) if held_out.is_class else y
        return Average(fit_simplex_weights(predictions, target, weight))
    if held_out.is_class:
        return LogPool.fit(predictions, y, weight)
    return LinearPool.fit(predictions, y, weight)


def _thin_out(held_out: HeldOut) -> HeldOut:
    """Return fewer rows if there are very many."""
    per_row = held_out.predictions.size // max(1, held_out.y.size)
    most = max(1, _MOST_NUMBERS // per_row)
    if not held_out.metric.is_quick:
        most = min(most, _SLOW_ROWS)
    if held_out.y.size <= most:
        return held_out
    return held_out.take(np.linspace(0, held_out.y.size - 1, most).astype(np.intp))


def _select(held_out: HeldOut) -> np.ndarray:
    metric, y, weight = held_out.metric, held_out.y, held_out.weight
    compact = metric.compact(held_out.predictions, y)
    n_steps = _N_STEPS if metric.is_quick else _SLOW_STEPS
    steps = select_greedily(
        compact, lambda mean: metric.score(mean, y, weight), n_steps, min(_N_START, len(compact))
    )
    return count_selected([steps], len(compact))


def _place(combined: Combined, members: np.ndarray, n_members: int) -> Combined:
    """Return a combination of some members as one of all."""
    coef = np.zeros(n_members)
    coef[members] = combined.coef
    return replace(combined, coef=coef)


def take_members(combined: Combined, members: Sequence[int]) -> Combined:
    """Return a combination without the members that it does not need."""
    return replace(combined, coef=combined.coef[list(members)])
