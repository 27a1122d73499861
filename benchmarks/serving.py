"""Latency of one prediction at a time, from a list and from a dict of values.

Every library predicts the probability of the second class from the values of one row, as a server
gets them, with one thread. The time includes what a library needs to convert the values: most want
a 2-D array. `LightGBM, C` calls LightGBM's fast path for single rows, which its Python package does
not expose, through ctypes. `ONNX Runtime` runs our model, exported. The predictions of each model
are compared with those of all rows at once; ours must be equal bit by bit.
"""

import ctypes
import gc
import statistics
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter_ns
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.datasets import load_higgs_like
from benchmarks.measure import alternate
from benchmarks.report import Table, format_aligned, format_seconds
from benchmarks.rivals import CATBOOST, LIGHTGBM, SCIKIT_LEARN, SUMWISE, XGBOOST, Settings, build
from benchmarks.side_by_side import make_parser, print_heading

COMPILED, PLAIN = "sumwise, compiled", "sumwise"
RIVALS = {model.name: model for model in (LIGHTGBM, XGBOOST, CATBOOST, SCIKIT_LEARN)}
LIGHTGBM_C, ONNX = "LightGBM, C", "ONNX Runtime"
NAMES = [COMPILED, PLAIN, ONNX, "LightGBM", LIGHTGBM_C, "XGBoost", "CatBoost", "scikit-learn"]
# The library that a model comes from, unless it is the name.
LIBRARY_OF = {COMPILED: SUMWISE.name, ONNX: SUMWISE.name, LIGHTGBM_C: LIGHTGBM.name}
# Largest difference of a rival's prediction of one row from that of many.
TOLERANCE = 1e-6

Call = Callable[[Any], float]


class Server(NamedTuple):
    """The probability of one row from a list and from a dict, and those of all rows at once."""

    from_list: Call
    from_dict: Call
    expected: np.ndarray
    is_exact: bool = False


class Latency(NamedTuple):
    """Median and 99th percentile of the seconds of a call."""

    p50: float
    p99: float


def make_server(name: str, fitted: Mapping[str, Any], X: np.ndarray, names: list[str]) -> Server:
    """Return how a model predicts one row; ``fitted`` has the models by library."""
    model = fitted[LIBRARY_OF.get(name, name)]
    expected = model.predict_proba(X)[:, 1]
    if name == COMPILED:
        predict = model.compile("proba")

        def call_compiled(row: Any) -> float:
            return predict(row)[1]

        return Server(call_compiled, call_compiled, expected, is_exact=True)
    call = _make_call(name, model)

    def call_by_name(row: dict[str, float]) -> float:
        return call([row[name] for name in names])

    return Server(call, call_by_name, expected, is_exact=name == PLAIN)


def _make_call(name: str, model: Any) -> Call:
    """Return the shortest way to a prediction that a library offers."""
    if name == LIGHTGBM_C:
        return _call_lightgbm(model.booster_)
    if name == ONNX:
        return _call_onnx(model)
    if name == LIGHTGBM.name:
        booster = model.booster_
        return lambda row: booster.predict(np.array([row]), num_threads=1)[0]
    if name == XGBOOST.name:
        booster = model.get_booster()
        return lambda row: booster.inplace_predict(np.array([row], dtype=np.float32))[0]
    if name == CATBOOST.name:
        return lambda row: model.predict(row, prediction_type="Probability", thread_count=1)[1]
    return lambda row: model.predict_proba(np.array([row]))[0, 1]


def _call_onnx(model: Any) -> Call:
    """Return a call of ONNX Runtime on our model, in double precision."""
    import onnxruntime  # type: ignore[import-untyped]

    from sumwise.export import to_onnx

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    content = to_onnx(model).SerializeToString()
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    return lambda row: session.run(["probabilities"], {"X": np.array([row])})[0][0, 1]


