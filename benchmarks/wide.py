"""Wide data: time of a fit with all columns and with a share of them for each tree.

`python -m benchmarks.wide` prints a table a data set, beside LightGBM and XGBoost; `--help` tells
the rest. `saving` is what sampling takes off the time of the same library with all columns. The
features are normal numbers, of which twenty matter.
"""

import argparse
import statistics
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from benchmarks.measure import time_call
from benchmarks.report import Table, describe_machine, format_aligned, format_seconds

GOAL = 0.8
SHAPES = {
    "square": (5_000, 2_000),
    "wide": (2_000, 10_000),
    "long": (100_000, 500),
    "tiny": (300, 60),
}
SETS = ("square", "wide", "long")
SHARES = (1.0, 0.3, 0.1)
TEST_ROWS = 2_000
N_USED = 20


def load(name: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """X and y to train on, and the same to test: float32 features and a number."""
    rng = np.random.default_rng(seed)
    n_rows, n_features = SHAPES[name]
    X = rng.normal(size=(n_rows + TEST_ROWS, n_features)).astype(np.float32)
    used = X[:, rng.choice(n_features, N_USED, replace=False)]
    y = used.sum(axis=1) + 2 * used[:, 0] * used[:, 1] + rng.normal(size=X.shape[0])
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


def make_models(n_trees: int, n_jobs: int) -> dict[str, Callable[[float], Any]]:
    """The same number of leaves, learning rate and penalty for all; of a share of the columns."""

    def make_ours(share: float) -> Any:
        from sumwise import Columns, GradientBoostingRegressor

        columns = Columns(by_tree=share) if share < 1 else None
        own = {"n_jobs": n_jobs, "columns": columns, "random_state": 0}
        return GradientBoostingRegressor(n_estimators=n_trees, **own)

    def make_lightgbm(share: float) -> Any:
        from lightgbm import LGBMRegressor

        own = {"num_leaves": 31, "reg_lambda": 1.0, "verbose": -1, "n_jobs": n_jobs}
        return LGBMRegressor(n_estimators=n_trees, colsample_bytree=share, **own)

    def make_xgboost(share: float) -> Any:
        from xgboost import XGBRegressor

        own = {"max_leaves": 31, "max_depth": 0, "grow_policy": "lossguide", "max_bin": 255}
        own |= {"tree_method": "hist", "learning_rate": 0.1, "n_jobs": n_jobs}
        return XGBRegressor(n_estimators=n_trees, colsample_bytree=share, **own)

    return {"sumwise": make_ours, "LightGBM": make_lightgbm, "XGBoost": make_xgboost}


def compare(
    name: str,
    chosen: Sequence[str],
    shares: Sequence[float],
    n_trees: int,
    n_jobs: int,
    n_repeats: int,
) -> Table:
    """Seconds, what sampling saves, and R2 of each model, in turn."""
    X, y, X_test, y_test = load(name)
    makers = {key: make for key, make in make_models(n_trees, n_jobs).items() if key in chosen}
    works = [(key, share) for share in shares for key in makers]
    seconds: dict[tuple[str, float], list[float]] = {work: [] for work in works}
    score = {}
    for repeat in range(n_repeats + 1):
        for key, share in works if repeat % 2 else reversed(works):
            model = makers[key](share)
            if repeat == 0:  # compiles or loads kernels
                model.set_params(n_estimators=1)
            spent = time_call(model.fit, X, y)
            if repeat:
                seconds[key, share].append(spent)
                score[key, share] = r2_score(y_test, model.predict(X_test))
    middle = {work: statistics.median(values) for work, values in seconds.items()}
    rows = []
    for key, share in works:
        rivals = [middle[other, share] for other in makers if other != "sumwise"]
        of_best = f"{middle[key, share] / min(rivals):.2f}" if key == "sumwise" and rivals else ""
        saving = f"{1 - middle[key, share] / middle[key, shares[0]]:.0%}"
        cells = [f"{share:g}", format_seconds(middle[key, share]), of_best]
        rows.append([key, *cells, saving, f"{score[key, share]:.4f}"])
    title = f"{name}: {X.shape[0]:,} x {X.shape[1]:,}"
    return Table(title, ["", "share", "time", "ratio", "saving", "R2"], rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the models on each data set and print a table for it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wide", description=__doc__)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--models", nargs="+", default=list(make_models(1, 1)))
    parser.add_argument("--shares", nargs="+", type=float, default=SHARES)
    parser.add_argument("--trees", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    parsed = parser.parse_args(arguments)
    print(", ".join(f"{key} {value}" for key, value in describe_machine().items()))
    print(f"{parsed.trees} trees of 31 leaves; goal: ratios to the best rival <= {GOAL}")
    for name in parsed.sets:
        run = (parsed.models, parsed.shares, parsed.trees, parsed.jobs, parsed.repeat)
        print(f"\n{format_aligned(compare(name, *run))}", flush=True)


if __name__ == "__main__":
    main()
