"""Scores of one model, with intervals and beside a constant prediction."""

from typing import Any

import numpy as np

from sumwise.estimators.auto.metrics import Metric, resolve_metric
from sumwise.report.blocks import Block, Cell, Column, Section, Table, Text
from sumwise.report.charts.scales import choose_decimals
from sumwise.report.predictions import Predictions

_LABEL_METRICS = ("accuracy", "balanced_accuracy")
_CLASS_METRICS = ("log_loss", "roc_auc", *_LABEL_METRICS)
_NUMBER_METRICS = ("rmse", "mae", "r2")
_TITLES = {
    "log_loss": "log loss",
    "roc_auc": "area under the ROC curve",
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "rmse": "root mean squared error",
    "mae": "mean absolute error",
    "r2": "R²",
}
_BEST = {"roc_auc": 1.0, "accuracy": 1.0, "balanced_accuracy": 1.0, "r2": 1.0}
# Half the width of a 95 % interval in standard errors.
NORMAL_95 = 1.96


def list_metrics(model: Any, known: Predictions) -> list[Metric]:
    """Return the metrics that can be computed, the main one first."""
    if known.classes is None:
        return [resolve_metric(name, model, None) for name in _NUMBER_METRICS]
    names = _CLASS_METRICS if known.probabilities is not None else _LABEL_METRICS
    return [resolve_metric(name, model, known.classes) for name in names]


def name_metric(metric: Metric) -> str:
    """Return the name of a metric as a text."""
    return _TITLES.get(metric.name, metric.name)


def is_lower_better(metric: Metric) -> bool:
    """Whether lower values are better."""
    return metric.sign < 0


def score_rows(metric: Metric, known: Predictions) -> tuple[float, float, float]:
    """Return a score and its 95 % interval, which ends at the best possible score."""
    predictions, y = to_compact(metric, known)
    score = metric.show(metric.measure(predictions, y, None))
    half = NORMAL_95 * metric.estimate_error(predictions, y, None)
    low, high = score - half, score + half
    if is_lower_better(metric):
        return score, max(low, 0.0), high
    return score, low, min(high, _BEST.get(metric.name, np.inf))


def to_compact(metric: Metric, known: Predictions) -> tuple[np.ndarray, np.ndarray]:
    """Return predictions and targets as metrics take them: probabilities and class indices.

    Accuracy is that of the predicted labels, which need not be the most probable ones: an ensemble
    may vote.
    """
    if known.classes is None:
        return known.predicted, known.y
    if known.probabilities is not None and metric.name not in _LABEL_METRICS:
        return known.probabilities, known.codes
    places = np.searchsorted(known.classes, known.predicted)
    return np.eye(known.classes.size)[places], known.codes


def predict_constant(known: Predictions, reference: np.ndarray) -> np.ndarray:
    """Return what a model without features would predict: the mean, or frequencies of classes."""
    if known.classes is None:
        return np.full(known.y.size, float(np.mean(reference)))
    counts = np.bincount(np.searchsorted(known.classes, reference), minlength=known.classes.size)
    return np.tile(counts / counts.sum(), (known.y.size, 1))


def describe_scores(
    model: Any, known: Predictions, trained: Predictions | None = None, key: str = "scores"
) -> Section:
    """Return the section of scores; ``trained`` are predictions of the training rows."""
    reference = known.y if trained is None else trained.y
    constant = predict_constant(known, reference)
    columns = [
        Column("Score"),
        Column("This model", ""),
        Column("95 % low", "", "Lower end of the interval; from a jackknife of 20 blocks"),
        Column("95 % high", "", "Upper end of the interval; from a jackknife of 20 blocks"),
        Column("Constant", "", "What a model without any feature scores"),
    ]
    if trained is not None:
        columns.append(Column("Training rows", "", "The score on rows the model has learned"))
    rows = []
    for metric in list_metrics(model, known):
        values = [*score_rows(metric, known)]
        score, y = values[0], to_compact(metric, known)[1]
        values.append(metric.show(metric.measure(constant, y, None)))
        if trained is not None:
            values.append(metric.show(metric.measure(*to_compact(metric, trained), None)))
        n_decimals = choose_decimals(score)
        texts = [f"{own:,.{n_decimals}f}" if np.isfinite(own) else "" for own in values]
        cells = [Cell(own, text) for own, text in zip(values, texts, strict=True)]
        rows.append([name_metric(metric), *cells])
    blocks: list[Block] = [Table(f"{known.y.size:,} rows", columns, rows, 0)]
    better = "lower" if is_lower_better(list_metrics(model, known)[0]) else "higher"
    blocks.append(
        Text(
            f"Intervals say how much a score would vary with other "
            f"rows. Of {rows[0][0]}, {better} is better. The constant is the "
            f"{'mean of the targets' if known.classes is None else 'frequency of each class'}."
        )
    )
    return Section(key, "Scores", blocks)
