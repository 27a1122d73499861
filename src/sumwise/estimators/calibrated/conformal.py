"""Conformal prediction: scores of rows that the trees have not seen, and their quantiles.

If a new row and the n rows of the scores are exchangeable, the new score lies below the k-th
smallest with a probability of at most k / (n + 1) (Vovk, Gammerman and Shafer, 2005).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sumwise.errors import DataWarning, ParameterError
from sumwise.estimators.warn import warn_user
from sumwise.parts import is_number

# A share of the mean spread is added to every spread, so that few rows have extreme scores.
_SHARE_OF_MEAN = 0.3
# Rounding must not change the rank of a quantile.
_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False)
class ConformalScores:
    """Scores, ascending in each column.

    Attributes
    ----------
    scores : ndarray of shape (n_rows, n_columns)
    weights : ndarray of the same shape, or None
        Weights of the scores, with mean 1. A new row is taken to have weight 1.
    """

    scores: np.ndarray
    weights: np.ndarray | None

    @property
    def n_rows(self) -> int:
        return int(self.scores.shape[0])

    def find_low(self, tail: float) -> np.ndarray:
        """Return, per column, a number below which a new score is with probability ``tail``.

        -inf if there are too few rows.
        """
        return self._find(tail, self.scores, self.weights)

    def find_high(self, tail: float) -> np.ndarray:
        """Return numbers above which new scores are with probability ``tail``; inf if too few."""
        weights = None if self.weights is None else self.weights[::-1]
        return -self._find(tail, -self.scores[::-1], weights)

    def _find(self, tail: float, scores: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        # The largest scores that may have this weight below them, that of the new row included.
        most = (self.n_rows + 1) * tail + _TOLERANCE
        padded = np.vstack([np.full(scores.shape[1], -np.inf), scores])
        if weights is None:
            return padded[int(most)]
        below = np.vstack([np.zeros(scores.shape[1]), weights.cumsum(axis=0)[:-1]])
        ranks = [np.searchsorted(column, most - 1.0, "right") for column in below.T]
        return padded[ranks, np.arange(scores.shape[1])]


def sort_scores(scores: np.ndarray, weight: np.ndarray | None) -> ConformalScores:
    """Return the scores of rows, each column sorted."""
    if weight is None or (weight == weight[0]).all():
        return ConformalScores(np.sort(scores, axis=0), None)
    order = np.argsort(scores, axis=0, kind="stable")
    own = (weight / weight.mean())[order]
    return ConformalScores(np.take_along_axis(scores, order, axis=0), own)


@dataclass(frozen=True, eq=False)
class ConformalIntervals:
    """Scores of a regressor: residuals, divided by the scale of the row.

    A bound is ``base + scale * quantile``, with a tail of half the rest of the coverage on either
    side. The base is the prediction; of a model of several quantiles, it is that quantile whose
    level is closest to the tail (Romano, Patterson and Candes, 2019).

    Attributes
    ----------
    residuals : ConformalScores
        One column per output of the model.
    floor : ndarray of shape (n_outputs,)
        Added to the spread of a row to give its scale; the spread is zero if widths are constant.
    power : float or None
        The spread is the prediction to this power; None if it is that of the trees.
    shift : float
        Added to the prediction before that.
    levels : ndarray or None
        Levels of the quantiles that the model predicts.
    support : tuple of float
        Bounds of the target.
    """

    residuals: ConformalScores
    floor: np.ndarray
    power: float | None = 0.0
    shift: float = 0.0
    levels: np.ndarray | None = None
    support: tuple[float, float] = (-np.inf, np.inf)

    @classmethod
    def learn(
        cls,
        y: np.ndarray,
        base: np.ndarray,
        spread: np.ndarray | None,
        weight: np.ndarray | None,
        **about: Any,
    ) -> Self:
        """Make the scores of rows from their target, predictions and spread.

        Both have one column per output. A spread of None is computed from the predictions.
        """
        if spread is None:
            spread = find_spread(base, about.get("power", 0.0), about.get("shift", 0.0))
        floor = _SHARE_OF_MEAN * np.average(spread, axis=0, weights=weight)
        floor[floor <= 0.0] = 1.0
        residuals = (y.reshape(y.shape[0], -1) - base) / (spread + floor)
        return cls(sort_scores(residuals, weight), floor, **about)

    def find_bounds(
        self, base: np.ndarray, spread: np.ndarray | None, coverage: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return lower and upper bounds, (n_rows, n_targets)."""
        tail = 0.5 * (1.0 - coverage)
        if spread is None:
            assert self.power is not None
            spread = find_spread(base, self.power, self.shift)
        scale = spread + self.floor
        low = base + scale * self.residuals.find_low(tail)
        high = base + scale * self.residuals.find_high(tail)
        if self.levels is not None:
            low = low[:, [np.abs(self.levels - tail).argmin()]]
            high = high[:, [np.abs(self.levels - (1.0 - tail)).argmin()]]
            is_crossed = low > high
            middle = 0.5 * (low[is_crossed] + high[is_crossed])
            low[is_crossed] = high[is_crossed] = middle
        return np.clip(low, *self.support), np.clip(high, *self.support)

    def to_json(self) -> dict[str, Any]:
        """Return everything but arrays, ready for JSON."""
        return {
            "floor": self.floor.tolist(),
            "power": self.power,
            "shift": self.shift,
            "levels": None if self.levels is None else self.levels.tolist(),
            "support": [bound if np.isfinite(bound) else None for bound in self.support],
        }

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of a model file."""
        return _pack_scores(self.residuals, np.empty(0))

    @classmethod
    def restore(cls, data: Any, arrays: Mapping[str, np.ndarray], n_outputs: int) -> Self:
        """Return what was saved; raise ValueError (or KeyError, TypeError) if it is unsound."""
        residuals = _restore_scores(arrays, n_outputs)
        floor = np.array(data["floor"], dtype=np.float64)
        power = None if data["power"] is None else float(data["power"])
        low, high = data["support"]
        support = (-np.inf if low is None else float(low), np.inf if high is None else float(high))
        shift, levels = float(data["shift"]), data["levels"]
        numbers = [shift, 0.0 if power is None else power]
        parts = [
            floor.shape == (n_outputs,) and np.isfinite(floor).all() and (floor > 0.0).all(),
            np.isfinite(numbers).all() and min(numbers) >= 0.0,
            support[0] < support[1],
            arrays["conformal_class"].size == 0,
        ]
        if levels is not None:
            levels = np.array(levels, dtype=np.float64)
            parts += [levels.shape == (n_outputs,), (np.diff(levels) > 0.0).all()]
            parts += [(levels > 0.0).all(), (levels < 1.0).all()]
        if not all(parts):
            raise ValueError("what is known of the intervals is not sound")
        return cls(residuals, floor, power, shift, levels, support)


def find_spread(base: np.ndarray, power: float, shift: float) -> np.ndarray:
    """Return a power of the predictions; 0 for the power 0, which stands for constant widths."""
    return np.zeros_like(base) if power == 0.0 else np.maximum(base + shift, 0.0) ** power


@dataclass(frozen=True, eq=False)
class ConformalSets:
    """Scores of a classifier: the probability of the true class (Sadinle, Lei, Wasserman, 2019).

    Attributes
    ----------
    shares : ConformalScores
        One column.
    class_idx : ndarray of int
        The true class of each score.
    """

    shares: ConformalScores
    class_idx: np.ndarray

    @classmethod
    def learn(
        cls, probabilities: np.ndarray, class_idx: np.ndarray, weight: np.ndarray | None
    ) -> Self:
        """Make the scores of rows from their probabilities."""
        own = probabilities[np.arange(class_idx.size), class_idx]
        order = np.argsort(own, kind="stable")
        sorted_weight = None if weight is None else weight[order]
        return cls(sort_scores(own[order, np.newaxis], sorted_weight), class_idx[order])

    def find_thresholds(self, coverage: float, n_classes: int, by_class: bool) -> np.ndarray:
        """Return the probability from which on each class belongs to the set of a row."""
        tail = 1.0 - coverage
        if not by_class:
            return np.repeat(self.shares.find_low(tail), n_classes)
        return np.concatenate([self._select(k).find_low(tail) for k in range(n_classes)])

    def _select(self, k: int) -> ConformalScores:
        rows, weights = self.class_idx == k, self.shares.weights
        own = None if weights is None or not rows.any() else weights[rows, 0]
        return sort_scores(self.shares.scores[rows], own)

    def to_json(self) -> dict[str, Any]:
        """Return everything but arrays: nothing."""
        return {}

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays of a model file."""
        return _pack_scores(self.shares, self.class_idx)

    @classmethod
    def restore(cls, data: Any, arrays: Mapping[str, np.ndarray], n_classes: int) -> Self:
        """Return what was saved; raise ValueError (or KeyError, TypeError) if it is unsound."""
        shares, class_idx = _restore_scores(arrays, 1), arrays["conformal_class"]
        sound = class_idx.size == shares.n_rows and shares.scores[0] >= 0.0
        sound = sound and shares.scores[-1] <= 1.0
        sound = sound and class_idx.min() >= 0 and class_idx.max() < n_classes
        if not sound:
            raise ValueError("what is known of the prediction sets is not sound")
        return cls(shares, class_idx)


