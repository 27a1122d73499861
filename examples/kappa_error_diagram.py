"""Bagging against boosting in a kappa-error diagram.

Members of bagging are accurate and similar: their points lie low and to the right. Each member of
boosting concentrates on the errors of the previous ones, so its members are diverse but less
accurate.
"""

from collections.abc import Sequence

from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from examples.options import read_options, save
from sumwise import (
    AdaBoostClassifier,
    BaggingClassifier,
    DecisionTreeClassifier,
    member_predictions,
)
from sumwise.diversity import KappaErrorPoints, kappa_error_points
from sumwise.plotting import plot_kappa_error


def main(argv: Sequence[str] | None = None) -> dict[str, KappaErrorPoints]:
    """Print the centers of both clouds, and draw them."""
    options = read_options(str(__doc__), argv)
    n_learners = 8 if options.quick else 30
    X, X_new, y, y_new = train_test_split(*load_digits(return_X_y=True), random_state=0)
    tree = DecisionTreeClassifier(max_depth=8)
    ensembles = {
        "bagging": BaggingClassifier(tree, n_learners, random_state=0),
        "AdaBoost": AdaBoostClassifier(tree, n_estimators=n_learners, random_state=0),
    }
    clouds = {}
    for name, model in ensembles.items():
        model.fit(X, y)
        points = kappa_error_points(member_predictions(model, X_new).values, y_new)
        clouds[name] = points
        print(
            f"{name:10} kappa {points.kappa.mean():.3f}  error of members "
            f"{points.error.mean():.3f}  of the ensemble {1 - model.score(X_new, y_new):.3f}"
        )
    if options.out:
        save(plot_kappa_error(clouds).figure, options.out, "kappa_error_diagram.png")
    return clouds


if __name__ == "__main__":
    main()
