"""Several targets: time of a fit and held-out error of both strategies, beside those of XGBoost.

`python -m benchmarks.multi_target` prints a table per number of targets; `--help` tells the rest.
The data is drawn: targets are mixtures of the same functions of the features, with noise.
"""

import argparse
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from benchmarks.measure import time_call
from benchmarks.report import Table, describe_machine, format_aligned, format_seconds

N_FEATURES = 20
N_TEST = 20_000
STRATEGIES = ("multi_output_tree", "one_output_per_tree")


def load(n_rows: int, n_targets: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features and targets, which share the functions that they are made of."""
    mixture = np.random.default_rng(n_targets).normal(size=(4, n_targets))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_FEATURES))
    parts = [X[:, 0] * X[:, 1], np.sin(3 * X[:, 2]), np.abs(X[:, 3]), X[:, 4] > 0.5]
    return X, np.column_stack(parts) @ mixture + 0.5 * rng.normal(size=(n_rows, n_targets))


def make_models(n_trees: int, n_jobs: int) -> dict[str, Callable[[], Any]]:
    """The same leaves, bins, learning rate and penalty for all."""

    def make_ours(strategy: str) -> Any:
        from sumwise import GradientBoostingRegressor

        return GradientBoostingRegressor(
            n_estimators=n_trees, n_jobs=n_jobs, multi_strategy=strategy
        )

    def make_xgboost(strategy: str) -> Any:
        from xgboost import XGBRegressor

        return XGBRegressor(
            n_estimators=n_trees,
            n_jobs=n_jobs,
            multi_strategy=strategy,
            tree_method="hist",
            grow_policy="lossguide",
            max_leaves=31,
            max_depth=0,
            max_bin=255,
            learning_rate=0.1,
            min_child_weight=20,
        )

    makers = {"sumwise": make_ours, "XGBoost": make_xgboost}
    return {
        f"{name} {strategy}": lambda make=make, strategy=strategy: make(strategy)
        for strategy in STRATEGIES
        for name, make in makers.items()
    }


def compare(n_rows: int, n_targets: int, n_trees: int, n_jobs: int, n_repeats: int) -> Table:
    """Seconds and held-out R² of each model, in turn."""
    X, y = load(n_rows, n_targets)
    X_test, y_test = load(N_TEST, n_targets, seed=1)
    makers = make_models(n_trees, n_jobs)
    seconds: dict[str, list[float]] = {key: [] for key in makers}
    score = {}
    for repeat in range(n_repeats + 1):
        for key, make in makers.items():
            model = make() if repeat else make().set_params(n_estimators=2)
            spent = time_call(model.fit, X, y)
            if repeat:  # the first one compiles or loads kernels
                seconds[key].append(spent)
                score[key] = r2_score(y_test, model.predict(X_test))
    middle = {key: statistics.median(values) for key, values in seconds.items()}
    rows = []
    for key, spent in middle.items():
        rival = key.replace("sumwise", "XGBoost")
        ratio = f"{spent / middle[rival]:.2f}" if rival != key else ""
        rows.append([key, format_seconds(spent), ratio, f"{score[key]:.4f}"])
    title = f"{n_rows:,} x {N_FEATURES}, {n_targets} targets"
    return Table(title, ["", "time", "ratio", "R²"], rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the models for each number of targets and print a table for it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.multi_target", description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--targets", type=int, nargs="+", default=(2, 5, 20))
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    parsed = parser.parse_args(arguments)
    print(", ".join(f"{key} {value}" for key, value in describe_machine().items()))
    print(f"{parsed.trees} rounds of trees with 31 leaves; ratios to XGBoost's same strategy")
    for n_targets in parsed.targets:
        table = compare(parsed.rows, n_targets, parsed.trees, parsed.jobs, parsed.repeat)
        print(f"\n{format_aligned(table)}", flush=True)


if __name__ == "__main__":
    main()
