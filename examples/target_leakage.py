"""Target statistics that leak: a model learns from them what is missing at prediction.

An identifier with a new value in every row breaks greedy statistics: each statistic reveals the
target of its row. A constant column breaks leave-one-out: the mean of all other rows reveals the
target of the row that is left out. Ordered statistics handle both.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from examples.options import read_options, save
from sumwise import GradientBoostingClassifier, TargetStatistics

METHODS = ("greedy", "leave_one_out", "holdout", "ordered")
COLUMNS = ("identifier", "constant")


def main(argv: Sequence[str] | None = None) -> dict[tuple[str, str], float]:
    """Print the accuracy on new rows of every method with every column, and draw it."""
    options = read_options(str(__doc__), argv)
    n_rows = 1_000 if options.quick else 10_000
    accuracy = {}
    for column in COLUMNS:
        X, y = make_rows(column, n_rows, seed=0)
        X_new, y_new = make_rows(column, n_rows, seed=1)
        for method in METHODS:
            # The statistic of the article: one prior, and no rounding to levels, which hides leaks.
            encoding = TargetStatistics(method, prior="mean", greedy_rows=0, native_limit=0)
            model = GradientBoostingClassifier(
                n_estimators=30, categorical_encoding=encoding, random_state=0
            ).fit(X, y)
            accuracy[column, method] = model.score(X_new, y_new)
            print(f"{column:10} {method:13} accuracy on new rows {accuracy[column, method]:.3f}")
    if options.out:
        draw(accuracy, options.out)
    return accuracy


def make_rows(column: str, n_rows: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return a number that depends on the target, and a categorical column that does not."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_rows)
    codes = [f"{seed}-{row}" for row in range(n_rows)] if column == "identifier" else "same"
    return pd.DataFrame({"signal": y + rng.normal(size=n_rows), column: codes}), y


def draw(accuracy: dict[tuple[str, str], float], folder: Path) -> None:
    """Draw the accuracies as bars, with the best possible accuracy."""
    from matplotlib import pyplot

    figure, ax = pyplot.subplots(figsize=(6.4, 3.2), layout="constrained")
    places, width = np.arange(len(METHODS)), 0.38
    for k, (column, color, hatch) in enumerate(
        zip(COLUMNS, ("#0072B2", "#E69F00"), ("", "//"), strict=True)
    ):
        heights = [accuracy[column, method] for method in METHODS]
        style = {"color": color, "hatch": hatch, "edgecolor": "white"}
        ax.bar(places + (k - 0.5) * width, heights, width, label=f"with the {column}", **style)
    ax.axhline(0.691, color="black", linestyle=":", label="best possible")
    ax.set_xticks(places, METHODS)
    ax.set_ylim(0.4, 0.8)
    ax.set_ylabel("accuracy on new rows")
    ax.legend(ncols=3, loc="upper center")
    save(figure, folder, "target_leakage.png")


if __name__ == "__main__":
    main()
