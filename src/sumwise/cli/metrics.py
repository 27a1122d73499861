"""Metrics of predictions with intervals: a bootstrap over rows, or over groups of rows.

A metric is a function of row weights. A bootstrap sample is a vector of such weights, the counts of
the rows that were drawn, so that nothing is sorted or predicted again.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sumwise.cli.models import ModelFile
from sumwise.cli.usage import UsageError, list_names

N_RESAMPLES = 200
_TAILS = (2.5, 97.5)
# Probabilities are kept from 0, as in scikit-learn.
_SMALLEST = np.finfo(np.float64).eps

Statistic = Callable[[np.ndarray], float]


class Score(NamedTuple):
    """A metric on some rows, and its 95 % interval."""

    name: str
    value: float
    low: float
    high: float


def rate_predictions(
    file: ModelFile,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray | None = None,
    group: np.ndarray | None = None,
) -> list[Score]:
    """Return the metrics of a model on rows with known targets."""
    if file.is_classifier:
        truth = encode_labels(file, y)
        statistics = measure_classes(truth, file.model.predict_proba(X), file.classes.size)
    else:
        statistics = measure_numbers(y, np.asarray(file.model.predict(X), np.float64))
    return estimate(statistics, y.size, weight, group)


def encode_labels(file: ModelFile, y: np.ndarray) -> np.ndarray:
    """Return the index of each label among the classes; raise UsageError if one is unknown."""
    classes = file.classes
    labels = y
    if classes.dtype.kind in "OU":
        labels = np.array([_to_label(value) for value in y.tolist()], dtype=object)
    places = {label: k for k, label in enumerate(classes.tolist())}
    found = np.array([places.get(label, -1) for label in labels.tolist()])
    if (found < 0).any():
        unknown = dict.fromkeys(map(repr, y[found < 0].tolist()))
        raise UsageError(
            f"{(found < 0).sum():,} rows have labels that {file.path} does not know, first in row "
            f"{int((found < 0).argmax()) + 1}: {list_names(unknown, 5)}; its classes are "
            f"{list_names(map(repr, classes.tolist()))}"
        )
    return found


def _to_label(value: Any) -> Any:
    """Return a label as the text that it was read from."""
    return str(value).lower() if isinstance(value, (bool, int)) else value


def measure_classes(
    truth: np.ndarray, probabilities: np.ndarray, n_classes: int
) -> dict[str, Statistic]:
    """Return the metrics of probabilities for known class indices."""
    found = probabilities.argmax(axis=1)
    own = np.clip(probabilities[np.arange(truth.size), truth], _SMALLEST, 1.0)
    is_truth = np.arange(n_classes) == truth[:, None]
    distances = np.square(probabilities - is_truth).sum(axis=1) / (2.0 if n_classes == 2 else 1.0)
    cells = truth * n_classes + found

    def count(weight: np.ndarray) -> np.ndarray:
        return np.bincount(cells, weight, n_classes**2).reshape(n_classes, n_classes)

    def balanced_accuracy(weight: np.ndarray) -> float:
        table = count(weight)
        sizes = table.sum(axis=1)
        return float(np.mean(table.diagonal()[sizes > 0] / sizes[sizes > 0]))

    def f1_macro(weight: np.ndarray) -> float:
        table = count(weight)
        sizes = table.sum(axis=1) + table.sum(axis=0)
        return float(np.mean(2.0 * table.diagonal()[sizes > 0] / sizes[sizes > 0]))

    statistics: dict[str, Statistic] = {
        "accuracy": _average(truth == found),
        "balanced accuracy": balanced_accuracy,
        "F1 (macro)": f1_macro,
        "log loss": _average(-np.log(own)),
        "Brier score": _average(distances),
    }
    if n_classes == 2:
        statistics["ROC AUC"] = _find_area(truth == 1, probabilities[:, 1])
    return statistics


def measure_numbers(truth: np.ndarray, found: np.ndarray) -> dict[str, Statistic]:
    """Return the metrics of predicted numbers."""
    squares = np.square(truth - found)
    centered = truth - truth.mean()

    def r2(weight: np.ndarray) -> float:
        total = weight.sum()
        spread = weight @ np.square(centered) - (weight @ centered) ** 2 / total
        return float(1.0 - weight @ squares / spread) if spread > 0 else np.nan

    average_squares = _average(squares)
    return {
        "R²": r2,
        "RMSE": lambda weight: float(np.sqrt(average_squares(weight))),
        "MAE": _average(np.abs(truth - found)),
    }


def _average(values: np.ndarray) -> Statistic:
    numbers = values.astype(np.float64)
    return lambda weight: float(weight @ numbers / weight.sum())


def _find_area(is_second: np.ndarray, scores: np.ndarray) -> Statistic:
    """Return the area under the ROC curve; ties count half."""
    distinct, places = np.unique(scores, return_inverse=True)

    def find(weight: np.ndarray) -> float:
        second = np.bincount(places, weight * is_second, distinct.size)
        first = np.bincount(places, weight * ~is_second, distinct.size)
        n_pairs = first.sum() * second.sum()
        below = np.cumsum(first) - 0.5 * first
        return float(second @ below / n_pairs) if n_pairs > 0 else np.nan

    return find


def estimate(
    statistics: dict[str, Statistic],
    n_rows: int,
    weight: np.ndarray | None = None,
    group: np.ndarray | None = None,
    n_resamples: int = N_RESAMPLES,
) -> list[Score]:
    """Return the value of each metric, and the percentiles of its bootstrap."""
    base = np.ones(n_rows) if weight is None else weight
    units = np.arange(n_rows) if group is None else group
    n_units = int(units.max()) + 1
    random = np.random.default_rng(0)
    samples: dict[str, list[float]] = {name: [] for name in statistics}
    for _ in range(n_resamples):
        drawn = np.bincount(random.integers(n_units, size=n_units), minlength=n_units)
        sample = base * drawn[units]
        if sample.sum() <= 0:
            continue
        for name, statistic in statistics.items():
            samples[name].append(statistic(sample))
    scores = []
    for name, statistic in statistics.items():
        known = [value for value in samples[name] if np.isfinite(value)]
        low, high = np.percentile(known, _TAILS) if known else (np.nan, np.nan)
        scores.append(Score(name, statistic(base), float(low), float(high)))
    return scores