def check_coverage(coverage: Any) -> float:
    """Return a share of rows."""
    if not is_number(coverage) or not 0.0 < coverage < 1.0:
        raise ParameterError(f"coverage={coverage!r}: must be a number above 0 and below 1")
    return float(coverage)


def warn_of_few_rows(what: str, coverage: float, n_tails: int) -> None:
    """Warn that a coverage needs more rows than there are; ``what`` says what happens."""
    n_needed = int(np.ceil(n_tails / (1.0 - coverage) - _TOLERANCE)) - 1
    warn_user(
        f"{what}: coverage={coverage:g} needs at least {n_needed} calibration rows",
        DataWarning,
    )


def _pack_scores(own: ConformalScores, class_idx: np.ndarray) -> dict[str, np.ndarray]:
    return {
        "conformal_score": own.scores,
        "conformal_weight": np.empty(0) if own.weights is None else own.weights,
        "conformal_class": class_idx,
    }


def _restore_scores(arrays: Mapping[str, np.ndarray], n_columns: int) -> ConformalScores:
    scores, weights = arrays["conformal_score"], arrays["conformal_weight"]
    if scores.size == 0 or scores.size % n_columns or weights.size not in (0, scores.size):
        raise ValueError("the conformal scores do not fit the outputs of the model")
    scores = scores.reshape(-1, n_columns)
    sound = np.isfinite(scores).all() and (np.diff(scores, axis=0) >= 0.0).all()
    sound = sound and np.isfinite(weights).all() and (weights > 0.0).all()
    if not sound:
        raise ValueError("conformal scores are not finite and ascending")
    return ConformalScores(scores, weights.reshape(scores.shape) if weights.size else None)
