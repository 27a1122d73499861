"""Wide data: training time with all columns, and with a share of them sampled for each tree.

`python -m benchmarks.wide` prints one table per data set, compared with LightGBM and XGBoost; see
`--help`. `saving` is the time that sampling saves in the same library. The features are normally
distributed; twenty of them matter.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.metrics import r2_score

from benchmarks.report import Table, format_aligned, format_seconds
from benchmarks.rivals import LIGHTGBM, SUMWISE, XGBOOST, Settings, build
from benchmarks.side_by_side import compare_fits, make_tree_parser, print_heading

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
MODELS = {model.name: model for model in (SUMWISE, LIGHTGBM, XGBOOST)}


def load(name: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return X and y to train on, and X and y to test on: float32 features and numbers."""
    rng = np.random.default_rng(seed)
    n_rows, n_features = SHAPES[name]
    X = rng.normal(size=(n_rows + TEST_ROWS, n_features)).astype(np.float32)
    used = X[:, rng.choice(n_features, N_USED, replace=False)]
    y = used.sum(axis=1) + 2 * used[:, 0] * used[:, 1] + rng.normal(size=X.shape[0])
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


def make_model(name: str, share: float, settings: Settings) -> Any:
    """Return a model that draws a share of the columns for each tree."""
    from sumwise import Columns

    model = build(MODELS[name], settings)
    if name != SUMWISE.name:
        return model.set_params(colsample_bytree=share)
    return model.set_params(columns=Columns(by_tree=share) if share < 1 else None)


def compare(
    name: str,
    chosen: Sequence[str],
    shares: Sequence[float],
    n_trees: int,
    n_jobs: int,
    n_repeats: int,
) -> Table:
    """Return a table of seconds, savings by sampling, and test R² of the chosen models."""
    X, y, X_test, y_test = load(name)
    settings = Settings("regression", n_trees=n_trees, n_jobs=n_jobs)
    makers: dict[tuple[str, float], Callable[[], Any]] = {
        (key, share): lambda key=key, share=share: make_model(key, share, settings)
        for share in shares
        for key in chosen
    }
    seconds, scores = compare_fits(
        makers, X, y, lambda model: r2_score(y_test, model.predict(X_test)), n_repeats
    )
    rows = []
    for key, share in makers:
        spent = seconds[key, share]
        rivals = [seconds[other, share] for other in chosen if other != SUMWISE.name]
        of_best = f"{spent / min(rivals):.2f}" if key == SUMWISE.name and rivals else ""
        saving = f"{1 - spent / seconds[key, shares[0]]:.0%}"
        cells = [f"{share:g}", format_seconds(spent), of_best, saving]
        rows.append([key, *cells, f"{scores[key, share]:.4f}"])
    title = f"{name}: {X.shape[0]:,} x {X.shape[1]:,}"
    return Table(title, ["", "share", "time", "ratio", "saving", "R2"], rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the models on each data set and print a table for it."""
    parser = make_tree_parser("wide", __doc__, n_trees=50)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--shares", nargs="+", type=float, default=SHARES)
    parsed = parser.parse_args(arguments)
    print_heading(f"{parsed.trees} trees of 31 leaves; goal: ratios to the best rival <= {GOAL}")
    for name in parsed.sets:
        run = (parsed.models, parsed.shares, parsed.trees, parsed.jobs, parsed.repeat)
        print(f"\n{format_aligned(compare(name, *run))}", flush=True)


if __name__ == "__main__":
    main()
