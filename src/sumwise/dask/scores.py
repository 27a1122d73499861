"""Scores of predictions whose rows are spread over workers: sums of partitions, put together."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from dask import delayed
from distributed import Client
from sklearn.base import is_classifier

from sumwise.dask.collections import Sources
from sumwise.data.frames.reading import read_array
from sumwise.errors import DataError
from sumwise.estimators.boosting.losses import score_quantiles


class _Spread(NamedTuple):
    """Sums of some rows for R², for each output."""

    weight: float
    mean: np.ndarray
    deviations: np.ndarray  # sum of squared differences of y from its mean
    residuals: np.ndarray  # sum of squared differences of y from its prediction

    def add(self, other: "_Spread") -> "_Spread":
        weight = self.weight + other.weight
        if weight == 0:
            return self
        share = other.weight / weight
        shift = other.mean - self.mean
        return _Spread(
            weight,
            self.mean + share * shift,
            self.deviations + other.deviations + share * self.weight * shift**2,
            self.residuals + other.residuals,
        )


def score_rows(client: Client, model: Any, parts: Sequence[Sources]) -> float:
    """Return what ``model.score`` would return for all rows, up to rounding.

    The quantile loss of a constant needs all targets: with several quantiles in one model, targets
    and predictions are brought to this process.
    """
    if is_classifier(model):
        measure: Any = _count_hits
    elif hasattr(model, "ensemble_") and model.ensemble_.link == "sorted":
        measure = _predict
    else:
        measure = _measure_spread
    known = delayed(model, pure=False, traverse=False)
    sums = [delayed(measure, pure=False)(known, own.X, own.y, own.sample_weight) for own in parts]
    found = [own for own in client.gather(client.compute(sums)) if own is not None]
    if not found:
        raise DataError("X has no rows to score")
    if measure is _count_hits:
        weights, hits = np.sum(found, axis=0)
        return float(hits / weights)
    if measure is _predict:
        ys, predicted, weights = zip(*found, strict=True)
        weight = None if weights[0] is None else np.concatenate(weights)
        return score_quantiles(model.loss, np.concatenate(ys), np.concatenate(predicted), weight)
    spread = found[0]
    for own in found[1:]:
        spread = spread.add(own)
    return _find_r2(spread)


def _find_r2(spread: _Spread) -> float:
    """Return the mean R² of all outputs; that of a constant target is 1 or 0."""
    is_varied = spread.deviations > 0
    share = np.divide(
        spread.residuals, spread.deviations, where=is_varied, out=np.zeros_like(spread.mean)
    )
    return float(np.where(is_varied, 1 - share, spread.residuals == 0).mean())


def _count_hits(model: Any, X: Any, y: Any, weight: Any) -> tuple[float, float] | None:
    """Return the weight of some rows, and of those whose class is predicted."""
    if len(X) == 0:
        return None
    total = float(len(X) if weight is None else np.sum(np.asarray(weight)))
    return (total, total * model.score(X, y, weight)) if total > 0 else None


def _predict(model: Any, X: Any, y: Any, weight: Any) -> tuple[Any, Any, Any] | None:
    if len(X) == 0:
        return None
    weight = None if weight is None else np.asarray(weight)
    return np.asarray(read_array(y)), model.predict(X), weight


def _measure_spread(model: Any, X: Any, y: Any, weight: Any) -> _Spread | None:
    if len(X) == 0:
        return None
    target = np.asarray(read_array(y), dtype=np.float64).reshape(len(X), -1)
    own = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=np.float64)
    total = own.sum()
    if total == 0:
        return None
    mean = own @ target / total
    residuals = target - model.predict(X).reshape(target.shape)
    return _Spread(float(total), mean, own @ (target - mean) ** 2, own @ residuals**2)
