"""TargetStatistics: encode each category by the mean target of its rows.

The four methods differ in the rows that the statistic of a training row comes from, and so in
whether its own target leaks into it. At prediction all methods use the stored sums.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from sumwise.data.categories.groups import Group
from sumwise.errors import ParameterError
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.target_statistics import shuffle_rows, sum_by_place, write_ordered
from sumwise.parts import Part, check_count, check_flag, check_number

METHODS = ("ordered", "greedy", "holdout", "leave_one_out")


class TargetStatistics(Part):
    """Replace categorical features by statistics of the target, as CatBoost does.

    The statistic of a category is (sum of the targets of its rows + a P) / (number of its rows + a)
    with the prior P and its weight a. Categories that were not in the training data get P. With
    more than two classes there is one statistic per class; regression uses the target unchanged.
    Each prior gives a statistic of its own: where they differ, the category has few rows.

    Parameters
    ----------
    method : {"ordered", "greedy", "holdout", "leave_one_out"}, default="ordered"
        The rows that the statistic of a training row comes from: the rows before it in a random
        permutation ("ordered"), all rows ("greedy"), rows held out of training ("holdout"), or all
        other rows ("leave_one_out"). Only "ordered" neither leaks the row's own target nor gives up
        training rows: see ``docs/guide/target_statistics.md``.
    prior_weight : float, default=1.0
        The weight a of the prior, above 0.
    prior : "mean", float or sequence of them, default="mean"
        The prior P, or several; "mean" is the mean target, or the share of the class.
    levels : int, default=16
        With several priors, splits compare the statistics with this many equally spaced numbers,
        from just above the lowest prior up to the highest. 0: with as many as ``max_bins`` allows.
    permutations : int, default=4
        Number of permutations for "ordered". Leaf values use the first permutation, splits take
        turns with the others; if there is only one, it serves both. More permutations take more
        time and overfit less.
    holdout : float, default=0.5
        Share of the rows that "holdout" takes the statistics from; they do not train.
    counts : bool, default=True
        Whether the number of rows of the category is added as a feature. Rows of unequal weights
        are not counted: their weights may depend on the target.
    combinations : int, default=20
        Maximum number of combinations of features that are encoded like one feature; 0 for none.
        They are chosen greedily by what they add to the features and the previous combinations.
    max_combined : int, default=3
        Maximum number of features in a combination.
    greedy_rows : float, default=500.0
        With "ordered": a feature with at least this many rows per category on average gets greedy
        statistics. There a row's own target hardly counts, and ordered statistics only add noise.
        Every combination has at least one feature below this limit. 0 turns this off.
    native_limit : int, default=2
        A feature with at most this many categories is not encoded but split as by ``Native()``.

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
        prior: float | str | Sequence[float | str] = "mean",
        levels: int = 16,
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
        self.levels = levels
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
        priors = _list_priors(self.prior)
        if not priors or not all(_is_prior(prior) for prior in priors):
            self._refuse("prior", "must be 'mean', a number, or a list of them")
        if not _is_number(self.holdout) or not 0 < self.holdout < 1:
            self._refuse("holdout", "must be a number between 0 and 1")
        check_number(self, "greedy_rows", 0.0)
        check_flag(self, "counts")
        lowest = {"permutations": 1, "combinations": 0, "max_combined": 1, "native_limit": 0}
        lowest["levels"] = 0
        for name, low in lowest.items():
            check_count(self, name, low)

    def find_greedy(self, n_categories: np.ndarray, n_rows: int) -> np.ndarray:
        """Mark the features with many rows per category, which get greedy statistics."""
        if self.method != "ordered" or self.greedy_rows == 0:
            return np.zeros(n_categories.size, dtype=np.bool_)
        return (n_categories > 0) & (n_categories * self.greedy_rows <= n_rows)

    def _refuse(self, name: str, rule: str) -> None:
        raise ParameterError(f"TargetStatistics({name}={getattr(self, name)!r}): {rule}")


