"""Random forests and extremely randomized trees: time, size and accuracy beside other libraries.

`python -m benchmarks.forests` times fits and predictions and measures the size of saved models, on
simulated data and on covertype, if it is in the folder `SUMWISE_DATA`. The task `sparse` has 20,000
columns, similar to words of texts. With `--accuracy` it compares test metrics with scikit-learn,
fold by fold, on the data sets in that folder. See `--help`.
"""

import pickle
import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.accuracy import NUMERIC, Difference, pair_metrics, split_folds, tabulate, take
from benchmarks.datasets import MissingDataError, load_covertype, load_higgs_like, read_table
from benchmarks.measure import time_call
from benchmarks.metrics import predict, score
from benchmarks.report import (
    count_cpus,
    format_aligned,
    format_bytes,
    format_figures,
    format_seconds,
)
from benchmarks.rivals import Task
from benchmarks.side_by_side import OURS, THEIRS, make_parser, print_heading

ROWS = (10_000, 100_000, 1_000_000)
DEPTHS = (None, 10)
TEST_ROWS = 50_000
GOALS = {"fit": 0.10, "predict": 0.30, "size": 0.50}
TASKS = ("binary", "regression", "classes", "sparse")
# Columns of the sparse data, and stored values per row; a larger data set is not much harder.
WORDS, WORDS_PER_ROW, MOST_SPARSE_ROWS = 20_000, 80, 20_000
# The other libraries need a limit on leaves in place of unlimited depth.
MOST_LEAVES = 1 << 17
SHARE_DRAWN = 0.632  # distinct rows in a bootstrap sample
SOURCES: dict[str, Task] = NUMERIC | {
    "wine_quality": "regression",
    "spambase": "binary",
    "electricity_6f": "binary",
    "credit_default": "binary",
}


def make_models(kind: str, task: str, n_trees: int, depth: int | None) -> dict[str, Any]:
    """Return our model, scikit-learn's, and random forests of LightGBM and XGBoost."""
    from sklearn import ensemble

    import sumwise

    suffix = "Regressor" if task == "regression" else "Classifier"
    common = {"n_estimators": n_trees, "max_depth": depth, "random_state": 0}
    name = ("RandomForest" if kind == "forest" else "ExtraTrees") + suffix
    models = {
        OURS: getattr(sumwise, name)(**common),
        THEIRS: getattr(ensemble, name)(**common, n_jobs=count_cpus()),
    }
    if kind == "forest" and task in ("binary", "regression"):
        models |= _make_other_forests(task, n_trees, depth, suffix)
    return models


def _make_other_forests(task: str, n_trees: int, depth: int | None, suffix: str) -> dict[str, Any]:
    """Return the forest modes of the boosting libraries, set up like a random forest."""
    import lightgbm
    import xgboost

    share = 1.0 if task == "regression" else 28**-0.5
    common = {"n_estimators": n_trees, "random_state": 0, "n_jobs": count_cpus()}
    lightgbm_forest = getattr(lightgbm, f"LGBM{suffix}")(
        **common,
        boosting_type="rf",
        bagging_freq=1,
        bagging_fraction=SHARE_DRAWN,
        feature_fraction_bynode=share,
        max_depth=-1 if depth is None else depth,
        num_leaves=MOST_LEAVES if depth is None else 2**depth,
        min_child_samples=1,
        min_child_weight=0.0,
        verbose=-1,
    )
    xgboost_forest = getattr(xgboost, f"XGBRF{suffix}")(
        **common,
        subsample=SHARE_DRAWN,
        colsample_bynode=share,
        max_depth=0 if depth is None else depth,
        max_leaves=MOST_LEAVES if depth is None else 0,
        grow_policy="lossguide" if depth is None else "depthwise",
        min_child_weight=0.0,
        reg_lambda=0.0,
        tree_method="hist",
    )
    return {"LightGBM": lightgbm_forest, "XGBoost": xgboost_forest}


def load(task: str, n_rows: int) -> tuple[Any, ...]:
    """Return rows to train and test on; regression predicts the last simulated column."""
    if task == "sparse":
        n_rows = min(n_rows, MOST_SPARSE_ROWS)
        X, y = simulate_words(2 * n_rows)
        return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]
    if task == "classes":
        found = load_covertype(n_rows)
        return found.X_train, found.y_train, found.X_test, found.y_test
    data = load_higgs_like(n_rows, TEST_ROWS)
    X, y, X_test, y_test = data.X_train, data.y_train, data.X_test, data.y_test
    if task == "regression":
        y, y_test = X[:, -1], X_test[:, -1]
        X, X_test = (np.ascontiguousarray(part[:, :-1]) for part in (X, X_test))
    return X, y, X_test, y_test


def simulate_words(n_rows: int, seed: int = 0) -> tuple[sparse.csr_matrix, NDArray[np.int64]]:
    """Return counts of words by row, and two classes: the frequencies of words depend on them."""
    rng = np.random.default_rng(seed)
    share = 1.0 / np.arange(1, WORDS + 1)
    y = rng.integers(0, 2, n_rows)
    n_words = 1 + rng.poisson(WORDS_PER_ROW, n_rows)
    words = np.empty(n_words.sum(), dtype=np.int64)
    of_row = np.repeat(y, n_words)
    for label in range(2):
        own = share / share.sum()
        own += 0.3 * own * rng.gamma(0.3, size=WORDS)
        is_own = of_row == label
        words[is_own] = rng.choice(WORDS, is_own.sum(), p=own / own.sum())
    start = np.append(0, n_words.cumsum())
    X = sparse.csr_matrix((np.ones(words.size), words, start), shape=(n_rows, WORDS))
    X.sum_duplicates()
    return X, y


