"""Sparse data: training time and memory with and without bundling, beside LightGBM and XGBoost.

`python -m benchmarks.sparse` prints one table per data set; see `--help`. a9a and w8a are read from
`SUMWISE_DATA`, the others are simulated: `one-hot` has 40 features of 50 categories each as 2,000
columns, `wide` has 10,000 columns with one random value in a thousand.
"""

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.datasets import read_table
from benchmarks.fresh import measure_peak_memory, saved_arrays
from benchmarks.report import Table, format_aligned, format_bytes, format_seconds
from benchmarks.rivals import (
    LIGHTGBM,
    LIGHTGBM_QUANTIZED,
    SUMWISE,
    XGBOOST,
    Model,
    Settings,
    build,
)
from benchmarks.side_by_side import compare_fits, make_tree_parser, print_heading

GOAL = 0.8
SETS = ("a9a", "w8a", "one-hot")
SHAPES = {"one-hot": (200_000, 2_000), "wide": (1_000_000, 10_000), "tiny": (2_000, 100)}
UNBUNDLED = Model("sumwise, no bundling", "sumwise", {"bundling": None})
MODELS = (SUMWISE, UNBUNDLED, LIGHTGBM, LIGHTGBM_QUANTIZED, XGBOOST)


def load(name: str, seed: int = 0) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Return features by row (float64) and two classes."""
    if name not in SHAPES:
        X, y = read_table(name, "binary", sys.maxsize)
        return sparse.csr_matrix(X, dtype=np.float64), y
    rng = np.random.default_rng(seed)
    n_rows, n_features = SHAPES[name]
    if name == "wide":
        X = sparse.random(n_rows, n_features, 0.001, "csr", random_state=rng)
        score = X[:, :200] @ rng.normal(size=200)
        return X, (3 * score + rng.logistic(size=n_rows) * 0.3 > 0).astype(np.int64)
    n_values = 50
    n_groups = n_features // n_values
    share = 1 / np.arange(1, n_values + 1)
    values = rng.choice(n_values, size=(n_rows, n_groups), p=share / share.sum())
    worth = 0.5 * rng.normal(size=(n_groups, n_values))
    parts = [worth[g][values[:, g]] for g in range(n_groups)]
    score = 0.4 * sum(parts) + 2 * parts[0] * parts[-1]
    places = (values + n_values * np.arange(n_groups)).ravel()
    start = n_groups * np.arange(n_rows + 1)
    X = sparse.csr_matrix((np.ones(places.size), places, start), shape=(n_rows, n_features))
    return X, (score + rng.logistic(size=n_rows) > 0).astype(np.int64)


def compare(name: str, chosen: Sequence[str], settings: Settings, n_repeats: int) -> Table:
    """Return a table of seconds, memory and test AUC of the chosen models."""
    X, y = load(name)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
    models = {model.name: model for model in MODELS if model.name in chosen}
    makers = {key: partial(build, model, settings) for key, model in models.items()}

    def judge(model: Any) -> float:
        return float(roc_auc_score(y_test, model.predict_proba(X_test)[:, 1]))

    seconds, auc = compare_fits(makers, X_train, y_train, judge, n_repeats)
    with saved_arrays(X_train, y_train) as data:
        memory = {key: measure_peak_memory(models[key], settings, data) for key in models}
    rivals = [key for key in makers if not key.startswith("sumwise")]
    rows = []
    for key in makers:
        ratios = ["", ""]
        if rivals and key not in rivals:
            best = [min(found[r] for r in rivals) for found in (seconds, memory)]
            ratios = [f"{seconds[key] / best[0]:.2f}", f"{memory[key] / best[1]:.2f}"]
        cells = [format_seconds(seconds[key]), ratios[0], format_bytes(memory[key]), ratios[1]]
        rows.append([key, *cells, f"{auc[key]:.4f}"])
    per_row = f"{X.nnz / X.shape[0]:.1f} values per row"
    title = f"{name}: {X_train.shape[0]:,} x {X_train.shape[1]:,}, {per_row}"
    return Table(title, ["", "time", "ratio", "memory", "ratio", "AUC"], rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the models on each data set and print a table for it."""
    parser = make_tree_parser("sparse", __doc__)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--models", nargs="+", default=[model.name for model in MODELS])
    parsed = parser.parse_args(arguments)
    settings = Settings(n_trees=parsed.trees, n_jobs=parsed.jobs)
    print_heading(f"{parsed.trees} trees of 31 leaves; goal: ratios to the best rival <= {GOAL}")
    for name in parsed.sets:
        found = compare(name, parsed.models, settings, parsed.repeat)
        print(f"\n{format_aligned(found)}", flush=True)


if __name__ == "__main__":
    main()
