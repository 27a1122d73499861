"""Random forest against bagging of trees, as the number of trees grows.

A tree of a forest considers few features in each node, so a single one is worse than a bagged tree.
But these trees are less similar to each other: many of them are better than as many bagged trees,
and they are grown in less time.
"""

from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from examples.options import read_options, save
from sumwise import BaggingClassifier, RandomForestClassifier


class Curve(NamedTuple):
    """Mean test errors of the first 1, 2, ... trees, and the median seconds to grow all."""

    error: np.ndarray
    seconds: float


def measure(model, n_repeats: int) -> Curve:
    """Fit repeatedly on half of the digits, and predict the other half with the first trees."""
    X, y = load_digits(return_X_y=True)
    errors, seconds = [], []
    for seed in range(n_repeats):
        rows, new_rows, labels, new_labels = train_test_split(
            X, y, train_size=0.5, random_state=seed
        )
        start = perf_counter()
        model.set_params(random_state=seed).fit(rows, labels)
        seconds.append(perf_counter() - start)
        votes = np.cumsum([tree.predict_proba(new_rows) for tree in model.estimators_], axis=0)
        errors.append((votes.argmax(axis=2) != new_labels).mean(axis=1))
    return Curve(np.mean(errors, axis=0), float(np.median(seconds)))


def main(argv: Sequence[str] | None = None) -> dict[str, Curve]:
    """Print errors and times, and draw the errors."""
    options = read_options(str(__doc__), argv)
    n_trees, n_repeats = (30, 4) if options.quick else (200, 20)
    models = {
        "bagging": BaggingClassifier(n_estimators=n_trees),
        "random forest": RandomForestClassifier(n_trees),
    }
    curves = {name: measure(model, n_repeats) for name, model in models.items()}
    for name, curve in curves.items():
        print(
            f"{name:14} error of one tree {curve.error[0]:.3f}, of two {curve.error[1]:.3f}, of "
            f"{n_trees} {curve.error[-1]:.3f}; {curve.seconds:.2f} s"
        )
    if options.out:
        draw(curves, options.out)
    return curves


def draw(curves, folder: Path) -> None:
    """Draw the errors against the number of trees."""
    from matplotlib import pyplot

    figure, ax = pyplot.subplots(figsize=(6.4, 4.0), layout="constrained")
    for (name, curve), color, line in zip(
        curves.items(), ("#0072B2", "#D55E00"), ("--", "-"), strict=True
    ):
        sizes = np.arange(1, curve.error.size + 1)
        ax.plot(sizes, curve.error, line, color=color, label=f"{name}, {curve.seconds:.2f} s")
    ax.set_xscale("log")
    ax.set_xticks([n for n in (1, 2, 5, 10, 20, 50, 100, 200) if n <= sizes[-1]])
    ax.xaxis.set_major_formatter("{x:.0f}")
    ax.minorticks_off()
    ax.set_xlabel("trees")
    ax.set_ylabel("test error")
    ax.set_ylim(bottom=0.0)
    ax.legend()
    save(figure, folder, "forest_against_bagging.png")


if __name__ == "__main__":
    main()