def save_size(model: Any) -> int:
    """Return the bytes of the model as users save it."""
    if type(model).__module__.startswith("sumwise"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            model.save(path)
            return path.stat().st_size
    return len(pickle.dumps(model))


def compare(
    kind: str, task: str, n_rows: int, n_trees: int, depth: int | None, n_repeats: int, names: Any
) -> dict[str, dict[str, float]]:
    """Return medians of each model: seconds to fit and to predict, size and score."""
    X, y, X_test, y_test = load(task, n_rows)
    make_models(kind, task, 2, depth)[OURS].fit(X[:1000], y[:1000]).predict(X_test)  # compiles
    values: dict[str, dict[str, list[float]]] = {}
    for repeat in range(n_repeats):
        models = make_models(kind, task, n_trees, depth)
        for name in models if repeat % 2 == 0 else reversed(models):
            if names is not None and name not in names:
                continue
            model = models[name]
            own = values.setdefault(name, {"fit": [], "predict": [], "size": [], "score": []})
            own["fit"].append(time_call(model.fit, X, y))
            own["predict"].append(time_call(model.predict, X_test))
            own["size"].append(save_size(model))
            own["score"].append(model.score(X_test, y_test))
    return {
        name: {key: statistics.median(items) for key, items in own.items()}
        for name, own in values.items()
    }


def describe(found: dict[str, dict[str, float]]) -> str:
    """Return one line per model, and the ratios of ours to scikit-learn's."""
    formats: dict[str, Callable[[float], str]] = {
        "fit": format_seconds,
        "predict": format_seconds,
        "size": format_bytes,
        "score": lambda value: f"{value:.4f}",
    }
    lines = [
        f"  {name:<13}" + ", ".join(f"{key} {formats[key](own[key])}" for key in formats)
        for name, own in found.items()
    ]
    if OURS in found and THEIRS in found:
        ratios = {key: found[OURS][key] / found[THEIRS][key] for key in GOALS}
        lines.append(
            "  ratios       "
            + ", ".join(f"{key} {format_figures(value)}" for key, value in ratios.items())
        )
    return "\n".join(lines)


def compare_accuracy(
    kind: str, source: str, n_folds: int, n_trees: int, rows: int
) -> list[Difference]:
    """Return the differences of our metrics and scikit-learn's on the same folds."""
    task = SOURCES[source]
    X, y = read_table(source, task, rows)
    scores: dict[str, list[dict[str, float]]] = {OURS: [], THEIRS: []}
    for train, test in split_folds(task, X, y, n_folds):
        models = make_models(kind, task, n_trees, None)
        for name, own in scores.items():
            model = models[name].fit(take(X, train), y[train])
            own.append(score(task, y[test], predict(model, take(X, test), task)))
    differences = pair_metrics(source, kind, THEIRS, scores[OURS], scores[THEIRS])
    return [each for each in differences if np.isfinite([*each.ours, *each.theirs]).all()]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the times, or the table of metrics."""
    parser = make_parser("forests", __doc__)
    kinds = ("forest", "extra")
    parser.add_argument("--accuracy", action="store_true")
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds)
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=TASKS)
    parser.add_argument("--rows", type=int, nargs="+", default=None)
    parser.add_argument("--depths", type=int, nargs="+", default=DEPTHS, help="0 for no limit")
    parser.add_argument("--models", nargs="+", default=None)
    parser.add_argument("--only", nargs="+", choices=SOURCES, default=list(SOURCES), metavar="NAME")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--repeat", type=int, default=3)
    parsed = parser.parse_args(arguments)
    if parsed.accuracy:
        print_heading()
        differences = []
        for source in parsed.only:
            for kind in parsed.kinds:
                print(f"{source}, {kind} ...", file=sys.stderr, flush=True)
                rows = parsed.rows[0] if parsed.rows else 100_000
                try:
                    differences += compare_accuracy(kind, source, parsed.folds, parsed.trees, rows)
                except MissingDataError as error:
                    print(f"{source} SKIPPED: {error}")
        print(format_aligned(tabulate(differences)))
        return
    goals = ", ".join(f"{key} {value}" for key, value in GOALS.items())
    print_heading(f"{parsed.trees} trees; goals, relative to scikit-learn: {goals}")
    runs = product(parsed.kinds, parsed.tasks, parsed.rows or ROWS, parsed.depths)
    for kind, task, n_rows, depth in runs:
        size = (n_rows, parsed.trees, depth or None)
        try:
            found = compare(kind, task, *size, parsed.repeat, parsed.models)
        except MissingDataError as error:
            print(f"{kind}, {task} SKIPPED: {error}")
            continue
        limit = f"depth {depth}" if depth else "no limit on depth"
        print(f"{kind}, {task}, {n_rows:,} rows, {limit}\n{describe(found)}", flush=True)


if __name__ == "__main__":
    main()
