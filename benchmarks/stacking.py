"""Stacking of ten tree models: our stack compared with scikit-learn's over the same members.

`python -m benchmarks.stacking` prints seconds, ratios and accuracy; see `--help`. Both stacks have
the same meta-learner and folds. Ours reads and bins X once and fits members in parallel.
"""

from collections.abc import Sequence
from typing import Any

from benchmarks.datasets import load_higgs_like
from benchmarks.side_by_side import OURS, THEIRS, Fits, compare_fits, make_parser, print_heading

ROWS = (1_000, 10_000, 100_000)
GOAL = 0.6


def make_members(n_trees: int) -> list[tuple[str, Any]]:
    """Return ten gradient boosting models that differ in growth and size."""
    from sumwise import GradientBoostingClassifier

    shapes = [
        *({"growth": "leaf", "max_leaves": n} for n in (7, 15, 31, 63)),
        *({"growth": "depth", "max_depth": n} for n in (3, 4, 6)),
        *({"growth": "symmetric", "max_depth": n} for n in (3, 4, 6)),
    ]
    return [
        (f"member{k}", GradientBoostingClassifier(n_estimators=n_trees, random_state=k, **shape))
        for k, shape in enumerate(shapes)
    ]


def compare_stacks(n_rows: int, n_trees: int, n_repeats: int) -> Fits:
    """Return the times of both stacks and their accuracy on test rows."""
    from sklearn.ensemble import StackingClassifier as Theirs
    from sklearn.linear_model import LogisticRegression

    from sumwise import StackingClassifier as Ours

    data = load_higgs_like(n_rows, 20_000)
    makers = {
        OURS: lambda: Ours(make_members(n_trees), LogisticRegression()),
        THEIRS: lambda: Theirs(make_members(n_trees), LogisticRegression()),
    }

    def judge(stack: Any) -> float:
        return float(stack.score(data.X_test, data.y_test))

    return compare_fits(makers, data.X_train, data.y_train, judge, n_repeats, warm_up={})


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare the stacks at each size and print a line for it."""
    parser = make_parser("stacking", __doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--trees", type=int, default=100)
    parsed = parser.parse_args(arguments)
    print_heading(f"10 members of {parsed.trees} trees, 5 folds; goal: ratio <= {GOAL}")
    for n_rows in parsed.rows:
        fits = compare_stacks(n_rows, parsed.trees, parsed.repeat)
        print(f"{n_rows:>9,} rows: {fits.describe('accuracy')}", flush=True)


if __name__ == "__main__":
    main()
