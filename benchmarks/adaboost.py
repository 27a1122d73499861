"""AdaBoost of stumps, and AdaBoost.R2 of trees of three levels: ours against scikit-learn's.

`python -m benchmarks.adaboost` prints seconds, ratios and the metric on other rows; `--help` tells
the rest. Both have their defaults but for the number of rounds and, with `--depth`, for decision
trees of their own library as base learners.
"""

import argparse
import statistics
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.datasets import load_higgs_like
from benchmarks.measure import time_call
from benchmarks.report import describe_machine, format_figures, format_seconds

ROWS = (1_000, 10_000, 100_000)
TEST_ROWS = 20_000
GOAL = 0.2


def make_pairs(kind: str, n_rounds: int, depth: int | None) -> dict[str, Any]:
    """Our estimator and scikit-learn's, of a kind; of deeper trees if there is a depth."""
    from sklearn import ensemble, tree

    import sumwise

    suffix, pairs = kind.capitalize(), {}
    for name, (boosters, trees) in {
        "sumwise": (sumwise, sumwise),
        "scikit-learn": (ensemble, tree),
    }.items():
        learner = getattr(trees, f"DecisionTree{suffix}")
        base = {} if depth is None else {"estimator": learner(max_depth=depth)}
        booster = getattr(boosters, f"AdaBoost{suffix}")
        pairs[name] = booster(n_estimators=n_rounds, random_state=0, **base)
    return pairs


def compare(
    kind: str, n_rows: int, n_rounds: int, n_repeats: int, depth: int | None = None
) -> dict[str, Any]:
    """Seconds of each, in turn, and its score on other rows.

    Numbers to predict are a column of the table, from all others; its logarithm, because R2 is not
    made for heavy tails.
    """
    data = load_higgs_like(n_rows, TEST_ROWS)
    X, y, X_test, y_test = data.X_train, data.y_train, data.X_test, data.y_test
    if kind == "regressor":
        y, y_test = (np.log1p(np.abs(part[:, 0])) for part in (X, X_test))
        X, X_test = (np.ascontiguousarray(part[:, 1:]) for part in (X, X_test))
    seconds: dict[str, list[float]] = {"sumwise": [], "scikit-learn": []}
    scores = {}
    for repeat in range(n_repeats + 1):
        pairs = make_pairs(kind, n_rounds, depth)
        for name in pairs if repeat % 2 else reversed(pairs):
            if repeat:
                seconds[name].append(time_call(pairs[name].fit, X, y))
                scores[name] = pairs[name].score(X_test, y_test)
            elif name == "sumwise":  # compiles or loads kernels
                pairs[name].fit(X, y).predict(X_test)
    return {
        "seconds": {name: statistics.median(values) for name, values in seconds.items()},
        "scores": scores,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare both at each size and print a line for it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.adaboost", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--depth", type=int, help="of decision trees as base learners")
    kinds = ("classifier", "regressor")
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds)
    parsed = parser.parse_args(arguments)
    print(", ".join(f"{key} {value}" for key, value in describe_machine().items()))
    print(f"{parsed.rounds} rounds; goal: ratio <= {GOAL}")
    for kind in parsed.kinds:
        for n_rows in parsed.rows:
            found = compare(kind, n_rows, parsed.rounds, parsed.repeat, parsed.depth)
            ours, theirs = found["seconds"]["sumwise"], found["seconds"]["scikit-learn"]
            scores = ", ".join(f"{found['scores'][name]:.4f}" for name in found["seconds"])
            print(
                f"{kind}, {n_rows:>9,} rows: ours {format_seconds(ours)}, scikit-learn "
                f"{format_seconds(theirs)}, ratio {format_figures(ours / theirs)}, score {scores}",
                flush=True,
            )


if __name__ == "__main__":
    main()
