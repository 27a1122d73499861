"""Several targets: training time and test error of both strategies, compared with XGBoost.

`python -m benchmarks.multi_target` prints one table per number of targets; see `--help`. The data
is simulated: all targets are mixtures of the same functions of the features, with noise.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from benchmarks.report import Table, format_aligned, format_seconds
from benchmarks.rivals import Model, Settings, build
from benchmarks.side_by_side import compare_fits, make_tree_parser, print_heading

N_FEATURES = 20
N_TEST = 20_000
STRATEGIES = ("multi_output_tree", "one_output_per_tree")


def load(n_rows: int, n_targets: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return features, and targets that are mixtures of the same functions."""
    mixture = np.random.default_rng(n_targets).normal(size=(4, n_targets))
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, N_FEATURES))
    parts = [X[:, 0] * X[:, 1], np.sin(3 * X[:, 2]), np.abs(X[:, 3]), X[:, 4] > 0.5]
    return X, np.column_stack(parts) @ mixture + 0.5 * rng.normal(size=(n_rows, n_targets))


def make_models(n_trees: int, n_jobs: int) -> dict[str, Callable[[], Any]]:
    """Return makers of all models, with the same leaves, bins, learning rate and penalty.

    The hessian of a row is one, so XGBoost's minimum of hessians is a minimum of rows.
    """
    settings = Settings("regression", n_trees=n_trees, n_jobs=n_jobs)
    models = [
        Model(f"{name} {strategy}", name.lower(), {"multi_strategy": strategy, **own})
        for strategy in STRATEGIES
        for name, own in {"sumwise": {}, "XGBoost": {"min_child_weight": settings.min_rows}}.items()
    ]
    return {model.name: partial(build, model, settings) for model in models}


def compare(n_rows: int, n_targets: int, n_trees: int, n_jobs: int, n_repeats: int) -> Table:
    """Return a table of seconds and test R² of all models."""
    X, y = load(n_rows, n_targets)
    X_test, y_test = load(N_TEST, n_targets, seed=1)
    makers = make_models(n_trees, n_jobs)
    fits = compare_fits(
        makers, X, y, lambda model: r2_score(y_test, model.predict(X_test)), n_repeats
    )
    rows = []
    for key, spent in fits.seconds.items():
        rival = key.replace("sumwise", "XGBoost")
        ratio = f"{spent / fits.seconds[rival]:.2f}" if rival != key else ""
        rows.append([key, format_seconds(spent), ratio, f"{fits.scores[key]:.4f}"])
    title = f"{n_rows:,} x {N_FEATURES}, {n_targets} targets"
    return Table(title, ["", "time", "ratio", "R²"], rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the models for each number of targets and print a table for it."""
    parser = make_tree_parser("multi_target", __doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--targets", type=int, nargs="+", default=(2, 5, 20))
    parsed = parser.parse_args(arguments)
    rounds = f"{parsed.trees} rounds of trees with 31 leaves"
    print_heading(f"{rounds}; ratios to the same strategy of XGBoost")
    for n_targets in parsed.targets:
        table = compare(parsed.rows, n_targets, parsed.trees, parsed.jobs, parsed.repeat)
        print(f"\n{format_aligned(table)}", flush=True)


if __name__ == "__main__":
    main()
