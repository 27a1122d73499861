"""Times of prediction on a GPU, from host arrays and from arrays of the GPU, beside XGBoost."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from benchmarks.compare import Target
from benchmarks.measure import alternate, time_call
from benchmarks.on_gpu import contestants as own
from benchmarks.on_gpu.large_tables import make_events
from benchmarks.on_gpu.outcome import Outcome, join
from benchmarks.on_gpu.timing import CASES, Case, Result, choose, set_size, tabulate

N_ROWS = 10_000_000
TARGET = Target(0.5, 0.25)
_N_TRAIN = 1_000_000


def time_prediction(
    n_rows: int, n_trees: int, n_repeats: int, chosen: Sequence[str] = tuple(own.CONTESTANTS)
) -> Outcome:
    """Time the prediction of many rows by models of two shapes."""
    return join(
        [
            measure(set_size(CASES[name], n_trees), n_rows, n_repeats, chosen)
            for name in ("depth", "leaf")
        ]
    )


def measure(case: Case, n_rows: int, n_repeats: int, chosen: Sequence[str]) -> Outcome:
    """Train each contestant once, and time their predictions in turn."""
    X, y = make_events(n_rows)
    label = f"predict {case.title}, {n_rows:,} rows, {case.settings.n_trees} trees"
    calls: dict[str, Callable[[], object]] = {}
    failures: list[str] = []
    for name in choose(case, n_rows, chosen):
        try:
            trained = own.CONTESTANTS[name](case.settings, X[:_N_TRAIN], y[:_N_TRAIN])
            given = own.put_on_gpu(X) if name in own.ON_GPU else X
            calls[name] = partial(predict, choose_call(name, trained), given)
            calls[name]()
        except Exception as error:  # the others shall be measured nevertheless
            failures.append(f"{label}, {name}: {type(error).__name__}: {error!s:.300}")
            calls.pop(name, None)
    spent = alternate(lambda name: time_call(calls[name]), list(calls), n_repeats)
    results = [Result(label, name, n_rows, values) for name, values in spent.items()]
    content = [asdict(each) for each in results]
    return Outcome([tabulate(label, results, TARGET)], content, failures)


def predict(call: Callable[[Any], Any], X: Any) -> None:
    """Predict all rows, and wait for the GPU."""
    call(X)
    own.synchronize()


def choose_call(name: str, trained: own.Trained) -> Callable[[Any], Any]:
    """Return how a contestant predicts: XGBoost in place, by way of a matrix, or of a copy."""
    if name == own.COPIED:
        return lambda X: trained.predict(own.put_on_gpu(X)).get()
    if name != own.PLAIN:
        return trained.predict
    import xgboost

    booster = trained.predict.__self__  # type: ignore[attr-defined]
    return lambda X: booster.predict(xgboost.DMatrix(X))
