"""Validation sets, and what is measured on them after each round."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from sklearn.base import is_classifier

from sumwise.compat.metrics import Metric, Scored
from sumwise.errors import DataError
from sumwise.training.callbacks import RoundState


class EvalSet(NamedTuple):
    """A validation set under the name that the library reports."""

    name: str
    X: Any
    y: Any
    weight: Any = None
    init_score: Any = None


class Entry(NamedTuple):
    """What was measured after a round: a metric on a set."""

    set_name: str
    metric_name: str
    value: float
    higher: bool


class AfterRound(Protocol):
    """A function of the number of rounds so far and what was measured after the last."""

    def __call__(self, n_rounds: int, entries: list[Entry], state: RoundState, /) -> Any:
        """Handle a round; return True to stop."""


class MetricScorer:
    """A scorer of sumwise that measures a metric; greater is better, so most are negative."""

    def __init__(self, metric: Metric) -> None:
        self.metric = metric

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score of a model whose raw scores are known."""
        if is_classifier(estimator):
            classes = estimator.classes_
            y = np.searchsorted(classes, np.asarray(y))
            raw, mean = estimator.decision_function(X), estimator.predict_proba(X)
            mean = mean if classes.size > 2 else mean[:, -1]
        else:
            raw, mean = estimator.predict(X, raw=True), estimator.predict(X)
        value = self.metric.measure(Scored(np.asarray(y), raw, mean, sample_weight))
        return value if self.metric.higher else -value


@dataclass
class Evaluation:
    """Records all metrics on all sets, and calls what wants to know them.

    Attributes
    ----------
    sets : sequence of EvalSet
    metrics : sequence of Metric
    listeners : sequence of AfterRound
        Called after each round; training stops if one returns True.
    from_loss : tuple or None
        If the training loss is reported: the name of the set, the name of the metric, and what
        makes its value from the loss.
    """

    sets: Sequence[EvalSet]
    metrics: Sequence[Metric]
    listeners: Sequence[AfterRound] = ()
    from_loss: tuple[str, str, Callable[[float], float]] | None = None

    def __post_init__(self) -> None:
        self.results: dict[str, dict[str, list[float]]] = {}

    @property
    def scoring(self) -> Any:
        """The parameter ``scoring`` that measures the metrics."""
        if not self.sets or not self.metrics:
            return "loss"
        return {f"metric_{k}": MetricScorer(metric) for k, metric in enumerate(self.metrics)}

    @property
    def fit_options(self) -> dict[str, Any]:
        """The arguments of ``fit`` that pass the sets."""
        if not self.sets:
            return {}
        options: dict[str, Any] = {
            "eval_set": [(own.X, own.y) for own in self.sets],
            "eval_names": [f"set_{k}" for k in range(len(self.sets))],
        }
        if any(own.weight is not None for own in self.sets):
            options["eval_sample_weight"] = [own.weight for own in self.sets]
        if any(own.init_score is not None for own in self.sets):
            options["eval_init_score"] = [own.init_score for own in self.sets]
        return options

    def __call__(self, state: RoundState, /) -> bool:
        """Record a round; return whether to stop."""
        entries = self._read(state)
        for own in entries:
            by_metric = self.results.setdefault(own.set_name, {})
            by_metric.setdefault(own.metric_name, []).append(own.value)
        stops = [listener(state.round_number, entries, state) for listener in self.listeners]
        return any(answer is True for answer in stops)

    def _read(self, state: RoundState) -> list[Entry]:
        entries = []
        if self.from_loss is not None and "training_loss" in state.scores:
            name, metric_name, convert = self.from_loss
            value = convert(state.scores["training_loss"])
            entries.append(Entry(name, metric_name, value, False))
        for k, own in enumerate(self.sets):
            for m, metric in enumerate(self.metrics):
                value = state.scores[f"set_{k}_metric_{m}"]
                value = value if metric.higher else -value
                entries.append(Entry(own.name, metric.name, float(value), metric.higher))
        return entries


def list_sets(eval_set: Any) -> list[Any]:
    """Return ``eval_set`` as a list of pairs (X, y); a single pair may be given as a tuple."""
    if eval_set is None:
        return []
    if isinstance(eval_set, tuple) and len(eval_set) == 2 and not isinstance(eval_set[0], tuple):
        return [eval_set]
    if not isinstance(eval_set, (list, tuple)):
        raise DataError("eval_set must be a list of pairs (X, y)")
    pairs = list(eval_set)
    if not all(isinstance(pair, (list, tuple)) and len(pair) == 2 for pair in pairs):
        raise DataError("eval_set must be a list of pairs (X, y)")
    return pairs


def match_sets(what: str, values: Any, n_sets: int) -> list[Any]:
    """Return one value per set, None where there are none."""
    if values is None:
        return [None] * n_sets
    values = list(values)
    if len(values) != n_sets:
        raise DataError(f"{what} has {len(values)} entries for {n_sets} sets of eval_set")
    return values
