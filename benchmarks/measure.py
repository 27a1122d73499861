"""How a case is measured: one function per kind, with all models in turn."""

import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from benchmarks.datasets import Dataset
from benchmarks.fresh import measure_peak_memory, saved_arrays, time_first_fit
from benchmarks.metrics import predict, score
from benchmarks.rivals import SUMWISE, Model, Settings, build

Key = TypeVar("Key", bound=Hashable)
WARM_UP_TREES = 2
CALLS_PER_REPEAT = 5
MAX_SINGLE_ROWS = 300


@dataclass(frozen=True)
class Measurement:
    """One model in one case: one value per repeat, in seconds or in bytes.

    `warm_up_s` is the time of our first run, which is not counted. It compiles the kernels, or
    loads them if an earlier process has compiled them.
    """

    model: str
    values: Sequence[float]
    metrics: Mapping[str, float] = field(default_factory=dict)
    warm_up_s: float | None = None

    @property
    def median(self) -> float:
        return statistics.median(self.values)


class Run(NamedTuple):
    """The models to measure by name, their settings and data, and the number of repeats."""

    models: Mapping[str, Model]
    settings: Settings
    data: Dataset
    n_repeats: int


def alternate(
    run: Callable[[Key], float], keys: Sequence[Key], n_repeats: int
) -> dict[Key, list[float]]:
    """Run each key once per repeat, alternately in forward and reverse order."""
    values: dict[Key, list[float]] = {key: [] for key in keys}
    for repeat_idx in range(n_repeats):
        for key in keys if repeat_idx % 2 == 0 else reversed(keys):
            values[key].append(run(key))
    return values


def time_call(call: Callable[..., Any], *arguments: Any) -> float:
    """Return the seconds of a call, after a garbage collection."""
    gc.collect()
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


def measure_training(run: Run) -> list[Measurement]:
    """Measure the seconds from arrays to a fitted model, and the metrics on the test rows."""
    fitted: dict[str, Any] = {}

    def train(name: str, settings: Settings = run.settings) -> float:
        fitted[name] = build(run.models[name], settings)
        return time_call(fitted[name].fit, run.data.X_train, run.data.y_train)

    few_trees = replace(run.settings, n_trees=WARM_UP_TREES)
    warm_ups = alternate(lambda name: train(name, few_trees), list(run.models), 1)
    values = alternate(train, list(run.models), run.n_repeats)
    return collect(values, evaluate(fitted, run.data), warm_ups)


def measure_batch_prediction(run: Run) -> list[Measurement]:
    """Measure the seconds to predict all test rows."""

    def time_batch(estimator: Any) -> float:
        calls = (predict, estimator, run.data.X_test, run.data.task)
        return statistics.median(time_call(*calls) for _ in range(CALLS_PER_REPEAT))

    return measure_prediction(time_batch, run)


def measure_single_prediction(run: Run) -> list[Measurement]:
    """Measure the seconds to predict one row: the median over many calls."""
    n_rows = min(len(run.data.X_test), MAX_SINGLE_ROWS)
    rows = [run.data.X_test[row_idx : row_idx + 1] for row_idx in range(n_rows)]

    def time_rows(estimator: Any) -> float:
        gc.collect()
        seconds = []
        for row in rows:
            start = time.perf_counter()
            predict(estimator, row, run.data.task)
            seconds.append(time.perf_counter() - start)
        return statistics.median(seconds)

    return measure_prediction(time_rows, run)


def measure_prediction(time_estimator: Callable[[Any], float], run: Run) -> list[Measurement]:
    """Fit each model once, then time the predictions of all models in turn."""
    fitted = {
        name: build(model, run.settings).fit(run.data.X_train, run.data.y_train)
        for name, model in run.models.items()
    }
    warm_ups = alternate(lambda name: time_call(time_estimator, fitted[name]), list(fitted), 1)
    values = alternate(lambda name: time_estimator(fitted[name]), list(fitted), run.n_repeats)
    return collect(values, evaluate(fitted, run.data), warm_ups)


def measure_cold_first_fit(run: Run) -> list[Measurement]:
    """Measure the seconds of a fresh process that imports and fits, with an empty kernel cache."""

    def time_fresh(name: str) -> float:
        with tempfile.TemporaryDirectory() as cache:
            return time_first_fit(run.models[name], run.settings, arrays, Path(cache))

    with saved_arrays(run.data.X_train, run.data.y_train) as arrays:
        return collect(alternate(time_fresh, list(run.models), run.n_repeats))


def measure_warm_first_fit(run: Run) -> list[Measurement]:
    """Measure the seconds of a fresh process that imports and fits, with cached kernels."""

    def time_fresh(name: str) -> float:
        return time_first_fit(run.models[name], run.settings, arrays, Path(cache))

    train = (run.data.X_train, run.data.y_train)
    with saved_arrays(*train) as arrays, tempfile.TemporaryDirectory() as cache:
        warm_ups = alternate(time_fresh, [SUMWISE.name], 1)
        values = alternate(time_fresh, list(run.models), run.n_repeats)
        return collect(values, warm_ups=warm_ups)


def measure_memory(run: Run) -> list[Measurement]:
    """Measure the peak memory of training in bytes, without the input, in fresh processes."""

    def weigh(name: str) -> float:
        return measure_peak_memory(run.models[name], run.settings, arrays)

    with saved_arrays(run.data.X_train, run.data.y_train) as arrays:
        weigh(SUMWISE.name)  # compiles kernels, so that compiling does not count below
        return collect(alternate(weigh, list(run.models), run.n_repeats))


def evaluate(fitted: Mapping[str, Any], data: Dataset) -> dict[str, dict[str, float]]:
    """Return the metrics of fitted models on the test rows."""
    return {
        name: score(data.task, data.y_test, predict(estimator, data.X_test, data.task))
        for name, estimator in fitted.items()
    }


def collect(
    values: Mapping[str, Sequence[float]],
    metrics: Mapping[str, Mapping[str, float]] | None = None,
    warm_ups: Mapping[str, Sequence[float]] | None = None,
) -> list[Measurement]:
    """Return one measurement per model. Only ours has a warm-up of interest."""
    warm_up_s = warm_ups[SUMWISE.name][0] if warm_ups else None
    return [
        Measurement(
            name,
            values[name],
            metrics[name] if metrics else {},
            warm_up_s if name == SUMWISE.name else None,
        )
        for name in values
    ]
