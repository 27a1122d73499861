"""Exported source code: the time to predict one row, in C, Python and SQL, beside the libraries.

`python -m benchmarks.export` trains a classifier of two classes, writes it as source code, compiles
that and prints a table; see `--help`. The times of C are CPU time per row in a loop over distinct
rows. LightGBM has a function of C for single rows, which the same loop calls; the other libraries
predict an array of one row from Python. The SQL databases predict all rows in one query.
"""

import ctypes
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import alternate
from benchmarks.report import Table, format_aligned, format_seconds
from benchmarks.rivals import Model, Settings, build
from benchmarks.side_by_side import make_tree_parser, print_heading
from benchmarks.splits import load
from sumwise.export import to_c, to_python, to_sql

GOAL = 2e-6  # one row in C
N_TRAINING = 20_000
LIBRARIES = {"sumwise": "sumwise", "LightGBM": "lightgbm", "XGBoost": "xgboost"}
# Seconds per row of a function that predicts rows one by one.
Timer = Callable[[], float]

DRIVER = """
#include "model.c"
#include <time.h>
#include <stdint.h>

double time_model(const double *X, long n_rows, double *out)
{
    clock_t start = clock();
    long i;
    for (i = 0; i < n_rows; i++)
        model_predict(X + i * MODEL_N_INPUTS, out + i * MODEL_N_OUTPUTS);
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}

double time_lightgbm(int (*predict)(void *, const void *, int64_t *, double *), void *config,
                     const double *X, long n_rows, double *out)
{
    clock_t start = clock();
    int64_t n_written;
    long i;
    for (i = 0; i < n_rows; i++)
        predict(config, X + i * MODEL_N_INPUTS, &n_written, out + i);
    return (double)(clock() - start) / CLOCKS_PER_SEC;
}
"""


def compile_model(model: Any, folder: Path) -> ctypes.CDLL:
    """Return a library with the functions of the driver, compiled by ``cc -O2``."""
    to_c(model, path=folder / "model.c")
    (folder / "driver.c").write_text(DRIVER)
    command = ["cc", "-std=c99", "-O2", "-shared", "-fPIC", "driver.c", "-o", "driver.so", "-lm"]
    subprocess.run(command, cwd=folder, check=True)
    library = ctypes.CDLL(str(folder / "driver.so"))
    library.time_model.restype = library.time_lightgbm.restype = ctypes.c_double
    return library


def _point(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _check(found: Any, expected: np.ndarray) -> None:
    if not np.allclose(found, expected, rtol=1e-12):
        raise AssertionError("exported code predicts something else")


def time_c(library: ctypes.CDLL, X: np.ndarray, expected: np.ndarray) -> Timer:
    """Return a timer of the C code, after a check of its predictions."""
    out = np.empty((len(X), 2))

    def run() -> float:
        return library.time_model(_point(X), ctypes.c_long(len(X)), _point(out)) / len(X)

    run()
    _check(out[:, 1], expected)
    return run


def time_lightgbm(library: ctypes.CDLL, model: Any, X: np.ndarray) -> Timer:
    """Return a timer of LightGBM's function of C for single rows."""
    from lightgbm.basic import _LIB

    config, out = ctypes.c_void_p(), np.empty(len(X))
    handle, float64 = model.booster_._handle, 1
    settings = (0, 0, -1, float64, ctypes.c_int32(X.shape[1]), b"num_threads=1")
    _LIB.LGBM_BoosterPredictForMatSingleRowFastInit(handle, *settings, ctypes.byref(config))
    predict = _LIB.LGBM_BoosterPredictForMatSingleRowFast

    def run() -> float:
        n_rows = ctypes.c_long(len(X))
        seconds = library.time_lightgbm(predict, config, _point(X), n_rows, _point(out))
        return seconds / len(X)

    run()
    _check(out, model.predict_proba(X)[:, 1])
    return run


def time_rows(predict: Callable[[Any], Any], rows: Sequence[Any]) -> Timer:
    """Return a timer of a Python function: the median CPU time of a call."""

    def run() -> float:
        seconds = []
        for row in rows:
            start = time.process_time()
            predict(row)
            seconds.append(time.process_time() - start)
        return statistics.median(seconds)

    return run


def time_source(model: Any, rows: Sequence[list[float]], expected: np.ndarray) -> Timer:
    """Return a timer of the Python source."""
    module: dict[str, Any] = {}
    exec(compile(to_python(model), "model", "exec"), module)
    _check([module["predict_proba"](row)[1] for row in rows[:100]], expected[:100])
    return time_rows(module["predict_proba"], rows)


def time_sqlite(model: Any, rows: Sequence[list[float]], expected: np.ndarray) -> Timer:
    """Return a timer of a query in SQLite."""
    database = sqlite3.connect(":memory:")
    columns = ", ".join(f"x{k} REAL" for k in range(len(rows[0])))
    database.execute(f"CREATE TABLE points (id INTEGER, {columns})")
    marks = ", ".join("?" * (len(rows[0]) + 1))
    numbered = [[k, *row] for k, row in enumerate(rows)]
    database.executemany(f"INSERT INTO points VALUES ({marks})", numbered)
    query = to_sql(model, table="points", keep="id", dialect="sqlite")
    found = sorted(database.execute(query).fetchall())
    _check([row[-1] for row in found], expected)

    def run() -> float:
        start = time.process_time()
        database.execute(query).fetchall()
        return (time.process_time() - start) / len(rows)

    return run


def make_timers(models: Mapping[str, Any], X: np.ndarray, folder: Path) -> dict[str, Timer]:
    """Return the timers of all ways to predict one row."""
    ours, expected = models["sumwise"], models["sumwise"].predict_proba(X)[:, 1]
    rows, few = X.tolist(), [X[k : k + 1] for k in range(min(len(X), 300))]
    timers: dict[str, Timer] = {}
    if shutil.which("cc") is not None:
        library = compile_model(ours, folder)
        timers["C (sumwise)"] = time_c(library, X, expected)
        timers["C (LightGBM's library)"] = time_lightgbm(library, models["LightGBM"], X)
    timers["Python source (sumwise)"] = time_source(ours, rows[:300], expected)
    timers["SQLite (sumwise)"] = time_sqlite(ours, rows, expected)
    for name, model in models.items():
        timers[f"predict_proba ({name})"] = time_rows(model.predict_proba, few)
    return timers


def main(arguments: Sequence[str] | None = None) -> None:
    """Train, export, measure and print a table."""
    parser = make_tree_parser("export", __doc__)
    parser.add_argument("--rows", type=int, default=2_000, help="rows to predict")
    parser.set_defaults(jobs=1)  # for one row, waiting threads only cost time
    options = parser.parse_args(arguments)
    X, y = load(max(N_TRAINING if options.trees > 10 else 1_000, options.rows))
    settings = Settings(n_trees=options.trees, n_jobs=options.jobs)
    models = {
        name: build(Model(name, library), settings).fit(X, y) for name, library in LIBRARIES.items()
    }
    print_heading(f"{options.trees} trees of {settings.max_leaves} leaves, {X.shape[1]} features")
    with tempfile.TemporaryDirectory() as folder:
        timers = make_timers(models, np.ascontiguousarray(X[: options.rows]), Path(folder))
        spent = alternate(lambda name: timers[name](), list(timers), options.repeat)
    rows = [[name, format_seconds(statistics.median(values))] for name, values in spent.items()]
    title = f"CPU time to predict one row; the goal for C is {format_seconds(GOAL)}"
    print(format_aligned(Table(title, ["", "one row"], rows)))


if __name__ == "__main__":
    main()
