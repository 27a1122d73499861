"""Learning curves: losses by round, and the error by number of members."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from sumwise.data.frames.selection import take_rows
from sumwise.errors import SumwiseError
from sumwise.estimators.auto.metrics import Metric
from sumwise.plotting import ensemble_sizes, learning_curves
from sumwise.report.blocks import Block, Figure, Section
from sumwise.report.charts.lines import draw_lines
from sumwise.report.charts.scales import format_number
from sumwise.report.members import find_members
from sumwise.report.predictions import Predictions, draw_rows, say_sample
from sumwise.report.scores import list_metrics, name_metric

_MOST_ROWS = 2000
# Scored rounds: between them nothing happens that a curve would show.
_MOST_ROUNDS = 150


def describe_learning(
    model: Any, X: Any = None, known: Predictions | None = None, key: str = "learning"
) -> Section | None:
    """Return the section of learning curves; None for models that are not trained in rounds.

    X and ``known`` are rows to score after each round.
    """
    figures: list[Block] = []
    history = _draw_history(model)
    if history is not None:
        figures.append(history)
    if known is not None:
        kept = draw_rows(known.y.size, _MOST_ROWS)
        rows = take_rows(X, kept)
        shares = None if known.probabilities is None else known.probabilities[kept]
        chosen = Predictions(known.y[kept], known.predicted[kept], known.classes, shares)
        sample = say_sample(kept.size, known.y.size)
        by_rounds = _draw_stages(model, rows, chosen, sample)
        by_rounds = _draw_sizes(model, rows, chosen, sample) if by_rounds is None else by_rounds
        if by_rounds is not None:
            figures.append(by_rounds)
    return Section(key, "Learning curves", figures) if figures else None


def _draw_history(model: Any) -> Figure | None:
    try:
        curves = learning_curves(model)
    except (SumwiseError, AttributeError):
        return None
    names = {name: name.replace("_", " ") for name in curves.scores}
    series = {
        names[name]: (curves.rounds[: values.size].astype(np.float64), values)
        for name, values in curves.scores.items()
    }
    best = curves.best_round
    last = ", ".join(f"{name} {format_number(float(y[-1]))}" for name, (_, y) in series.items())
    svg = draw_lines(
        series,
        "round",
        "loss" if all("loss" in name for name in names) else "score",
        f"Losses over {curves.rounds.size} rounds; at the end: {last}. Best round: {best}.",
        mark=(float(best), f"best round: {best}"),
    )
    data = {"best_round": best, **curves.scores}
    caption = "What training recorded after each round."
    return Figure("history", "Training history", svg, data, caption)


def _draw_stages(model: Any, X: Any, known: Predictions, sample: str) -> Figure | None:
    """Score what a boosted model predicts after each round."""
    metric = list_metrics(model, known)[0]
    has_shares = known.probabilities is not None
    staged = getattr(model, "staged_predict_proba" if has_shares else "staged_predict", None)
    n_rounds = _count_rounds(model)
    if staged is None or n_rounds < 2:
        return None
    try:
        rounds, scores = _score_stages(staged(X), n_rounds, metric, known)
    except (SumwiseError, AttributeError):
        return None  # for example, a linear booster has no stages
    return _draw_scores("rounds", "round", rounds, scores, metric, sample)


def _count_rounds(model: Any) -> int:
    best = getattr(model, "best_iteration_", None)
    return len(getattr(model, "estimators_", ())) if best is None else int(best)


def _score_stages(
    stages: Iterator[np.ndarray], n_rounds: int, metric: Metric, known: Predictions
) -> tuple[np.ndarray, np.ndarray]:
    step = -(-n_rounds // _MOST_ROUNDS)
    rounds, scores = [], []
    for k, predictions in enumerate(islice(stages, n_rounds), start=1):
        if (k - 1) % step and k != n_rounds:
            continue
        rounds.append(float(k))
        scores.append(_score(metric, predictions, known))
    return np.array(rounds), np.array(scores)


def _score(metric: Metric, predictions: np.ndarray, known: Predictions) -> float:
    if known.classes is None:
        return metric.show(metric.measure(predictions, known.y, None))
    if predictions.ndim == 1:
        predictions = np.eye(known.classes.size)[np.searchsorted(known.classes, predictions)]
    return metric.show(metric.measure(predictions, known.codes, None))


def _draw_scores(
    key: str, unit: str, rounds: np.ndarray, scores: np.ndarray, metric: Metric, sample: str
) -> Figure | None:
    if rounds.size < 2 or not np.isfinite(scores).any():
        return None
    name = name_metric(metric)
    order = metric.sign * np.where(np.isfinite(scores), scores, -metric.sign * np.inf)
    best = int(order.argmax())
    alt = (
        f"{name} by number of {unit}s: {format_number(float(scores[0]))} with "
        f"{rounds[0]:.0f}, {format_number(float(scores[-1]))} with all {rounds[-1]:.0f}; best at "
        f"{rounds[best]:.0f}."
    )
    svg = draw_lines(
        {name: (rounds, scores)},
        f"{unit}s",
        name,
        alt,
        mark=(float(rounds[best]), f"best of these rows: {rounds[best]:.0f}"),
    )
    title = f"{name.capitalize()} by number of {unit}s"
    caption = f"How the rows of this report are predicted by the first {unit}s.{sample}"
    return Figure(key, title, svg, {unit: rounds, metric.name: scores}, caption)


def _draw_sizes(model: Any, X: Any, known: Predictions, sample: str) -> Figure | None:
    """Score the votes, or means, of the first members of an ensemble."""
    members = find_members(model, X)
    if members is None or len(members.labels) < 5 or members.weights is None:
        return None  # a few members, or a stack, are no sequence
    counts = np.arange(1, len(members.labels) + 1, dtype=np.float64)
    if known.is_classification:
        sizes = ensemble_sizes(members.values, known.y)
        error, name = sizes.error, "error of the vote"
        level = sizes.mean_error
    else:
        values = members.values
        means = np.cumsum(values, axis=1) / counts
        error = np.sqrt(((means - known.y[:, None]) ** 2).mean(axis=0))
        name = "root mean squared error"
        level = float(np.sqrt(((values - known.y[:, None]) ** 2).mean(axis=0)).mean())
    alt = (
        f"{name} by number of members: {format_number(float(error[0]))} with one, "
        f"{format_number(float(error[-1]))} with {counts.size}."
    )
    svg = draw_lines(
        {name: (counts, error)}, "members", name, alt, level=(level, "mean of single members")
    )
    caption = f"The first members, with equal weights. More help until the curve is flat.{sample}"
    data = {"members": counts, "error": error, "mean_error_of_members": level}
    return Figure("sizes", "Error by number of members", svg, data, caption)