@dataclass(frozen=True, eq=False)
class CategorySums:
    """Sums over the training rows of each category, and the prior.

    Attributes
    ----------
    start : ndarray of int64, shape (n_groups + 1,)
        The start of each group's categories.
    sums : ndarray of float64, shape (n_values, n_categories)
        Weighted sums of the target, or of the indicator of each class.
    counts : ndarray of float64, shape (n_categories,)
        Sums of the weights.
    prior : ndarray of float64, shape (n_statistics,)
        The priors of the first value, then those of the second, and so on, as many for each. There
        is a statistic for each prior.
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
        """Sum some rows by category.

        One thread sums a group, in the order of the rows: sums do not depend on the number of
        threads.

        ``places`` (n_groups, n_rows) has the category of each row, -1 for none; ``sizes`` has the
        number of categories of each group. ``values`` has shape (n_values, n_rows). ``weight`` is
        empty if all weights are one.
        """
        start = np.append(0, np.cumsum(sizes)).astype(np.int64)
        sums, counts = np.zeros((values.shape[0], start[-1])), np.zeros(start[-1])
        team.run(sum_by_place, places, start, rows, values, weight, sums, counts)
        return cls(start, sums, counts, np.asarray(prior, dtype=np.float64), float(prior_weight))

    def count(self, group: int, places: np.ndarray) -> np.ndarray:
        """Return the weight of each row's category, 0 for rows without one."""
        return self._take(self.counts, group, places)

    @property
    def n_values(self) -> int:
        """The number of values that are summed up."""
        return int(self.sums.shape[0])

    @property
    def n_priors(self) -> int:
        """The number of priors, and so of statistics, of each value."""
        return self.prior.size // self.n_values

    def greedy(self, group: int, statistic: int, places: np.ndarray) -> np.ndarray:
        """Return statistics from all summed rows, as at prediction."""
        total = self._sum(group, statistic, places) + self._prior_sum(statistic)
        return total / (self.count(group, places) + self.prior_weight)

    def leave_one_out(
        self,
        group: int,
        statistic: int,
        places: np.ndarray,
        own_value: np.ndarray,
        own_weight: np.ndarray | float,
    ) -> np.ndarray:
        """Return statistics of summed rows, each from all other rows."""
        total = self._sum(group, statistic, places) - own_weight * own_value
        count = self.count(group, places) - own_weight
        return (total + self._prior_sum(statistic)) / (count + self.prior_weight)

    def ordered(
        self,
        places: np.ndarray,
        order: np.ndarray,
        values: np.ndarray,
        weight: np.ndarray,
        out: np.ndarray,
        team: Team,
    ) -> None:
        """Write the statistics of the rows in ``order``, each from the rows before it.

        ``out`` has shape (n_groups, n_statistics, n_rows).
        """
        scratch = np.empty_like(self.sums), np.empty_like(self.counts)
        arguments = (self.start, order, values, weight, self.prior, self.prior_weight)
        team.run(write_ordered, places, *arguments, *scratch, out)

    def find_thresholds(self, levels: int) -> np.ndarray | None:
        """Return what splits may compare statistics with; None for any numbers.

        A statistic of k / levels of the way from the lowest prior to the highest goes right of the
        k-th threshold.
        """
        low, high = float(self.prior.min()), float(self.prior.max())
        if levels == 0 or self.n_priors == 1 or low == high:
            return None
        steps = low + (high - low) * np.arange(1, levels + 1) / levels
        return np.unique(np.nextafter(steps, -np.inf))

    def _prior_sum(self, statistic: int) -> float:
        return self.prior_weight * float(self.prior[statistic])

    def _sum(self, group: int, statistic: int, places: np.ndarray) -> np.ndarray:
        return self._take(self.sums[statistic // self.n_priors], group, places)

    def _take(self, entries: np.ndarray, group: int, places: np.ndarray) -> np.ndarray:
        own = entries[self.start[group] : self.start[group + 1]]
        if own.size == 0:
            return np.zeros(places.size)
        return np.where(places >= 0, own[places], 0.0)


def permute_rows(rows: np.ndarray, seed: int, number: int) -> np.ndarray:
    """Return the rows in the order of a permutation, given by its number and the seed.

    Ordered statistics and ordered boosting share these permutations.
    """
    order = np.empty_like(rows)
    shuffle_rows(random.make_key(seed, random.PERMUTATIONS, number), rows, order)
    return order


def find_prior(
    part: TargetStatistics,
    values: np.ndarray,
    weight: np.ndarray,
    rows: np.ndarray,
) -> np.ndarray:
    """Return the priors of each value, one value after the other: numbers, or means over rows."""
    own_weight = weight[rows] if weight.size else np.ones(rows.size)
    mean = (values[:, rows] * own_weight).sum(axis=1) / own_weight.sum()
    priors = _list_priors(part.prior)
    columns = [mean if isinstance(p, str) else np.full(mean.size, float(p)) for p in priors]
    return np.column_stack(columns).ravel()


def split_holdout(part: TargetStatistics, rows: np.ndarray, seed: int) -> np.ndarray:
    """Return the rows that are held out for statistics, ascending."""
    n_held = min(max(1, round(part.holdout * rows.size)), rows.size - 1)
    return np.sort(permute_rows(rows, seed, 0)[:n_held])


def _list_priors(prior: Any) -> list[Any]:
    """Return the priors that the parameter stands for."""
    return list(prior) if isinstance(prior, (list, tuple, np.ndarray)) else [prior]


def _is_prior(prior: Any) -> bool:
    if isinstance(prior, str):
        return prior == "mean"
    return _is_number(prior) and abs(float(prior)) < 1e300


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def find_places(groups: Sequence[Group], codes: Mapping[int, np.ndarray]) -> np.ndarray:
    """Return the category of every row in each group, int32 of shape (n_groups, n_rows)."""
    return np.stack([group.find_places(codes) for group in groups])
