"""AdaBoost and the exponential loss.

Every round multiplies the mean exponential loss of the training rows by Z < 1. So the loss is the
product of all Z, and it is an upper bound of the training error. The error on new rows may keep
falling when the training error is already zero. If rows with equal features have different classes,
the votes converge to half the log odds of the classes, the minimizer of the exponential loss.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from sklearn.datasets import make_hastie_10_2

from examples.options import read_options, save
from sumwise import AdaBoostClassifier
from sumwise.theory import exponential_loss_minimizer


class Curves(NamedTuple):
    """Measurements after each round."""

    normalizers: np.ndarray
    loss: np.ndarray
    train_error: np.ndarray
    test_error: np.ndarray


class Odds(NamedTuple):
    """Votes for the second class, and half its log odds, by the value of a feature."""

    votes: np.ndarray
    half_log_odds: np.ndarray


def measure_rounds(n_rows: int, n_rounds: int) -> Curves:
    """Boost stumps: the class is whether the squares of ten Gaussian features have a large sum."""
    X, y = make_hastie_10_2(2 * n_rows, random_state=0)
    train, test = slice(0, n_rows), slice(n_rows, None)
    model = AdaBoostClassifier(n_estimators=n_rounds).fit(X[train], y[train])
    errors = model.estimator_errors_
    scores = list(model.staged_decision_function(X[train]))
    return Curves(
        normalizers=2.0 * np.sqrt(errors * (1.0 - errors)),
        loss=np.array([np.exp(-y[train] * score).mean() for score in scores]),
        train_error=1.0 - np.array(list(model.staged_score(X[train], y[train]))),
        test_error=1.0 - np.array(list(model.staged_score(X[test], y[test]))),
    )


def compare_odds(n_rows: int, n_rounds: int) -> Odds:
    """Boost stumps on a feature with five values, each with its own probability of the class."""
    rng = np.random.default_rng(0)
    value = rng.integers(0, 5, n_rows)
    y = rng.random(n_rows) < np.array([0.1, 0.6, 0.3, 0.9, 0.75])[value]
    model = AdaBoostClassifier(n_estimators=n_rounds).fit(value[:, np.newaxis], y)
    shares = np.array([y[value == v].mean() for v in range(5)])
    votes = model.decision_function(np.arange(5)[:, np.newaxis])
    return Odds(votes, exponential_loss_minimizer(shares))


def main(argv: Sequence[str] | None = None) -> tuple[Curves, Odds]:
    """Print the measurements of some rounds, and draw all."""
    options = read_options(str(__doc__), argv)
    n_rows, n_rounds = (500, 60) if options.quick else (2000, 400)
    curves, odds = measure_rounds(n_rows, n_rounds), compare_odds(n_rows, n_rounds)
    product = np.cumprod(curves.normalizers)
    print(f"{'round':>6}{'loss':>9}{'prod Z':>9}{'error':>9}{'new rows':>10}")
    for k in np.unique(np.geomspace(1, len(product), 8).astype(int)) - 1:
        print(
            f"{k + 1:6}{curves.loss[k]:9.4f}{product[k]:9.4f}"
            f"{curves.train_error[k]:9.4f}{curves.test_error[k]:10.4f}"
        )
    print("votes        ", odds.votes.round(3))
    print("half log odds", odds.half_log_odds.round(3))
    if options.out:
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
        rounds = np.arange(1, len(product) + 1)
        axes[0].plot(rounds, product, label="product of Z: exponential loss")
        axes[0].plot(rounds, curves.train_error, label="error, training rows")
        axes[0].plot(rounds, curves.test_error, label="error, new rows")
        axes[0].set(xlabel="rounds", xscale="log", ylim=(0, None))
        axes[0].legend()
        axes[1].plot(odds.half_log_odds, odds.votes, "o")
        axes[1].axline((0, 0), slope=1, color="gray", linewidth=0.8)
        axes[1].set(xlabel="half log odds of equal rows", ylabel="sum of weighted votes")
        save(figure, options.out, "adaboost_exponential_loss.png")
    return curves, odds


if __name__ == "__main__":
    main()
