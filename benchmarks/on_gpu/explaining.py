"""Times of Shapley values on a GPU, beside our CPU and XGBoost's GPU; ours are compared by bits."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from benchmarks.compare import Target
from benchmarks.measure import alternate, time_call
from benchmarks.on_gpu import contestants as own
from benchmarks.on_gpu.large_tables import make_events
from benchmarks.on_gpu.outcome import Outcome, join
from benchmarks.on_gpu.timing import CASES, Case, Result, choose, set_size, tabulate

N_ROWS = 100_000
TARGET = Target(0.5, 0.25)
_N_TRAIN = 200_000
# XGBoost explains by way of a matrix, whatever it was trained on.
_NAMES = (own.OURS, own.OURS_ON_GPU, own.OURS_ON_CPU, own.PLAIN)


class Question(NamedTuple):
    """What is asked for, and of which share of the rows: pairs of features are many numbers."""

    title: str
    interactions: bool
    share: float


QUESTIONS = (Question("explain", False, 1.0), Question("interactions of", True, 0.1))


def time_explanations(
    cases: Sequence[str], n_rows: int, n_trees: int, n_repeats: int, chosen: Sequence[str]
) -> Outcome:
    """Time both questions to models of every case."""
    return join(
        [
            measure(set_size(CASES[name], n_trees), question, n_rows, n_repeats, chosen)
            for name in cases
            for question in QUESTIONS
        ]
    )


def measure(
    case: Case, question: Question, n_rows: int, n_repeats: int, chosen: Sequence[str]
) -> Outcome:
    """Train each contestant once, and time their explanations in turn."""
    n_explained = max(1, round(question.share * n_rows))
    X, y = make_events(max(n_rows, _N_TRAIN))
    rows = X[:n_explained]
    label = f"{question.title} {case.title}, {n_explained:,} rows, {case.settings.n_trees} trees"
    calls: dict[str, Callable[[], Any]] = {}
    found: dict[str, Any] = {}
    problems: list[str] = []
    names = choose(case._replace(rivals=[own.PLAIN]), n_rows, chosen)
    for name in [name for name in names if name in _NAMES]:
        try:
            trained = own.CONTESTANTS[name](case.settings, X[:_N_TRAIN], y[:_N_TRAIN])
            given = own.put_on_gpu(rows) if name in own.ON_GPU else rows
            calls[name] = make_call(name, trained, given, question)
            found[name] = calls[name]()
        except Exception as error:  # the others shall be measured nevertheless
            problems.append(f"{label}, {name}: {type(error).__name__}: {error!s:.300}")
            calls.pop(name, None)
    problems += compare(label, found)
    spent = alternate(lambda name: time_call(calls[name]), list(calls), n_repeats)
    results = [Result(label, name, n_explained, values) for name, values in spent.items()]
    content = [asdict(each) for each in results]
    return Outcome([tabulate(label, results, TARGET)], content, problems)


def make_call(name: str, trained: own.Trained, rows: Any, question: Question) -> Callable[[], Any]:
    """Return how a contestant explains rows, to arrays of the host."""
    model: Any = trained.predict.__self__  # type: ignore[attr-defined]
    if name != own.PLAIN:
        return lambda: model.explain(rows, interactions=question.interactions)
    import xgboost

    option = {"pred_interactions" if question.interactions else "pred_contribs": True}
    return lambda: model.predict(xgboost.DMatrix(rows), **option)


def compare(label: str, found: dict[str, Any]) -> list[str]:
    """Return in what explanations of a GPU differ from those of our CPU."""
    right = found.get(own.OURS_ON_CPU)
    return [
        f"{label}, {name}: {part} differ from the CPU's"
        for name in (own.OURS, own.OURS_ON_GPU)
        if right is not None and name in found
        for part in ("values", "base_values", "interactions")
        if not _are_equal(getattr(found[name], part), getattr(right, part))
    ]


def _are_equal(one: Any, other: Any) -> bool:
    return (one is None and other is None) or np.array_equal(one, other)
