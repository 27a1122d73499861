"""TargetStatistics: categories become numbers, the mean target of their rows.

What a row gets in training decides whether its own target leaks into it; see the four methods. At
prediction all methods use the sums that are stored.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from sumwise.data.categories.groups import Group
from sumwise.errors import ParameterError
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.target_statistics import shuffle_rows, sum_by_place, write_ordered
from sumwise.parts import Part

METHODS = ("ordered", "greedy", "holdout", "leave_one_out")


class TargetStatistics(Part):
    """Replace categorical features by statistics of the target, as CatBoost does.

    The statistic of a category is (sum of the targets of its rows + a P) / (number of its rows + a)
    with the prior P and its weight a. Categories that were not in the training data get P. For more
    than two classes there is a statistic a class; for regression it is of the target as it is.

    Parameters
    ----------
    method : {"ordered", "greedy", "holdout", "leave_one_out"}, default="ordered"
        The rows that the statistic of a training row is taken from: those before it in a random
        permutation; all; a part that does not train; all but itself. Only the first of these
        neither leaks the row's target nor wastes rows: ``docs/guide/target_statistics.md``.
    prior_weight : float, default=1.0
        The weight a of the prior, above 0.
    prior : "mean" or float, default="mean"
        The prior P; "mean" is the mean target, or the share of the class.
    permutations : int, default=4
        Permutations of "ordered". The values of leaves come from the first, splits from the others,
        which take turns; 1 serves for both. More take more time, and fit less to chance.
    holdout : float, default=0.5
        Share of the rows that give the statistics of "holdout", and do not train.
    counts : bool, default=True
        Whether the number of rows of a category is a feature, too.
    combinations : int, default=20
        Most combinations of features that are encoded as if they were one; 0 for none. They are
        chosen greedily, by what they add to the features and those chosen before.
    max_combined : int, default=3
        Most features of a combination.
    greedy_rows : float, default=500.0
        With "ordered": a feature with at least as many rows a category, on average, gets greedy
        statistics. A row's own target hardly counts there, and ordered statistics only add noise.
        Combinations have at least one other feature. 0 for no such feature.
    native_limit : int, default=2
        A feature with at most as many categories is not encoded, but split as by ``Native()``.

    Examples
    --------
    >>> from sumwise import GradientBoostingClassifier, TargetStatistics
    >>> model = GradientBoostingClassifier(categorical_encoding=TargetStatistics(prior_weight=5.0))
    >>> model.get_params()["categorical_encoding__prior_weight"]
    5.0
    """

    def __init__(
        self,
        method: str = "ordered",
        prior_weight: float = 1.0,
        prior: float | str = "mean",
        permutations: int = 4,
        holdout: float = 0.5,
        counts: bool = True,
        combinations: int = 20,
        max_combined: int = 3,
        greedy_rows: float = 500.0,
        native_limit: int = 2,
    ) -> None:
        self.method = method
        self.prior_weight = prior_weight
        self.prior = prior
        self.permutations = permutations
        self.holdout = holdout
        self.counts = counts
        self.combinations = combinations
        self.max_combined = max_combined
        self.greedy_rows = greedy_rows
        self.native_limit = native_limit

    def check(self) -> None:
        """Raise ParameterError if a parameter cannot be used."""
        if self.method not in METHODS:
            self._refuse("method", f"must be one of {', '.join(map(repr, METHODS))}")
        if not _is_number(self.prior_weight) or not 0 < self.prior_weight < 1e300:
            self._refuse("prior_weight", "must be a number above 0")
        if not (isinstance(self.prior, str) and self.prior == "mean") and not (
            _is_number(self.prior) and abs(float(self.prior)) < 1e300
        ):
            self._refuse("prior", "must be 'mean' or a number")
        if not _is_number(self.holdout) or not 0 < self.holdout < 1:
            self._refuse("holdout", "must be a number between 0 and 1")
        if not _is_number(self.greedy_rows) or not 0 <= self.greedy_rows < 1e300:
            self._refuse("greedy_rows", "must be a number of at least 0")
        if not isinstance(self.counts, (bool, np.bool_)):
            self._refuse("counts", "must be True or False")
        lowest = {"permutations": 1, "combinations": 0, "max_combined": 1, "native_limit": 0}
        for name, low in lowest.items():
            value: Any = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, Integral) or value < low:
                self._refuse(name, f"must be an integer of at least {low}")

    def find_greedy(self, n_categories: np.ndarray, n_rows: int) -> np.ndarray:
        """Which features get greedy statistics in spite of the method: those of many rows a
        category.
        """
        if self.method != "ordered" or self.greedy_rows == 0:
            return np.zeros(n_categories.size, dtype=np.bool_)
        return (n_categories > 0) & (n_categories * self.greedy_rows <= n_rows)

    def _refuse(self, name: str, rule: str) -> None:
        raise ParameterError(f"TargetStatistics({name}={getattr(self, name)!r}): {rule}")


@dataclass(frozen=True, eq=False)
class CategorySums:
    """Sums over the training rows of each category, and the prior: what statistics come from.

    Attributes
    ----------
    start : ndarray of int64, shape (n_groups + 1,)
        Where the categories of each group begin.
    sums : ndarray of float64, shape (n_values, n_categories)
        Sums of the target, or of what tells whether a row is of a class.
    counts : ndarray of float64, shape (n_categories,)
        Sums of the weights.
    prior : ndarray of float64, shape (n_values,)
    prior_weight : float
    """

    start: np.ndarray
    sums: np.ndarray
    counts: np.ndarray
    prior: np.ndarray
    prior_weight: float

    @classmethod
    def of_rows(
        cls,
        places: np.ndarray,
        sizes: Sequence[int],
        rows: np.ndarray,
        values: np.ndarray,
        weight: np.ndarray,
        prior: np.ndarray,
        prior_weight: float,
        team: Team,
    ) -> "CategorySums":
        """Sum up some rows; ``places`` (n_groups, n_rows) has the category of each, -1 for none.

        Parameters
        ----------
        places : ndarray of int32, shape (n_groups, n_rows)
        sizes : sequence of int
            Categories of each group.
        rows : ndarray of uint32
            The rows to sum up.
        values : ndarray of float64, shape (n_values, n_rows)
        weight : ndarray
            Empty for weights of one.
        prior : ndarray of float64, shape (n_values,)
        prior_weight : float
        team : Team
        """
        start = np.append(0, np.cumsum(sizes)).astype(np.int64)
        sums, counts = np.zeros((values.shape[0], start[-1])), np.zeros(start[-1])
        team.run(sum_by_place, places, start, rows, values, weight, sums, counts)
        return cls(start, sums, counts, np.asarray(prior, dtype=np.float64), float(prior_weight))

    def count(self, group: int, places: np.ndarray) -> np.ndarray:
        """The weight of each row's category, 0 where it has none."""
        return self._take(self.counts, group, places)

    def greedy(self, group: int, value: int, places: np.ndarray) -> np.ndarray:
        """Statistics from all rows that were summed up, as at prediction."""
        total = self._take(self.sums[value], group, places) + self._prior_sum(value)
        return total / (self.count(group, places) + self.prior_weight)

    def leave_one_out(
        self,
        group: int,
        value: int,
        places: np.ndarray,
        own_value: np.ndarray,
        own_weight: np.ndarray | float,
    ) -> np.ndarray:
        """Statistics of rows that were summed up, from all others."""
        total = self._take(self.sums[value], group, places) - own_weight * own_value
        count = self.count(group, places) - own_weight
        return (total + self._prior_sum(value)) / (count + self.prior_weight)

    def ordered(
        self,
        places: np.ndarray,
        order: np.ndarray,
        values: np.ndarray,
        weight: np.ndarray,
        out: np.ndarray,
        team: Team,
    ) -> None:
        """Write statistics of the rows in ``order`` to ``out``, each from those before it.

        ``out`` has shape (n_groups, n_values, n_rows).
        """
        scratch = np.empty_like(self.sums), np.empty_like(self.counts)
        arguments = (self.start, order, values, weight, self.prior, self.prior_weight)
        team.run(write_ordered, places, *arguments, *scratch, out)

    def _prior_sum(self, value: int) -> float:
        return self.prior_weight * float(self.prior[value])

    def _take(self, entries: np.ndarray, group: int, places: np.ndarray) -> np.ndarray:
        own = entries[self.start[group] : self.start[group + 1]]
        if own.size == 0:
            return np.zeros(places.size)
        return np.where(places >= 0, own[places], 0.0)


