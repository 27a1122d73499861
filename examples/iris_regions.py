"""Which class each model gives to every point of a plane: base learners, soft voting, stacking.

Two features of Iris, sepal length and petal length; the meta-learner is logistic regression.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_iris
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from sumwise import GradientBoostingClassifier, StackingClassifier

FEATURES = (0, 2)
LABELS = ("sepal length (cm)", "petal length (cm)")


@dataclass(frozen=True)
class Region:
    """The classes of a grid of points, and the accuracy in cross-validation."""

    name: str
    accuracy: float
    classes: np.ndarray


def make_models(n_trees: int) -> dict[str, Any]:
    """The base learners, and the two ways to combine them."""
    base = {
        "logistic regression": LogisticRegression(max_iter=1000),
        "nearest neighbors": KNeighborsClassifier(7),
        "naive Bayes": GaussianNB(),
        "boosted trees": GradientBoostingClassifier(n_estimators=n_trees, max_leaves=4),
    }
    members = list(base.items())
    return {
        **base,
        "soft voting": VotingClassifier(members, voting="soft"),
        "stacking": StackingClassifier(members, LogisticRegression(max_iter=1000)),
    }


def find_regions(n_points: int, n_trees: int) -> tuple[np.ndarray, np.ndarray, list[Region]]:
    """Return the axes of the grid, and what each model says of its points."""
    X, y = load_iris(return_X_y=True)
    X = X[:, FEATURES]
    low, high = X.min(axis=0) - 0.5, X.max(axis=0) + 0.5
    axes = [np.linspace(a, b, n_points) for a, b in zip(low, high, strict=True)]
    points = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)
    regions = []
    for name, model in make_models(n_trees).items():
        accuracy = float(cross_val_score(model, X, y, cv=3).mean())
        classes = model.fit(X, y).predict(points).reshape(n_points, n_points)
        regions.append(Region(name, accuracy, classes))
    return axes[0], axes[1], regions


def draw(across: np.ndarray, up: np.ndarray, regions: Sequence[Region], path: Path) -> None:
    """Draw a panel for each model."""
    from matplotlib.figure import Figure

    X, y = load_iris(return_X_y=True)
    figure = Figure(figsize=(12, 7.5), layout="constrained")
    for ax, region in zip(figure.subplots(2, 3).flat, regions, strict=True):
        ax.contourf(across, up, region.classes, levels=[-0.5, 0.5, 1.5, 2.5], alpha=0.3)
        ax.scatter(*X[:, FEATURES].T, c=y, s=12)
        ax.set(title=f"{region.name}: {region.accuracy:.3f}", xlabel=LABELS[0], ylabel=LABELS[1])
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def main(argv: Sequence[str] | None = None) -> list[Region]:
    """Print the accuracy of each model, and draw the regions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="folder for the picture; none is drawn without")
    parser.add_argument("--quick", action="store_true", help="fewer points, for a first look")
    options = parser.parse_args(argv)
    across, up, regions = find_regions(*((40, 5) if options.quick else (300, 50)))
    for region in regions:
        print(f"{region.name:20} accuracy {region.accuracy:.3f}")
    if options.out:
        draw(across, up, regions, options.out / "iris_regions.png")
    return regions


if __name__ == "__main__":
    main()
