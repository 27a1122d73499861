"""The error of a majority vote by the number of learners: in theory, simulated, with real trees.

A vote of many independent learners that are right more often than not is almost never wrong, as
Hoeffding's bound shows. Bagged trees are not independent: their vote stops improving.
"""

from collections.abc import Sequence

import numpy as np
from sklearn.datasets import make_classification

from examples.options import read_options, save
from sumwise import BaggingClassifier, DecisionTreeClassifier, member_predictions
from sumwise.plotting import EnsembleSizes, ensemble_sizes, plot_ensemble_sizes


def simulate(n_learners: int, n_rows: int, error: float) -> EnsembleSizes:
    """Let independent learners vote."""
    is_wrong = np.random.default_rng(0).random((n_rows, n_learners)) < error
    return ensemble_sizes(is_wrong, np.zeros(n_rows, dtype=bool))


def bag(n_learners: int, n_rows: int) -> EnsembleSizes:
    """Let bagged trees vote on new rows."""
    X, y = make_classification(2 * n_rows, 20, n_informative=8, flip_y=0.05, random_state=0)
    tree = DecisionTreeClassifier(max_features=2)
    model = BaggingClassifier(tree, n_learners, random_state=0).fit(X[:n_rows], y[:n_rows])
    return ensemble_sizes(member_predictions(model, X[n_rows:]).values, y[n_rows:])


def main(argv: Sequence[str] | None = None) -> dict[str, EnsembleSizes]:
    """Print the errors, and draw them."""
    options = read_options(str(__doc__), argv)
    n_learners, n_rows = (15, 500) if options.quick else (101, 5000)
    bagged = bag(n_learners, n_rows)
    curves = {
        "independent learners": simulate(n_learners, n_rows, bagged.mean_error),
        "bagged trees": bagged,
    }
    for name, curve in curves.items():
        print(
            f"{name:22} one: {curve.mean_error:.3f}  {n_learners} of them: {curve.error[-1]:.3f}  "
            f"in theory: {curve.independent_error[-1]:.2g}  bound: {curve.bound[-1]:.2g}"
        )
    if options.out:
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.2), sharey=True, layout="constrained")
        for ax, (name, curve) in zip(axes, curves.items(), strict=True):
            plot_ensemble_sizes(curve, ax).set_title(name)
        save(figure, options.out, "vote_error.png")
    return curves


if __name__ == "__main__":
    main()
