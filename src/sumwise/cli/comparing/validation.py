"""Cross-validation of a contender: scores, times, out-of-fold predictions, and its members."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)

from sumwise import diversity, member_predictions
from sumwise.cli.comparing.contenders import AUTOMATIC, Contender, Terms, count_members
from sumwise.cli.comparing.datasets import Dataset
from sumwise.cli.comparing.scores import Metric, predict
from sumwise.cli.comparing.sharing import Memory
from sumwise.cli.usage import UsageError
from sumwise.errors import DataError

Fold = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class Decomposition:
    """What the members of an ensemble gain by being different, on the test rows of all folds.

    The error of the ensemble is the mean error of its members minus ``good`` plus ``bad``: for
    numbers, the squared error of their average, the ambiguity, and 0 (Krogh and Vedelsby, 1995);
    for labels, the error of their vote, and good and bad diversity (Brown and Kuncheva, 2010).
    """

    error: float
    mean_error: float
    good: float
    bad: float = 0.0

    @property
    def gain(self) -> float:
        """The share of the members' error that is gained."""
        return (self.good - self.bad) / self.mean_error if self.mean_error > 0 else 0.0


@dataclass
class Result:
    """What is known of a contender after some folds."""

    contender: Contender
    n_rows: int
    scores: list[float] = field(default_factory=list)
    fit_seconds: list[float] = field(default_factory=list)
    predict_seconds: list[float] = field(default_factory=list)
    members: list[int] = field(default_factory=list)
    decompositions: list[Decomposition] = field(default_factory=list)
    failure: str | None = None
    _tests: list[np.ndarray] = field(default_factory=list)
    _predictions: list[np.ndarray] = field(default_factory=list)

    @property
    def name(self) -> str:
        """The name of the contender."""
        return self.contender.name

    @property
    def mean_score(self) -> float:
        """The mean over the folds that are known; NaN if there is none."""
        return float(np.mean(self.scores)) if self.scores else float("nan")

    @property
    def decomposition(self) -> Decomposition | None:
        """The mean over folds."""
        if not self.decompositions:
            return None
        parts = [(d.error, d.mean_error, d.good, d.bad) for d in self.decompositions]
        return Decomposition(*np.mean(parts, axis=0).tolist())

    @property
    def out_of_fold(self) -> np.ndarray | None:
        """The prediction for each row by the model of its fold; None if some row has none."""
        tests = self._tests
        if not tests or sum(map(len, tests)) != self.n_rows or self.failure is not None:
            return None
        order = np.argsort(np.concatenate(tests))
        return np.concatenate(self._predictions)[order]

    def add(self, test: np.ndarray, predictions: np.ndarray) -> None:
        """Keep the predictions for the test rows of a fold."""
        self._tests.append(test)
        self._predictions.append(predictions)


def split_folds(data: Dataset, n_folds: int) -> list[Fold]:
    """Split the rows into folds, the same for every contender.

    They are shuffled, and stratified by class; groups stay together; in time, later rows are
    tested.
    """
    is_class = data.task == "classification"
    splitter: Any
    if data.in_time:
        splitter = TimeSeriesSplit(n_folds)
    elif data.group is not None:
        grouped = {"shuffle": True, "random_state": 0}
        splitter = StratifiedGroupKFold(n_folds, **grouped) if is_class else GroupKFold(n_folds)
    else:
        kind = StratifiedKFold if is_class else KFold
        splitter = kind(n_folds, shuffle=True, random_state=0)
    if is_class:
        labels, counts = np.unique(data.y, return_counts=True)
        if labels.size < 2:
            raise UsageError(f"the target has the same value {str(labels[0])!r} in all rows")
        if counts.min() < 2:
            rare = labels[counts.argmin()]
            raise UsageError(
                f"class {str(rare)!r} has a single row, and cross-validation needs two or more; "
                "leave it out, or predict numbers by --task regression"
            )
    try:
        return list(splitter.split(data.X, data.y, data.group))
    except ValueError as error:
        raise UsageError(f"--folds {n_folds}: {error}") from error


def cross_validate(
    contender: Contender,
    data: Dataset,
    folds: list[Fold],
    terms: Terms,
    metric: Metric,
    tell: Callable[[Result], None] = lambda result: None,
) -> Result:
    """Fit and score a contender on every fold; ``tell`` is called after each.

    A contender that fails has the message as its ``failure``.
    """
    result = Result(contender, len(data.y))
    classes = np.unique(data.y) if data.task == "classification" else None
    for train, test in folds:
        try:
            _run_fold(result, data, train, test, terms, metric, classes)
        except Exception as error:
            result.failure = f"{type(error).__name__}: {error}"
            tell(result)
            return result
        tell(result)
    return result


def _run_fold(
    result: Result,
    data: Dataset,
    train: np.ndarray,
    test: np.ndarray,
    terms: Terms,
    metric: Metric,
    classes: np.ndarray | None,
) -> None:
    own = data.take(train)
    model = result.contender.build(own, terms)
    keywords: dict[str, Any] = {}
    if result.contender.group == AUTOMATIC:
        keywords = {"groups": own.group, "time_order": data.in_time}
    memory = terms.memory or Memory()
    before, start = memory.saved_seconds, perf_counter()
    model.fit(own.X, own.y, **keywords)
    fitted, after = perf_counter(), memory.saved_seconds
    found = predict(model, data.X[test], classes)
    seconds = perf_counter() - fitted + memory.saved_seconds - after
    if found.probabilities is not None:  # labels and probabilities were both predicted
        seconds /= 2
    result.fit_seconds.append(fitted - start + after - before)
    result.predict_seconds.append(seconds)
    result.scores.append(metric.rate(data.y[test], found, classes))
    result.members.append(count_members(model))
    result.add(test, found.values if found.probabilities is None else found.probabilities)
    if result.contender.averages:
        parts = decompose(model, data.X[test], data.y[test], found.values)
        if parts is not None:
            result.decompositions.append(parts)


def decompose(model: Any, X: Any, y: np.ndarray, found: np.ndarray) -> Decomposition | None:
    """Decompose the error of an average or vote on test rows; None if its members say nothing."""
    try:
        predictions = member_predictions(model, X).values
    except DataError:
        return None
    if is_classifier(model):
        if predictions.dtype.kind == "O":
            predictions, y, found = (each.astype(str) for each in (predictions, y, found))
        parts = diversity.vote_decomposition(predictions, y, vote=found)
        return Decomposition(parts.ensemble_error, parts.mean_error, parts.good, parts.bad)
    error, mean_error, ambiguity = diversity.ambiguity_decomposition(predictions, y)
    return Decomposition(error, mean_error, ambiguity)
