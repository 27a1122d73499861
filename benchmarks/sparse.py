"""Sparse data: time and memory of a fit, bundling on and off, beside LightGBM and XGBoost.

`python -m benchmarks.sparse` prints a table a data set; `--help` tells the rest. a9a and w8a are
read from `SUMWISE_DATA`, the others are drawn: `one-hot` has 40 categories of 50 values each as
2,000 columns, `wide` 10,000 columns at random with one value in a thousand.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from benchmarks.datasets import read_table
from benchmarks.fresh import REPOSITORY, read_memory
from benchmarks.measure import time_call
from benchmarks.report import Table, describe_machine, format_aligned, format_bytes, format_seconds

GOAL = 0.8
SETS = ("a9a", "w8a", "one-hot")
WARM_UP_ROWS = 1_000
SHAPES = {"one-hot": (200_000, 2_000), "wide": (1_000_000, 10_000), "tiny": (2_000, 100)}


def load(name: str, seed: int = 0) -> tuple[sparse.csr_matrix, np.ndarray]:
    """Features by row, float64, and two classes."""
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
    """The same number of leaves, learning rate and penalty for all."""

    def make_ours(**params: Any) -> Any:
        from sumwise import GradientBoostingClassifier

        return GradientBoostingClassifier(n_estimators=n_trees, n_jobs=n_jobs, **params)

    def make_lightgbm(**params: Any) -> Any:
        from lightgbm import LGBMClassifier

        own = {"num_leaves": 31, "reg_lambda": 1.0, "verbose": -1, "n_jobs": n_jobs}
        return LGBMClassifier(n_estimators=n_trees, **own, **params)

    def make_xgboost() -> Any:
        from xgboost import XGBClassifier

        own = {"max_leaves": 31, "max_depth": 0, "grow_policy": "lossguide", "max_bin": 255}
        own |= {"tree_method": "hist", "learning_rate": 0.1, "n_jobs": n_jobs}
        return XGBClassifier(n_estimators=n_trees, **own)

    return {
        "sumwise": make_ours,
        "sumwise, no bundling": lambda: make_ours(bundling=None),
        "LightGBM": make_lightgbm,
        "LightGBM, quantized": lambda: make_lightgbm(use_quantized_grad=True),
        "XGBoost": make_xgboost,
    }


def weigh(folder: str, model: str, n_trees: int, n_jobs: int) -> int:
    """Bytes that a fit takes at its peak above imports and input, in a process of its own."""
    arguments = ["--weigh", folder, model, "--trees", str(n_trees), "--jobs", str(n_jobs)]
    command = [sys.executable, "-m", "benchmarks.sparse", *arguments]
    run = subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True)
    return int(run.stdout)


def weigh_here(folder: str, make: Callable[[], Any]) -> int:
    """The same in this process; a small fit comes first, to load code."""
    X, y = sparse.load_npz(f"{folder}/X.npz"), np.load(f"{folder}/y.npy")
    make().fit(X[:WARM_UP_ROWS], y[:WARM_UP_ROWS])
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # resets VmHWM to VmRSS
    before = read_memory("VmRSS")
    make().fit(X, y)
    return read_memory("VmHWM") - before


def compare(name: str, chosen: Sequence[str], n_trees: int, n_jobs: int, n_repeats: int) -> Table:
    """Seconds, memory and AUC of each model, in turn."""
    X, y = load(name)
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=0)
    makers = {key: make for key, make in make_models(n_trees, n_jobs).items() if key in chosen}
    seconds: dict[str, list[float]] = {key: [] for key in makers}
    auc = {}
    for repeat in range(n_repeats + 1):
        for key, make in makers.items():
            model = make() if repeat else make().set_params(n_estimators=2)
            spent = time_call(model.fit, X_train, y_train)
            if repeat:  # the first one compiles or loads kernels
                seconds[key].append(spent)
                auc[key] = roc_auc_score(y_test, model.predict_proba(X_test)[:, 1])
    middle = {key: statistics.median(values) for key, values in seconds.items()}
    with tempfile.TemporaryDirectory() as folder:
        sparse.save_npz(f"{folder}/X.npz", X_train, compressed=False)
        np.save(f"{folder}/y.npy", y_train)
        memory = {key: weigh(folder, key, n_trees, n_jobs) for key in makers}
    rivals = [key for key in makers if not key.startswith("sumwise")]
    rows = []
    for key in makers:
        ratios = ["", ""]
        if rivals and key not in rivals:
            best = [min(found[r] for r in rivals) for found in (middle, memory)]
            ratios = [f"{middle[key] / best[0]:.2f}", f"{memory[key] / best[1]:.2f}"]
        cells = [format_seconds(middle[key]), ratios[0], format_bytes(memory[key]), ratios[1]]
        rows.append([key, *cells, f"{auc[key]:.4f}"])
    title = f"{name}: {X_train.shape[0]:,} x {X_train.shape[1]:,}, {X.nnz / X.shape[0]:.1f} a row"
    return Table(title, ["", "time", "ratio", "memory", "ratio", "AUC"], rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the models on each data set and print a table for it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sparse", description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--models", nargs="+", default=list(make_models(1, 1)))
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--weigh", nargs=2, metavar=("FOLDER", "MODEL"), help=argparse.SUPPRESS)
    parsed = parser.parse_args(arguments)
    if parsed.weigh:
        folder, model = parsed.weigh
        print(weigh_here(folder, make_models(parsed.trees, parsed.jobs)[model]))
        return
    print(", ".join(f"{key} {value}" for key, value in describe_machine().items()))
    print(f"{parsed.trees} trees of 31 leaves; goal: ratios to the best rival <= {GOAL}")
    for name in parsed.sets:
        found = compare(name, parsed.models, parsed.trees, parsed.jobs, parsed.repeat)
        print(f"\n{format_aligned(found)}", flush=True)


if __name__ == "__main__":
    main()
