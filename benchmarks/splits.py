"""Ways to find splits: time of a fit and held-out loss, beside the methods of XGBoost.

`python -m benchmarks.splits` prints a table a size; `--help` tells the rest. The data is drawn: 28
features of many values, and two classes of which one gets rare where the features are large.
"""

import argparse
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.measure import time_call
from benchmarks.report import Table, describe_machine, format_aligned, format_seconds

GOAL = 0.8
SIZES = (1_000, 10_000, 50_000, 100_000, 1_000_000)
# Looking at every value takes too long for more.
MOST_EXACT = 50_000
N_FEATURES = 28
N_TEST = 50_000
# Which row of XGBoost a row of ours is compared with.
RIVALS = {
    "sumwise exact": "XGBoost exact",
    "sumwise approx": "XGBoost approx",
    "sumwise histogram": "XGBoost hist",
}


def load(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features, float64, and two classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_FEATURES))
    X[:, ::4] = np.exp(X[:, ::4])  # long tails
    score = X[:, 1] * X[:, 2] + np.sin(3 * X[:, 3]) - 0.5 * X[:, 0] + np.abs(X[:, 5])
    return X, (score + rng.logistic(size=n_rows) > 0).astype(np.int64)


def make_models(n_trees: int, n_jobs: int, n_bins: int) -> dict[str, Callable[[], Any]]:
    """The same number of leaves, learning rate and penalty for all.

    XGBoost's exact method grows trees by levels: there both have six of them.
    """

    def make_ours(splits: str) -> Any:
        from sumwise import GradientBoostingClassifier

        own = {"n_estimators": n_trees, "max_bins": n_bins, "n_jobs": n_jobs}
        if splits == "exact":
            own |= {"growth": "depth", "max_depth": 6, "min_samples_leaf": 1, "min_child_weight": 1}
        return GradientBoostingClassifier(splits=splits, **own)

    def make_xgboost(method: str) -> Any:
        from xgboost import XGBClassifier

        own = {"max_leaves": 31, "max_depth": 0, "grow_policy": "lossguide", "max_bin": n_bins}
        own = own if method != "exact" else {"max_depth": 6}
        own |= {"tree_method": method, "learning_rate": 0.1, "n_jobs": n_jobs}
        return XGBClassifier(n_estimators=n_trees, **own)

    return {
        "sumwise exact": lambda: make_ours("exact"),
        "XGBoost exact": lambda: make_xgboost("exact"),
        "sumwise approx": lambda: make_ours("approx"),
        "sumwise histogram": lambda: make_ours("histogram"),
        "XGBoost approx": lambda: make_xgboost("approx"),
        "XGBoost hist": lambda: make_xgboost("hist"),
    }


def compare(
    n_rows: int, chosen: Sequence[str], n_trees: int, n_jobs: int, n_bins: int, n_repeats: int
) -> Table:
    """Seconds and held-out loss of each model, in turn."""
    X, y = load(n_rows)
    X_test, y_test = load(N_TEST, seed=1)
    makers = {
        key: make
        for key, make in make_models(n_trees, n_jobs, n_bins).items()
        if key in chosen and (n_rows <= MOST_EXACT or "exact" not in key)
    }
    seconds: dict[str, list[float]] = {key: [] for key in makers}
    loss = {}
    for repeat in range(n_repeats + 1):
        for key, make in makers.items():
            model = make() if repeat else make().set_params(n_estimators=2)
            spent = time_call(model.fit, X, y)
            if repeat:  # the first one compiles or loads kernels
                seconds[key].append(spent)
                loss[key] = log_loss(y_test, model.predict_proba(X_test))
    middle = {key: statistics.median(values) for key, values in seconds.items()}
    rows = []
    for key in makers:
        rival = RIVALS.get(key)
        ratio = f"{middle[key] / middle[rival]:.2f}" if rival in middle else ""
        rows.append([key, format_seconds(middle[key]), ratio, f"{loss[key]:.4f}"])
    return Table(f"{n_rows:,} x {N_FEATURES}", ["", "time", "ratio", "log loss"], rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the models on each size and print a table for it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.splits", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=SIZES)
    parser.add_argument("--models", nargs="+", default=list(make_models(1, 1, 255)))
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--bins", type=int, default=255)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    parsed = parser.parse_args(arguments)
    print(", ".join(f"{key} {value}" for key, value in describe_machine().items()))
    print(f"{parsed.trees} trees of 31 leaves (exact: depth 6)")
    print(f"goal: ratios to XGBoost's method of that kind <= {GOAL}")
    for n_rows in parsed.rows:
        options = (parsed.trees, parsed.jobs, parsed.bins, parsed.repeat)
        print(f"\n{format_aligned(compare(n_rows, parsed.models, *options))}", flush=True)


if __name__ == "__main__":
    main()
