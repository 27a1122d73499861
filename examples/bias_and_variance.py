"""Bagging reduces variance, boosting reduces bias: errors decomposed by resampling.

Deep trees have little bias, and bagging averages their variance. Stumps have little variance but
are too simple; boosting adds them up to a flexible model. The targets of new rows have no noise, so
the whole error is bias or variance.
"""

from collections.abc import Sequence
from pathlib import Path

from sklearn.datasets import make_friedman1

from examples.options import read_options, save
from sumwise import (
    BaggingRegressor,
    DecisionTreeRegressor,
    GradientBoostingRegressor,
    resample_predictions,
)
from sumwise.diversity import BiasVarianceCovariance, bias_variance_covariance


def main(argv: Sequence[str] | None = None) -> dict[str, BiasVarianceCovariance]:
    """Print squared bias and variance of four models, and draw them."""
    options = read_options(str(__doc__), argv)
    n_resamples, n_members, n_rounds = (8, 10, 60) if options.quick else (50, 50, 200)
    X, y = make_friedman1(200, noise=1.0, random_state=0)
    X_new, y_new = make_friedman1(500, noise=0.0, random_state=1)
    deep_tree = DecisionTreeRegressor()
    models = {
        "deep tree": deep_tree,
        "bagged deep trees": BaggingRegressor(deep_tree, n_members),
        "stump": GradientBoostingRegressor(n_estimators=1, max_leaves=2, learning_rate=1.0),
        "boosted stumps": GradientBoostingRegressor(n_estimators=n_rounds, max_leaves=2),
    }
    parts = {}
    for name, model in models.items():
        predictions = resample_predictions(
            model, X, y, X_new, n_resamples=n_resamples, random_state=0
        )
        parts[name] = bias_variance_covariance(predictions, y_new)
        print(
            f"{name:18} squared bias {parts[name].squared_bias:6.2f}  variance "
            f"{parts[name].variance:6.2f}  error {parts[name].error:6.2f}"
        )
    if options.out:
        draw(parts, options.out)
    return parts


def draw(parts, folder: Path) -> None:
    """Draw bias and variance of each model as one bar."""
    from matplotlib import pyplot

    figure, ax = pyplot.subplots(figsize=(6.8, 3.2), layout="constrained")
    biases = [part.squared_bias for part in parts.values()]
    variances = [part.variance for part in parts.values()]
    ax.barh(list(parts), biases, color="#0072B2", label="squared bias")
    ax.barh(
        list(parts),
        variances,
        left=biases,
        color="#E69F00",
        hatch="//",
        edgecolor="white",
        label="variance",
    )
    ax.invert_yaxis()
    ax.set_xlabel("mean squared error")
    ax.legend()
    save(figure, folder, "bias_and_variance.png")


if __name__ == "__main__":
    main()
