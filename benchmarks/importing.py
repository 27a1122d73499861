"""Imported models predict many rows: time and largest difference, beside the library of origin.

`python -m benchmarks.importing` prints one line per model; see `--help`. Every model is trained on
simulated collisions, then imported. Both predict class probabilities, or numbers, of the same rows
in turn. `--cpu-time` counts the time of all CPUs, which other work on the machine does not change.
"""

import gc
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import sumwise
from benchmarks.datasets import make_higgs_like
from benchmarks.measure import alternate
from benchmarks.report import Table, format_aligned, format_figures, format_seconds
from benchmarks.side_by_side import OURS, make_tree_parser, print_heading

GOAL = 0.5
N_CLASSES = 5


class Case(NamedTuple):
    """A model of another library, and how it is imported."""

    make: Callable[[int, int], Any]  # from numbers of trees and threads
    convert: Callable[[Any], Any]
    target: str = "two"


def _xgboost(n_trees: int, n_jobs: int) -> Any:
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=n_trees, max_depth=6, n_jobs=n_jobs)


def _lightgbm(n_trees: int, n_jobs: int) -> Any:
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=n_trees, n_jobs=n_jobs, verbose=-1)


def _catboost(n_trees: int, n_jobs: int) -> Any:
    from catboost import CatBoostClassifier

    return CatBoostClassifier(
        iterations=n_trees, thread_count=n_jobs, verbose=0, allow_writing_files=False
    )


def _hist(n_trees: int, n_jobs: int) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    return HistGradientBoostingClassifier(max_iter=n_trees, early_stopping=False)


def _gradient(n_trees: int, n_jobs: int) -> Any:
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(n_estimators=n_trees, max_depth=6, subsample=0.2)


def _forest(n_trees: int, n_jobs: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_estimators=n_trees, n_jobs=n_jobs, random_state=0)


def _extra(n_trees: int, n_jobs: int) -> Any:
    from sklearn.ensemble import ExtraTreesRegressor

    return ExtraTreesRegressor(n_estimators=n_trees, n_jobs=n_jobs, min_samples_leaf=5)


CASES = {
    "XGBoost": Case(_xgboost, sumwise.from_xgboost),
    "XGBoost, 5 classes": Case(_xgboost, sumwise.from_xgboost, "five"),
    "LightGBM": Case(_lightgbm, sumwise.from_lightgbm),
    "LightGBM, 5 classes": Case(_lightgbm, sumwise.from_lightgbm, "five"),
    "CatBoost": Case(_catboost, sumwise.from_catboost),
    "CatBoost, 5 classes": Case(_catboost, sumwise.from_catboost, "five"),
    "HistGradientBoosting": Case(_hist, sumwise.from_sklearn),
    "GradientBoosting": Case(_gradient, sumwise.from_sklearn, "number"),
    "RandomForest": Case(_forest, sumwise.from_sklearn),
    "RandomForest, 5 classes": Case(_forest, sumwise.from_sklearn, "five"),
    "ExtraTrees, a number": Case(_extra, sumwise.from_sklearn, "number"),
}


def make_targets(X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Return two classes, five classes and a number for each row."""
    mass = X[:, -1] + 0.3 * y
    ends = np.quantile(mass, np.arange(1, N_CLASSES) / N_CLASSES)
    return {"two": y, "five": np.digitize(mass, ends), "number": mass.astype(np.float64)}


def predict(model: Any, X: np.ndarray) -> np.ndarray:
    """Return class probabilities, or numbers."""
    return np.asarray(getattr(model, "predict_proba", model.predict)(X))


class Result(NamedTuple):
    """Median seconds of both, and the largest difference of predictions."""

    ours: float
    theirs: float
    difference: float


def measure(
    case: Case, sizes: tuple[int, int], n_trees: int, n_jobs: int, n_repeats: int, clock: Any
) -> Result:
    """Train a model, import it, and time the predictions of both in turn."""
    n_train, n_rows = sizes
    X, y = make_higgs_like(n_train + n_rows)
    target = make_targets(X, y)[case.target]
    with threadpool_limits(n_jobs):
        theirs = case.make(n_trees, n_jobs).fit(X[:n_train], target[:n_train])
        models = {OURS: case.convert(theirs).set_params(n_jobs=n_jobs), "theirs": theirs}
        rows = X[n_train:]
        found = {name: predict(model, rows) for name, model in models.items()}

        def time_prediction(name: str) -> float:
            gc.collect()
            start = clock()
            predict(models[name], rows)
            return float(clock() - start)

        spent = alternate(time_prediction, list(models), n_repeats)
    ours, theirs_s = (statistics.median(spent[name]) for name in models)
    return Result(ours, theirs_s, float(np.abs(found[OURS] - found["theirs"]).max()))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure the models named on the command line, and print a table."""
    parser = make_tree_parser("importing", __doc__)
    parser.add_argument("--train", type=int, default=30_000, help="rows to train on")
    parser.add_argument("--rows", type=int, default=200_000, help="rows to predict")
    parser.add_argument("--only", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--cpu-time", action="store_true", help="count the time of all CPUs")
    args = parser.parse_args(arguments)
    clock = time.process_time if args.cpu_time else time.perf_counter
    kind = "CPU time" if args.cpu_time else "time"
    print_heading(f"{args.trees} trees, {args.rows:,} rows, {args.jobs} threads, median {kind}")
    lines = []
    for name in args.only:
        sizes = args.train, args.rows
        found = measure(CASES[name], sizes, args.trees, args.jobs, args.repeat, clock)
        ratio = format_figures(found.ours / found.theirs)
        times = format_seconds(found.ours), format_seconds(found.theirs)
        lines.append([name, *times, ratio, f"{GOAL}", f"{found.difference:.1e}"])
    print(
        format_aligned(
            Table(
                "Predictions of imported models",
                ["model", "imported", "at home", "ratio", "goal", "difference"],
                lines,
            )
        )
    )


if __name__ == "__main__":
    main()
