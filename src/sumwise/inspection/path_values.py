"""Path-dependent Shapley values of rows."""

import numpy as np

from sumwise.data.matrix import Matrix
from sumwise.inspection.tree_walks import TreeWalks
from sumwise.kernels.explain.outcomes import MAX_TESTS, Outcomes
from sumwise.kernels.explain.values import add_shap_values, tabulate_outcomes
from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.runtime.threads import Team

# Tabulating an outcome takes as long as explaining a row.
_MIN_ROWS = 2 << MAX_TESTS
# Values of outcomes that are kept: 64 MiB.
_MOST_VALUES = 1 << 23
# Codes of a test's outcome.
GOES_LEFT, _GOES_RIGHT = np.uint8(1), np.uint8(2)


def write_path_values(walks: TreeWalks, X: Matrix, team: Team, out: np.ndarray) -> None:
    """Write the values of rows to ``out`` (n_rows, n_features, n_outputs)."""
    explainer = _Explainer(walks, X.shape[0], team)
    walks.code_and_run(X, team, lambda codes, rows: explainer.explain(codes, out[rows]))


class _Explainer:
    """Explains coded rows.

    Parameters
    ----------
    walks : TreeWalks
    n_rows : int
        Number of rows. If they are many, trees with few tests are explained by outcome.
    team : Team
    """

    def __init__(self, walks: TreeWalks, n_rows: int, team: Team) -> None:
        self._walks, self._team = walks, team
        self._outcomes, self._test = find_outcomes(walks)
        self._scratch = walks.allocate_scratch(team)
        self._single_sums = np.empty_like(self._scratch.sums)
        self._found = np.empty((team.n_threads, BLOCK), dtype=np.uint8)
        if n_rows >= _MIN_ROWS and 0 < self._outcomes.first_value[-1] <= _MOST_VALUES:
            self._tabulate()

    def explain(self, codes: np.ndarray, out: np.ndarray) -> None:
        """Write the values of coded rows."""
        walks, scratch = self._walks, (self._found, self._scratch, self._single_sums)
        known = *walks.for_kernels, walks.rules, self._outcomes
        self._team.run(add_shap_values, codes, *known, *scratch, out)

    def _tabulate(self) -> None:
        """Find the values of all outcomes."""
        values = np.empty(self._outcomes.first_value[-1])
        self._outcomes = self._outcomes._replace(values=values)
        splits, tape, value, *_ = self._walks.for_kernels
        skip, bound = np.zeros_like(splits.skip), np.full_like(splits.bound, GOES_LEFT)
        splits = splits._replace(column=self._test, skip=skip, bound=bound)
        known = self._walks.rules, self._outcomes, self._scratch
        self._team.run(tabulate_outcomes, code_outcomes(), splits, tape, value, *known)


def find_outcomes(walks: TreeWalks) -> tuple[Outcomes, np.ndarray]:
    """Find the distinct tests of trees with few of them.

    Returns
    -------
    outcomes : Outcomes
        Their values are yet to be found.
    test : ndarray of int64, shape (n_splits,)
        The number of each split's test among those of its tree.
    """
    splits = walks.splits
    n_trees = walks.trees.n_trees
    tree = np.repeat(np.arange(n_trees), walks.n_splits)
    key = ((tree * walks.n_columns + splits.column) * 256 + splits.skip) * 256 + splits.bound
    first, number = _find_distinct(key)
    n_tests = np.bincount(tree[first], minlength=n_trees)
    test = number - (np.cumsum(n_tests) - n_tests)[tree]
    is_kept = (n_tests <= MAX_TESTS) & (walks.value.shape[1] == 1)
    n_tests[~is_kept] = 0
    first = first[is_kept[tree[first]]]
    features, _ = _find_distinct(tree * walks.features.size + splits.slot)
    features = features[is_kept[tree[features]]]
    n_features = np.bincount(tree[features], minlength=n_trees)
    outcomes = Outcomes(
        n_tests=n_tests,
        first_test=np.append(0, np.cumsum(n_tests)),
        column=splits.column[first],
        skip=splits.skip[first],
        bound=splits.bound[first],
        first_slot=np.append(0, np.cumsum(n_features)),
        slot=splits.slot[features],
        first_value=np.append(0, np.cumsum(n_features << n_tests)),
        values=np.empty(0),
    )
    return outcomes, test


def code_outcomes() -> np.ndarray:
    """Return codes of all outcomes, (MAX_TESTS, BLOCK): row i has outcome i."""
    is_left = np.arange(BLOCK) >> np.arange(MAX_TESTS)[:, None] & 1
    return np.where(is_left, GOES_LEFT, _GOES_RIGHT)


def _find_distinct(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first of each set of equal keys, in order, and the number of each key's set."""
    order = np.argsort(keys, kind="stable")
    is_new = np.ones(order.size, dtype=np.bool_)
    is_new[1:] = keys[order[1:]] != keys[order[:-1]]
    number = np.empty(order.size, dtype=np.int64)
    number[order] = np.cumsum(is_new) - 1
    return order[is_new], number