def permute_rows(rows: np.ndarray, seed: int, number: int) -> np.ndarray:
    """Return the rows in the order of a permutation, which its number and the seed decide.

    Ordered statistics and ordered boosting both take theirs from here: it is the same one.
    """
    order = np.empty_like(rows)
    shuffle_rows(random.make_key(seed, random.PERMUTATIONS, number), rows, order)
    return order


def find_prior(
    part: TargetStatistics, values: np.ndarray, weight: np.ndarray, rows: np.ndarray
) -> np.ndarray:
    """The prior of each value: as given, or the mean over rows."""
    if isinstance(part.prior, str):
        own_weight = weight[rows] if weight.size else np.ones(rows.size)
        return (values[:, rows] * own_weight).sum(axis=1) / own_weight.sum()
    return np.full(values.shape[0], float(part.prior))


def split_holdout(part: TargetStatistics, rows: np.ndarray, seed: int) -> np.ndarray:
    """Return the rows that give statistics and do not train, in ascending order."""
    n_held = min(max(1, round(part.holdout * rows.size)), rows.size - 1)
    return np.sort(permute_rows(rows, seed, 0)[:n_held])


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def find_places(groups: Sequence[Group], codes: Mapping[int, np.ndarray]) -> np.ndarray:
    """Return the category of every row in each group, int32 of shape (n_groups, n_rows)."""
    return np.stack([group.find_places(codes) for group in groups])
