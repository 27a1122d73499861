"""Estimators of sumwise.compat beside those whose names they have: loss and CPU time.

`python -m benchmarks.compat` prints one line per table and estimator. Both have default parameters
and one thread, and predict rows that neither has seen: the log loss of classes, or the root mean
squared error. Without `SUMWISE_DATA`, use `--only friedman`.
"""

import argparse
import time
from collections.abc import Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.metrics import log_loss, root_mean_squared_error

from benchmarks.datasets import Dataset, read_table
from benchmarks.rivals import Task


class Table(NamedTuple):
    """A file in `SUMWISE_DATA`, and its task."""

    name: str
    task: Task


TABLES = (
    Table("friedman", "regression"),
    Table("abalone", "regression"),
    Table("california_housing", "regression"),
    Table("wine_quality", "regression"),
    Table("kin8nm", "regression"),
    Table("spambase", "binary"),
    Table("credit_default", "binary"),
    Table("electricity_6f", "binary"),
    Table("higgs_21k", "binary"),
    Table("letter", "multiclass"),
)
LIBRARIES = {
    "lightgbm": ("LGBM", {"n_jobs": 1, "verbose": -1}),
    "xgboost": ("XGB", {"n_jobs": 1}),
    "catboost": ("CatBoost", {"thread_count": 1, "verbose": False, "allow_writing_files": False}),
}


def load(table: Table, max_rows: int) -> Dataset:
    """Return a table, two thirds of it for training."""
    if table.name == "friedman":
        X, y = make_friedman1(max_rows, noise=1.0, random_state=0)
    else:
        X, y = read_table(table.name, table.task, max_rows)
    order = np.random.default_rng(0).permutation(y.size)
    train, test = np.split(order, [2 * y.size // 3])
    return Dataset(table.task, X[train], y[train], X[test], y[test])


def measure(module: str, library: str, data: Dataset, rounds: int | None) -> tuple[float, float]:
    """Return the loss of an estimator, and the CPU time of its fit in seconds."""
    prefix, options = LIBRARIES[library]
    suffix = "Regressor" if data.task == "regression" else "Classifier"
    kind = getattr(import_module(module), prefix + suffix)
    if rounds is not None:
        options = {**options, "n_estimators": rounds}
    begin = time.process_time()
    model: Any = kind(**options).fit(data.X_train, data.y_train)
    seconds = time.process_time() - begin
    if data.task == "regression":
        return root_mean_squared_error(data.y_test, model.predict(data.X_test)), seconds
    return log_loss(data.y_test, model.predict_proba(data.X_test)), seconds


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=10_000, help="most rows of a table")
    parser.add_argument("--rounds", type=int, help="rounds of all, instead of their defaults")
    parser.add_argument("--only", action="append", help="a table; may be repeated")
    options = parser.parse_args(arguments)
    print(f"{'table':20}{'library':10}{'theirs':>10}{'ours':>10}{'ratio':>8}{'s':>8}{'s':>8}")
    ratios: dict[str, list[float]] = {library: [] for library in LIBRARIES}
    for table in TABLES:
        if options.only and table.name not in options.only:
            continue
        data = load(table, options.rows)
        for library in LIBRARIES:
            theirs, their_time = measure(library, library, data, options.rounds)
            ours, our_time = measure(f"sumwise.compat.{library}", library, data, options.rounds)
            ratios[library].append(ours / theirs)
            print(
                f"{table.name:20}{library:10}{theirs:10.4f}{ours:10.4f}{ours / theirs:8.3f}"
                f"{their_time:8.1f}{our_time:8.1f}",
                flush=True,
            )
    for library, found in ratios.items():
        print(f"{'geometric mean':20}{library:10}{np.exp(np.mean(np.log(found))):28.3f}")


if __name__ == "__main__":
    main()
