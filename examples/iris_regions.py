"""Decision regions of base learners, soft voting and stacking.

The data are two features of Iris, sepal length and petal length. The meta-learner is logistic
regression.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from examples.options import read_options, save
from sumwise import GradientBoostingClassifier, StackingClassifier, VotingClassifier
from sumwise.plotting import DecisionRegions, decision_regions, plot_decision_regions

FEATURES = (0, 2)
NAMES = ("sepal length (cm)", "petal length (cm)")


class Panel(NamedTuple):
    """The decision regions of a model, and its accuracy in cross-validation."""

    name: str
    accuracy: float
    data: DecisionRegions


def make_models(n_trees: int) -> dict[str, Any]:
    """Return the base learners, and two ways to combine them."""
    base = {
        "logistic regression": LogisticRegression(max_iter=1000),
        "nearest neighbors": KNeighborsClassifier(7),
        "naive Bayes": GaussianNB(),
        "boosted trees": GradientBoostingClassifier(n_estimators=n_trees, max_leaves=4),
    }
    members = list(base.items())
    return {
        **base,
        "soft voting": VotingClassifier(members, votes="soft"),
        "stacking": StackingClassifier(members, LogisticRegression(max_iter=1000)),
    }


def find_panels(n_steps: int, n_trees: int) -> list[Panel]:
    """Fit and score each model."""
    X, y = load_iris(return_X_y=True)
    X = X[:, FEATURES]
    panels = []
    for name, model in make_models(n_trees).items():
        accuracy = float(cross_val_score(model, X, y, cv=3).mean())
        data = decision_regions(model.fit(X, y), X, y, n_steps=n_steps)
        panels.append(Panel(name, accuracy, data._replace(names=NAMES)))
    return panels


def main(argv: Sequence[str] | None = None) -> list[Panel]:
    """Print the accuracy of each model, and draw the regions."""
    options = read_options(str(__doc__), argv)
    panels = find_panels(*((40, 5) if options.quick else (300, 50)))
    for panel in panels:
        print(f"{panel.name:20} accuracy {panel.accuracy:.3f}")
    if options.out:
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(2, 3, figsize=(12, 7.5), layout="constrained")
        for ax, panel in zip(axes.flat, panels, strict=True):
            plot_decision_regions(panel.data, ax).set_title(f"{panel.name}: {panel.accuracy:.3f}")
        save(figure, options.out, "iris_regions.png")
    return panels


if __name__ == "__main__":
    main()
