"""Whether models have the same bytes, and predictions the same bits, on the CPU and on devices."""

import re
import sys
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any, Literal

import numpy as np

from benchmarks.on_gpu.differences import describe_difference, describe_predictions
from benchmarks.on_gpu.outcome import Outcome
from benchmarks.on_gpu.settings import LIMITS, SETTINGS, Setting, dump, fit
from benchmarks.on_gpu.tables import make_table
from benchmarks.report import Table, format_seconds
from sumwise.errors import DeviceError, ParameterError

ROWS = (1_000, 70_000, 1_000_000)
DEVICES = ("cuda", "cuda:0,0")
Verdict = Literal["equal", "different", "refused", "failed"]
VERDICTS: tuple[Verdict, ...] = ("equal", "different", "refused", "failed")
# Few rows to predict are enough: every tree is walked by each of them.
_PREDICTED_ROWS = 20_000
# An error that does not tell users what gives them the model is a failure.
_OTHER_DEVICE = re.compile("device=['\"]cpu['\"]")
_METHODS = ("predict", "predict_proba", "decision_function")


@dataclass(frozen=True)
class Comparison:
    """A setting on a device, compared with the CPU."""

    name: str
    device: str
    n_rows: int
    verdict: Verdict
    reason: str
    cpu_seconds: float
    seconds: float

    @property
    def is_good(self) -> bool:
        """Whether it is what users are promised: the same bytes, or a limit that is told."""
        return self.verdict == "equal" or (self.verdict == "refused" and self.name in LIMITS)


def count_rounds(n_rows: int) -> int:
    """Return fewer rounds for more rows."""
    return 10 if n_rows <= 10_000 else 5 if n_rows <= 100_000 else 3


def select(parts: Sequence[str]) -> dict[str, Setting]:
    """Return the settings whose names contain one of the parts."""
    every = {**SETTINGS, **LIMITS}
    return {name: own for name, own in every.items() if any(part in name for part in parts)}


def compare(
    name: str, setting: Setting, n_rows: int, devices: Sequence[str], n_rounds: int
) -> list[Comparison]:
    """Train and predict on the CPU and on each device."""
    start = perf_counter()
    model = fit(setting, n_rows, n_rounds, "cpu")
    cpu_seconds = perf_counter() - start
    expected = dump(model), predict(model, setting, n_rows)
    results = []
    for device in devices:
        start = perf_counter()
        verdict, reason = judge(setting, n_rows, n_rounds, device, model, *expected)
        spent = perf_counter() - start
        results.append(Comparison(name, device, n_rows, verdict, reason, cpu_seconds, spent))
    return results


def judge(
    setting: Setting,
    n_rows: int,
    n_rounds: int,
    device: str,
    model: Any,
    content: bytes,
    predictions: Mapping[str, np.ndarray],
) -> tuple[Verdict, str]:
    """Return how a device does with a setting; the CPU's model, file and predictions are given."""
    try:
        own = fit(setting, n_rows, n_rounds, device)
        reason = describe_difference(content, dump(own))
        if reason:
            return "different", reason
        # Both models on the device; and the device's model, moved to the CPU.
        trials = [
            ("CPU's model", model, device),
            ("device's model", own, device),
            ("device's model on the CPU", own, "cpu"),
        ]
        for whose, trained, where in trials:
            reason = compare_predictions(trained, where, setting, n_rows, predictions)
            if reason:
                return "different", f"{whose}, {reason}"
    except Exception as error:  # whatever it is, the other settings must be tried
        is_told = isinstance(error, (DeviceError, ParameterError)) and _OTHER_DEVICE.search(
            str(error)
        )
        return ("refused", str(error)) if is_told else ("failed", describe_error(error))
    return "equal", ""


def describe_error(error: Exception) -> str:
    """Return the kind and text of an error, and the line that raised it."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}"
    return f"{type(error).__name__}: {error!s:.300} ({place})"


def predict(model: Any, setting: Setting, n_rows: int) -> dict[str, np.ndarray]:
    """Return the predictions of all methods that a model has."""
    X, _ = make_table(setting.table, min(n_rows, _PREDICTED_ROWS))
    return {name: getattr(model, name)(X) for name in _METHODS if hasattr(model, name)}


def compare_predictions(
    model: Any, device: str, setting: Setting, n_rows: int, expected: Mapping[str, np.ndarray]
) -> str | None:
    """Return how the predictions of a model on a device differ; None if they do not."""
    trained_on = model.get_params(deep=False).get("device", "cpu")
    model.set_params(device=device)
    try:
        found = predict(model, setting, n_rows)
    finally:
        model.set_params(device=trained_on)
    for method, own in found.items():
        reason = describe_predictions(expected[method], own)
        if reason:
            return f"{method}, {reason}"
    return None


def run(
    parts: Sequence[str] = ("",),
    rows: Sequence[int] = ROWS,
    devices: Sequence[str] = DEVICES,
    n_rounds: int | None = None,
) -> Outcome:
    """Compare all settings at all sizes; print those that fail as soon as they do."""
    results: list[Comparison] = []
    for n_rows in rows:
        for name, setting in select(parts).items():
            own = compare(name, setting, n_rows, devices, n_rounds or count_rounds(n_rows))
            results += own
            for each in own:
                if not each.is_good:
                    print(describe(each), file=sys.stderr, flush=True)
        make_table.cache_clear()
    problems = [describe(each) for each in results if not each.is_good]
    return Outcome(tabulate(results, devices), list(map(asdict, results)), problems)


def describe(result: Comparison) -> str:
    """Return a line on a setting that failed."""
    where = f"{result.name}, {result.n_rows:,} rows, {result.device}"
    return f"{where}: {result.verdict}: {result.reason}"


def tabulate(results: Sequence[Comparison], devices: Sequence[str]) -> list[Table]:
    """Return how many settings are equal, and how many limits are refused, by size and device."""
    counts: list[list[str]] = []
    limits: list[list[str]] = []
    for n_rows in sorted({each.n_rows for each in results}):
        for device in devices:
            own = [each for each in results if (each.n_rows, each.device) == (n_rows, device)]
            for names, lines in ((SETTINGS, counts), (LIMITS, limits)):
                chosen = [each for each in own if each.name in names]
                found = Counter(each.verdict for each in chosen)
                spent = format_seconds(sum(each.seconds for each in chosen))
                on_cpu = format_seconds(sum(each.cpu_seconds for each in chosen))
                head = f"{n_rows:,} rows, {device}"
                lines.append([head, *(str(found[verdict]) for verdict in VERDICTS), spent, on_cpu])
    header = ["", *VERDICTS, "on the device", "on the CPU"]
    tables = [
        Table("Equality with the CPU, settings that must be equal", header, counts),
        Table("Equality with the CPU, settings that may be refused", header, limits),
    ]
    refused = {each.name: each.reason for each in results if each.verdict == "refused"}
    if refused:
        lines = [(name, reason[:150]) for name, reason in refused.items()]
        tables.append(Table("Refused settings", ("setting", "error"), lines))
    return tables
