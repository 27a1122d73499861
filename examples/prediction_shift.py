"""Prediction shift: residuals of training rows differ from those of new rows.

Two features are fair coins, y = 2 x1 + x2, and two stumps are boosted with steps of 1. Fitted on
one sample of n rows, the slope on x2 is too small by c2 / (n - 1) on average, because the second
stump is fitted to residuals that the first one has made smaller. Two independent samples have no
such bias, and ordered boosting imitates them with one sample. (It has a small bias of its own: the
first rows of the order are predicted by models of very few rows.)
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from examples.options import read_options, save
from sumwise import GradientBoostingRegressor, Ordered

C1, C2 = 2.0, 1.0
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
WAYS = ("one sample", "two samples", "ordered")


def main(argv: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Print the mean error of the slope on x2, and draw it; return the slopes of all draws."""
    options = read_options(str(__doc__), argv)
    n_rows, n_draws = 30, 100 if options.quick else 4_000
    rng = np.random.default_rng(0)
    slopes = {way: np.empty(n_draws) for way in WAYS}
    for draw in range(n_draws):
        samples = [rng.integers(0, 2, (n_rows, 2)).astype(float) for _ in range(2)]
        slopes["one sample"][draw] = boost_twice(samples[0], samples[0])
        slopes["two samples"][draw] = boost_twice(samples[0], samples[1])
        slopes["ordered"][draw] = boost_in_order(samples[0], draw)
    print(f"expected of one sample: {-C2 / (n_rows - 1):+.3f}")
    for way in WAYS:
        error = slopes[way] - C2
        noise = error.std() / np.sqrt(n_draws)
        print(f"{way:12} mean error of the slope {error.mean():+.3f} (+- {noise:.3f})")
    if options.out:
        draw_slopes(slopes, n_rows, options.out)
    return slopes


def target(X: np.ndarray) -> np.ndarray:
    """Return the targets, without noise."""
    return X @ [C1, C2]


def make_stumps(n_stumps: int, **params) -> GradientBoostingRegressor:
    """Return stumps with steps of 1 and without regularization."""
    return GradientBoostingRegressor(
        n_estimators=n_stumps,
        learning_rate=1.0,
        max_leaves=2,
        min_samples_leaf=1,
        l2=0.0,
        n_jobs=1,
        **params,
    )


def find_slope(scores: np.ndarray) -> float:
    """Return the slope on x2, averaged over both values of x1."""
    return float(scores[2] - scores[0] + scores[3] - scores[1]) / 2


def boost_twice(first: np.ndarray, second: np.ndarray) -> float:
    """Return the slope of a stump on one sample plus a stump on the residuals of another."""
    stump = make_stumps(1).fit(first, target(first))
    residual = target(second) - stump.predict(second)
    more = make_stumps(1).fit(second, residual)
    return find_slope(stump.predict(CORNERS) + more.predict(CORNERS))


def boost_in_order(X: np.ndarray, seed: int) -> float:
    """Return the slope of two stumps by ordered boosting."""
    booster = Ordered(permutations=1, prefixes="all")
    model = make_stumps(2, booster=booster, random_state=seed).fit(X, target(X))
    return find_slope(model.predict(CORNERS))


def draw_slopes(slopes: dict[str, np.ndarray], n_rows: int, folder: Path) -> None:
    """Draw the mean errors with their noise."""
    from matplotlib import pyplot

    figure, ax = pyplot.subplots(figsize=(6.0, 2.6), layout="constrained")
    means = [slopes[way].mean() - C2 for way in WAYS]
    noise = [2 * slopes[way].std() / np.sqrt(slopes[way].size) for way in WAYS]
    ax.barh(WAYS, means, xerr=noise, color="#0072B2", ecolor="black", capsize=3)
    ax.axvline(-C2 / (n_rows - 1), color="#D55E00", linestyle=":", label="-c2 / (n - 1)")
    ax.axvline(0.0, color="black", linewidth=0.8)
    ax.invert_yaxis()
    ax.set_xlabel("mean error of the slope on x2")
    ax.legend()
    save(figure, folder, "prediction_shift.png")


if __name__ == "__main__":
    main()
