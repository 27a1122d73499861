"""AdaBoost with stumps, and AdaBoost.R2 with trees of depth three, compared with scikit-learn.

`python -m benchmarks.adaboost` prints seconds, ratios and the score on test rows; see `--help`.
Both libraries use their defaults, except for the number of rounds. With `--depth`, the base
learners are the decision trees of the library itself.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.datasets import load_higgs_like
from benchmarks.side_by_side import OURS, THEIRS, Fits, compare_fits, make_parser, print_heading

ROWS = (1_000, 10_000, 100_000)
TEST_ROWS = 20_000
GOAL = 0.2


def make_pair(kind: str, n_rounds: int, depth: int | None) -> dict[str, Callable[[], Any]]:
    """Return makers of our estimator and scikit-learn's; with trees of a depth if one is given."""
    from sklearn import ensemble, tree

    import sumwise

    def make(boosters: Any, trees: Any) -> Any:
        learner = getattr(trees, f"DecisionTree{kind.capitalize()}")
        base = {} if depth is None else {"estimator": learner(max_depth=depth)}
        booster = getattr(boosters, f"AdaBoost{kind.capitalize()}")
        return booster(n_estimators=n_rounds, random_state=0, **base)

    return {OURS: lambda: make(sumwise, sumwise), THEIRS: lambda: make(ensemble, tree)}


def compare(
    kind: str, n_rows: int, n_rounds: int, n_repeats: int, depth: int | None = None
) -> Fits:
    """Return the times and test scores of both.

    Regressors predict one column from all others. It is the logarithm of that column, because
    AdaBoost.R2 does not suit heavy tails.
    """
    data = load_higgs_like(n_rows, TEST_ROWS)
    X, y, X_test, y_test = data.X_train, data.y_train, data.X_test, data.y_test
    if kind == "regressor":
        y, y_test = (np.log1p(np.abs(part[:, 0])) for part in (X, X_test))
        X, X_test = (np.ascontiguousarray(part[:, 1:]) for part in (X, X_test))
    makers = make_pair(kind, n_rounds, depth)
    return compare_fits(makers, X, y, lambda model: model.score(X_test, y_test), n_repeats)


def main(arguments: Sequence[str] | None = None) -> None:
    """Compare both at each size and print a line for it."""
    parser = make_parser("adaboost", __doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--depth", type=int, help="of decision trees as base learners")
    kinds = ("classifier", "regressor")
    parser.add_argument("--kinds", nargs="+", choices=kinds, default=kinds)
    parsed = parser.parse_args(arguments)
    print_heading(f"{parsed.rounds} rounds; goal: ratio <= {GOAL}")
    for kind in parsed.kinds:
        for n_rows in parsed.rows:
            fits = compare(kind, n_rows, parsed.rounds, parsed.repeat, parsed.depth)
            print(f"{kind}, {n_rows:>9,} rows: {fits.describe('score')}", flush=True)


if __name__ == "__main__":
    main()