def _call_lightgbm(booster: Any) -> Call:
    """Return a call of LightGBM's fast path for single rows of float64."""
    from lightgbm.basic import _LIB  # private: the library itself

    n_features = booster.num_feature()
    row_buffer, out = (ctypes.c_double * n_features)(), (ctypes.c_double * 1)()
    n_out, settings = ctypes.c_int64(), ctypes.c_void_p()
    normal, every_tree, float64 = ctypes.c_int(0), (ctypes.c_int(0), ctypes.c_int(-1)), 1
    _LIB.LGBM_BoosterPredictForMatSingleRowFastInit(
        booster._handle,
        normal,
        *every_tree,
        ctypes.c_int(float64),
        ctypes.c_int32(n_features),
        ctypes.c_char_p(b"num_threads=1"),
        ctypes.byref(settings),
    )
    predict, length = _LIB.LGBM_BoosterPredictForMatSingleRowFast, ctypes.byref(n_out)

    def call(row: Sequence[float]) -> float:
        row_buffer[:] = row
        predict(settings, row_buffer, length, out)
        return out[0]

    return call


def check(name: str, server: Server, rows: Sequence[Any], named: Sequence[Any]) -> None:
    """Raise an error unless single rows are predicted as all rows together are."""
    for call, own in ((server.from_list, rows), (server.from_dict, named)):
        found = np.array([call(row) for row in own])
        error = np.abs(found - server.expected).max()
        if error > (0.0 if server.is_exact else TOLERANCE):
            raise AssertionError(f"{name}: predictions of single rows differ by {error}")


def time_calls(call: Call, rows: Sequence[Any]) -> list[float]:
    """Return the seconds of each call."""
    gc.collect()
    spent = []
    for row in rows:
        start = perf_counter_ns()
        call(row)
        spent.append((perf_counter_ns() - start) * 1e-9)
    return spent


def measure(calls: Mapping[str, Call], rows: Sequence[Any], n_repeats: int) -> dict[str, Latency]:
    """Measure all models in turn."""
    spent: dict[str, list[float]] = {name: [] for name in calls}

    def run(name: str) -> float:
        spent[name] += time_calls(calls[name], rows)
        return spent[name][-1]

    alternate(run, list(calls), n_repeats)
    return {
        name: Latency(statistics.median(own), float(np.quantile(own, 0.99)))
        for name, own in spent.items()
    }


def compare(
    chosen: Sequence[str], n_rows: int, n_calls: int, n_trees: int, n_repeats: int
) -> Table:
    """Return a table of latencies, with the median of each model over that of ours."""
    data = load_higgs_like(n_rows, n_calls)
    X = data.X_test.astype(np.float64)
    names = [f"x{k}" for k in range(X.shape[1])]
    rows = X.tolist()
    named = [dict(zip(names, row, strict=True)) for row in rows]
    settings = Settings("binary", n_trees=n_trees, n_jobs=1)
    libraries = {SUMWISE.name: SUMWISE, **RIVALS}
    used = {LIBRARY_OF.get(name, name) for name in chosen}
    fitted = {
        name: build(model, settings).fit(data.X_train, data.y_train)
        for name, model in libraries.items()
        if name in used
    }
    servers = {name: make_server(name, fitted, X, names) for name in chosen}
    for name, server in servers.items():
        check(name, server, rows, named)
    by_list = measure({name: own.from_list for name, own in servers.items()}, rows, n_repeats)
    by_dict = measure({name: own.from_dict for name, own in servers.items()}, named, n_repeats)
    ours = by_list[chosen[0]].p50
    cells = [
        [
            name,
            *(format_seconds(seconds) for seconds in (*by_list[name], *by_dict[name])),
            f"{by_list[name].p50 / ours:.1f}",
        ]
        for name in chosen
    ]
    head = ["", "list p50", "p99", "dict p50", "p99", "ratio"]
    return Table(f"{n_trees} trees, {X.shape[1]} features", head, cells)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the models and print a table."""
    parser = make_parser("serving", __doc__)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--rows", type=int, default=20_000, help="training rows")
    parser.add_argument("--calls", type=int, default=1_000, help="different rows to predict")
    parser.add_argument("--repeat", type=int, default=3, help="times that all rows are predicted")
    parser.add_argument("--models", nargs="+", choices=NAMES, default=NAMES)
    parsed = parser.parse_args(arguments)
    print_heading("one row at a time, 31 leaves; ratio: list p50 to that of the first line")
    run = (parsed.models, parsed.rows, parsed.calls, parsed.trees, parsed.repeat)
    with threadpool_limits(1):  # scikit-learn's threads are those of OpenMP
        table = compare(*run)
    print(f"\n{format_aligned(table)}", flush=True)


if __name__ == "__main__":
    main()
