"""Stacking ten of our tree models: our stack against scikit-learn's over the same members.

`python -m benchmarks.stacking` prints seconds, ratios and accuracy; `--help` tells the rest. Both
get the same meta-learner and folds; the difference is reading and binning X once, and doing fits
side by side.
"""

import argparse
import statistics
from collections.abc import Sequence
from typing import Any

from benchmarks.datasets import load_higgs_like
from benchmarks.measure import time_call
from benchmarks.report import describe_machine, format_figures, format_seconds

ROWS = (1_000, 10_000, 100_000)
GOAL = 0.6


def make_members(n_trees: int) -> list[tuple[str, Any]]:
    """Ten gradient boosting models that differ in growth, size and penalty."""
    from sumwise import GradientBoostingClassifier

    shapes = [
        {"growth": growth, **size}
        for growth, sizes in {
            "leaf": [{"max_leaves": n} for n in (7, 15, 31, 63)],
            "depth": [{"max_depth": n} for n in (3, 4, 6)],
            "symmetric": [{"max_depth": n} for n in (3, 4, 6)],
        }.items()
        for size in sizes
    ]
    return [
        (f"member{k}", GradientBoostingClassifier(n_estimators=n_trees, random_state=k, **shape))
        for k, shape in enumerate(shapes)
    ]


def compare_stacks(n_rows: int, n_trees: int, n_repeats: int) -> dict[str, Any]:
    """Seconds of each stack, in turn, and its accuracy on other rows."""
    from sklearn.ensemble import StackingClassifier as Theirs
    from sklearn.linear_model import LogisticRegression

    from sumwise import StackingClassifier as Ours

    data = load_higgs_like(n_rows, 20_000)
    seconds: dict[str, list[float]] = {"sumwise": [], "scikit-learn": []}
    accuracy = {}
    for repeat in range(n_repeats + 1):
        stacks = {
            "sumwise": Ours(make_members(n_trees), LogisticRegression()),
            "scikit-learn": Theirs(make_members(n_trees), LogisticRegression()),
        }
        for name, stack in stacks.items():
            spent = time_call(stack.fit, data.X_train, data.y_train)
            accuracy[name] = stack.score(data.X_test, data.y_test)
            if repeat:  # the first one compiles or loads kernels
                seconds[name].append(spent)
    return {
        "rows": n_rows,
        "seconds": {name: statistics.median(values) for name, values in seconds.items()},
        "accuracy": accuracy,
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the stacks at each size and print a line for it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stacking", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    parsed = parser.parse_args(arguments)
    print(", ".join(f"{key} {value}" for key, value in describe_machine().items()))
    print(f"10 members of {parsed.trees} trees, 5 folds; goal: ratio <= {GOAL}")
    for n_rows in parsed.rows:
        found = compare_stacks(n_rows, parsed.trees, parsed.repeat)
        ours, theirs = found["seconds"]["sumwise"], found["seconds"]["scikit-learn"]
        accuracy = ", ".join(f"{value:.4f}" for value in found["accuracy"].values())
        print(
            f"{n_rows:>9,} rows: ours {format_seconds(ours)}, scikit-learn "
            f"{format_seconds(theirs)}, ratio {format_figures(ours / theirs)}, "
            f"accuracy {accuracy}",
            flush=True,
        )


if __name__ == "__main__":
    main()
