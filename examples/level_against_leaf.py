"""Level-wise against leaf-wise growth, with the same number of leaves.

Leaf-wise growth always makes the split with the largest gain. With the same number of leaves it
fits the training rows better, and its trees are deeper. Level-wise growth spreads its leaves
evenly, which acts as regularization: with few rows it is often as good on new rows.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.datasets import make_moons
from sklearn.metrics import log_loss

from examples.options import read_options, save
from sumwise import GradientBoostingClassifier

N_LEAVES = 16


class Curves(NamedTuple):
    """Losses after each round, and the mean depth of the trees."""

    training: np.ndarray
    new: np.ndarray
    depth: float


def measure_depth(model: GradientBoostingClassifier) -> float:
    """Return the mean depth of the trees of a model."""
    trees = model.ensemble_
    return float(np.maximum.reduceat(trees.find_depths(), trees.start[:-1]).mean())


def make_rows(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return two half moons, and eight features that are noise."""
    rng = np.random.default_rng(seed)
    X, y = make_moons(n_rows, noise=0.35, random_state=seed)
    return np.column_stack([X, rng.normal(size=(n_rows, 8))]), y


def main(argv: Sequence[str] | None = None) -> dict[str, Curves]:
    """Print losses and depths of both ways to grow trees, and draw the losses."""
    options = read_options(str(__doc__), argv)
    n_rounds = 30 if options.quick else 100
    X, y = make_rows(1000 if options.quick else 4000, 0)
    X_new, y_new = make_rows(4000, 1)
    limits = {"leaf": {"max_leaves": N_LEAVES}, "depth": {"max_depth": N_LEAVES.bit_length() - 1}}
    found = {}
    for growth, limit in limits.items():
        model = GradientBoostingClassifier(
            growth=growth, n_estimators=n_rounds, min_samples_leaf=5, **limit
        ).fit(X, y)
        losses = [
            np.array([log_loss(labels, p) for p in model.staged_predict_proba(rows)])
            for rows, labels in ((X, y), (X_new, y_new))
        ]
        found[growth] = Curves(*losses, measure_depth(model))
        print(
            f"{growth:6} loss on training rows {losses[0][-1]:.3f}, on new ones "
            f"{losses[1].min():.3f} at best, mean depth {found[growth].depth:.1f}"
        )
    if options.out:
        from matplotlib import pyplot

        figure, ax = pyplot.subplots()
        for growth, curves in found.items():
            (line,) = ax.plot(curves.training, label=f"{growth}-wise, training rows")
            ax.plot(curves.new, "--", color=line.get_color(), label=f"{growth}-wise, new rows")
        ax.set(xlabel="round", ylabel="log loss")
        ax.legend()
        save(figure, options.out, "level_against_leaf.png")
    return found


if __name__ == "__main__":
    main()
