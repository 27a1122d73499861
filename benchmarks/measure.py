"""How a case is measured: one function per kind, with all models in turn."""

import gc
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.datasets import Dataset
from benchmarks.fresh import measure_peak_memory, saved_arrays, time_first_fit
from benchmarks.metrics import predict, score
from benchmarks.rivals import SUMWISE, Model, Settings, build

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


def alternate(
    run: Callable[[Model], float], models: Sequence[Model], n_repeats: int
) -> dict[str, list[float]]:
    """Run each model once per repeat, alternately in forward and reverse order."""
    values: dict[str, list[float]] = {model.name: [] for model in models}
    for repeat_idx in range(n_repeats):
        for model in models if repeat_idx % 2 == 0 else reversed(models):
            values[model.name].append(run(model))
    return values


def time_call(call: Callable[..., Any], *arguments: Any) -> float:
    """Return the seconds of a call, after a garbage collection."""
    gc.collect()
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


def measure_training(
    models: Sequence[Model], settings: Settings, data: Dataset, n_repeats: int
) -> list[Measurement]:
    """Measure the seconds from arrays to a fitted model, and the metrics on the test rows."""
    fitted: dict[str, Any] = {}

    def train(model: Model, settings: Settings) -> float:
        estimator = build(model, settings)
        fitted[model.name] = estimator
        return time_call(estimator.fit, data.X_train, data.y_train)

    few_trees = replace(settings, n_trees=WARM_UP_TREES)
    warm_ups = alternate(lambda model: train(model, few_trees), models, 1)
    values = alternate(lambda model: train(model, settings), models, n_repeats)
    metrics = {name: evaluate(estimator, data) for name, estimator in fitted.items()}
    return collect(values, metrics, warm_ups)


def measure_batch_prediction(
    models: Sequence[Model], settings: Settings, data: Dataset, n_repeats: int
) -> list[Measurement]:
    """Measure the seconds to predict all test rows."""

    def time_batch(estimator: Any) -> float:
        return statistics.median(
            time_call(predict, estimator, data.X_test, data.task) for _ in range(CALLS_PER_REPEAT)
        )

    return measure_prediction(time_batch, models, settings, data, n_repeats)


def measure_single_prediction(
    models: Sequence[Model], settings: Settings, data: Dataset, n_repeats: int
) -> list[Measurement]:
    """Measure the seconds to predict one row: the median over many calls."""
    n_rows = min(len(data.X_test), MAX_SINGLE_ROWS)
    rows = [data.X_test[row_idx : row_idx + 1] for row_idx in range(n_rows)]

    def time_rows(estimator: Any) -> float:
        gc.collect()
        seconds = []
        for row in rows:
            start = time.perf_counter()
            predict(estimator, row, data.task)
            seconds.append(time.perf_counter() - start)
        return statistics.median(seconds)

    return measure_prediction(time_rows, models, settings, data, n_repeats)


def measure_prediction(
    time_estimator: Callable[[Any], float],
    models: Sequence[Model],
    settings: Settings,
    data: Dataset,
    n_repeats: int,
) -> list[Measurement]:
    """Fit each model once, then time the predictions of all models in turn."""
    fitted = {
        model.name: build(model, settings).fit(data.X_train, data.y_train) for model in models
    }
    warm_ups = alternate(lambda model: time_call(time_estimator, fitted[model.name]), models, 1)
    values = alternate(lambda model: time_estimator(fitted[model.name]), models, n_repeats)
    metrics = {name: evaluate(estimator, data) for name, estimator in fitted.items()}
    return collect(values, metrics, warm_ups)


def measure_cold_first_fit(
    models: Sequence[Model], settings: Settings, data: Dataset, n_repeats: int
) -> list[Measurement]:
    """Measure the seconds of a fresh process that imports and fits, with an empty kernel cache."""

    def run(model: Model) -> float:
        with tempfile.TemporaryDirectory() as cache:
            return time_first_fit(model, settings, arrays, Path(cache))

    with saved_arrays(data.X_train, data.y_train) as arrays:
        return collect(alternate(run, models, n_repeats))


def measure_warm_first_fit(
    models: Sequence[Model], settings: Settings, data: Dataset, n_repeats: int
) -> list[Measurement]:
    """Measure the seconds of a fresh process that imports and fits, with cached kernels."""

    def run(model: Model) -> float:
        return time_first_fit(model, settings, arrays, Path(cache))

    with (
        saved_arrays(data.X_train, data.y_train) as arrays,
        tempfile.TemporaryDirectory() as cache,
    ):
        warm_ups = alternate(run, [SUMWISE], 1)
        return collect(alternate(run, models, n_repeats), warm_ups=warm_ups)


def measure_memory(
    models: Sequence[Model], settings: Settings, data: Dataset, n_repeats: int
) -> list[Measurement]:
    """Measure the peak memory of training in bytes, without the input, in fresh processes."""

    def run(model: Model) -> float:
        return measure_peak_memory(model, settings, arrays)

    with saved_arrays(data.X_train, data.y_train) as arrays:
        run(SUMWISE)  # compiles kernels, so that compiling does not count below
        return collect(alternate(run, models, n_repeats))


def evaluate(estimator: Any, data: Dataset) -> dict[str, float]:
    """Return the metrics on the test rows."""
    return score(data.task, data.y_test, predict(estimator, data.X_test, data.task))


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
