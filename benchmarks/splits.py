"""Methods to find splits: training time and test loss, compared with the methods of XGBoost.

`python -m benchmarks.splits` prints one table per number of rows; see `--help`. The data is
simulated: 28 features with many values, and two classes, one of them rare where features are large.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.report import Table, format_aligned, format_seconds
from benchmarks.rivals import Model, Settings, build
from benchmarks.side_by_side import compare_fits, make_tree_parser, print_heading

GOAL = 0.8
SIZES = (1_000, 10_000, 50_000, 100_000, 1_000_000)
# Exact splits take too long for more rows.
MOST_EXACT = 50_000
N_FEATURES = 28
N_TEST = 50_000
# The method of XGBoost that each of our methods is compared with.
RIVALS = {
    "sumwise exact": "XGBoost exact",
    "sumwise approx": "XGBoost approx",
    "sumwise histogram": "XGBoost hist",
}


def load(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return features (float64) and two classes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_FEATURES))
    X[:, ::4] = np.exp(X[:, ::4])  # long tails
    score = X[:, 1] * X[:, 2] + np.sin(3 * X[:, 3]) - 0.5 * X[:, 0] + np.abs(X[:, 5])
    return X, (score + rng.logistic(size=n_rows) > 0).astype(np.int64)


def make_models(n_trees: int, n_jobs: int, n_bins: int) -> dict[str, Callable[[], Any]]:
    """Return makers of all models, with the same leaves, learning rate and penalty.

    XGBoost's exact method grows trees by level only. There, both libraries grow six levels.
    """
    settings = Settings(n_trees=n_trees, n_jobs=n_jobs, max_bins=n_bins)
    exact = replace(settings, growth="depth", min_rows=1, min_hessian=1.0)

    def make(name: str) -> Callable[[], Any]:
        library, method = name.lower().split()
        options: dict[str, Any] = {"tree_method": method, "enable_categorical": False}
        model = Model(name, library, options if library == "xgboost" else {"splits": method})
        return partial(build, model, exact if method == "exact" else settings)

    names = ("exact", "approx", "histogram"), ("exact", "approx", "hist")
    return {
        name: make(name)
        for ours, theirs in zip(*names, strict=True)
        for name in (f"sumwise {ours}", f"XGBoost {theirs}")
    }


def compare(
    n_rows: int, chosen: Sequence[str], n_trees: int, n_jobs: int, n_bins: int, n_repeats: int
) -> Table:
    """Return a table of seconds and test loss of the chosen models."""
    X, y = load(n_rows)
    X_test, y_test = load(N_TEST, seed=1)
    makers = {
        key: make
        for key, make in make_models(n_trees, n_jobs, n_bins).items()
        if key in chosen and (n_rows <= MOST_EXACT or "exact" not in key)
    }
    seconds, losses = compare_fits(
        makers, X, y, lambda model: log_loss(y_test, model.predict_proba(X_test)), n_repeats
    )
    rows = []
    for key in makers:
        rival = RIVALS.get(key)
        ratio = f"{seconds[key] / seconds[rival]:.2f}" if rival in seconds else ""
        rows.append([key, format_seconds(seconds[key]), ratio, f"{losses[key]:.4f}"])
    return Table(f"{n_rows:,} x {N_FEATURES}", ["", "time", "ratio", "log loss"], rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the models at each size and print a table for it."""
    parser = make_tree_parser("splits", __doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=SIZES)
    parser.add_argument("--models", nargs="+", default=list(make_models(1, 1, 255)))
    parser.add_argument("--bins", type=int, default=255)
    parsed = parser.parse_args(arguments)
    goal = f"goal: ratios to the corresponding method of XGBoost <= {GOAL}"
    print_heading(f"{parsed.trees} trees of 31 leaves (exact: depth 6)", goal)
    for n_rows in parsed.rows:
        options = (parsed.trees, parsed.jobs, parsed.bins, parsed.repeat)
        print(f"\n{format_aligned(compare(n_rows, parsed.models, *options))}", flush=True)


if __name__ == "__main__":
    main()
