"""Sparse data: training time and memory with and without bundling, beside LightGBM and XGBoost.

`python -m benchmarks.sparse` prints one table per data set; see `--help`. a9a and w8a are read from
`SUMWISE_DATA`, the others are simulated: `one-hot` has 40 features of 50 categories each as 2,000
columns, `wide` has 10,000 columns with one random value in a thousand.
"""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.datasets import read_table
from benchmarks.fresh import REPOSITORY, WARM_UP_ROWS, weigh_fit
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


def make_models(n_trees: int, n_jobs: int) -> dict[str, Callable[[], Any]]:
    """Return makers of all models, with the same leaves, learning rate and penalty."""
    settings = Settings(n_trees=n_trees, n_jobs=n_jobs)
    return {model.name: partial(build, model, settings) for model in MODELS}


def weigh(folder: str, model: str, n_trees: int, n_jobs: int) -> int:
    """Return the peak memory of a fit in bytes, measured in its own process."""
    arguments = ["--weigh", folder, model, "--trees", str(n_trees), "--jobs", str(n_jobs)]
    command = [sys.executable, "-m", "benchmarks.sparse", *arguments]
    run = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True)
    return int(run.stdout)


def weigh_here(folder: str, make: Callable[[], Any]) -> int:
    """Return the peak memory of a fit in this process; a small fit first loads the code."""
    X, y = sparse.load_npz(f"{folder}/X.npz"), np.load(f"{folder}/y.npy")
    make().fit(X[:WARM_UP_ROWS], y[:WARM_UP_ROWS])
    return weigh_fit(make(), X, y)


def compare(name: str, chosen: Sequence[str], n_trees: int, n_jobs: int, n_repeats: int) -> Table:
    """Return a table of seconds, memory and test AUC of the chosen models."""
    X, y = load(name)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
    makers = {key: make for key, make in make_models(n_trees, n_jobs).items() if key in chosen}

    def judge(model: Any) -> float:
        return float(roc_auc_score(y_test, model.predict_proba(X_test)[:, 1]))

    seconds, auc = compare_fits(makers, X_train, y_train, judge, n_repeats)
    with tempfile.TemporaryDirectory() as folder:
        sparse.save_npz(f"{folder}/X.npz", X_train, compressed=False)
        np.save(f"{folder}/y.npy", y_train)
        memory = {key: weigh(folder, key, n_trees, n_jobs) for key in makers}
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
    parser.add_argument("--weigh", nargs=2, metavar=("FOLDER", "MODEL"), help=argparse.SUPPRESS)
    parsed = parser.parse_args(arguments)
    if parsed.weigh:
        folder, model = parsed.weigh
        print(weigh_here(folder, make_models(parsed.trees, parsed.jobs)[model]))
        return
    print_heading(f"{parsed.trees} trees of 31 leaves; goal: ratios to the best rival <= {GOAL}")
    for name in parsed.sets:
        found = compare(name, parsed.models, parsed.trees, parsed.jobs, parsed.repeat)
        print(f"\n{format_aligned(found)}", flush=True)


if __name__ == "__main__":
    main()
