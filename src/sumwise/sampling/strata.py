"""Row sampling per class and per group."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.errors import DataError, ParameterError
from sumwise.kernels.runtime import random
from sumwise.kernels.sampling.lowest_hashes import draw_strata
from sumwise.kernels.sampling.peer_lowest import draw_strata_among
from sumwise.parts import check_flag
from sumwise.sampling.peer_draws import add_counts, unite_groups
from sumwise.sampling.rows import DrawnRows, RowSampler, RowSource, no_factors
from sumwise.sampling.subsample import Subsample


class ClassSubsample(RowSampler):
    """Draw a share of the rows of each class, without replacement, for imbalanced classes.

    Parameters
    ----------
    rates : "balanced", dict or list of float, default="balanced"
        Share of the rows of each class, in (0, 1]: a dict by class (1 for missing classes), or a
        list in the order of ``classes_``. "balanced": every class gets as many rows as the smallest
        class has.
    reweigh : bool, default=False
        Whether gradients and hessians are divided by the shares. Sums and probabilities are then
        those of all rows. Otherwise the model describes data with the sampled class shares.

    Examples
    --------
    >>> from sumwise import ClassSubsample, GradientBoostingClassifier
    >>> model = GradientBoostingClassifier(sampler=ClassSubsample({"common": 0.1}))
    """

    leaves_out_alike = True
    has_factors = True
    needs_classes = True
    works_among_peers = True

    def __init__(self, rates: Any = "balanced", reweigh: bool = False) -> None:
        self.rates = rates
        self.reweigh = reweigh

    def check(self) -> None:
        check_flag(self, "reweigh")
        if isinstance(self.rates, str) and self.rates == "balanced":
            return
        if not isinstance(self.rates, (Mapping, list, tuple)):
            raise ParameterError(
                f"ClassSubsample(rates={self.rates!r}): must be 'balanced', a dict from classes to "
                "shares, or a list with a share for each class"
            )
        values = self.rates.values() if isinstance(self.rates, Mapping) else self.rates
        for value in values:
            try:
                Subsample(value).check()
            except ParameterError:
                raise ParameterError(
                    f"ClassSubsample(rates={self.rates!r}): {value!r} is not in (0, 1]"
                ) from None

    def draw(self, source: RowSource) -> DrawnRows:
        class_idx = source.target[source.rows].astype(np.intp)
        assert source.classes is not None
        counts = np.bincount(class_idx, minlength=source.classes.size)
        if source.shards is not None:
            counts = add_counts(source, source.shards, counts)
        n_drawn = self.count_drawn(source.classes, counts)
        key = random.make_key(source.seed, random.ROWS, source.number)
        what = (key, source.rows, class_idx, n_drawn)
        if source.shards is None:
            rows, others = draw_strata(*what, source.team)
        else:
            rows, others = draw_strata_among(*what, source.shards, source.team)
        factor = no_factors()
        if self.reweigh:
            factor = find_factors(counts, n_drawn)[source.target[rows].astype(np.intp)]
        return DrawnRows(rows, factor, others)

    def count_drawn(self, classes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return how many rows of each class are drawn, given their numbers."""
        rates = self.find_rates(classes, counts)
        return np.where(counts, np.maximum(1, np.round(rates * counts)), 0).astype(np.intp)

    def find_rates(self, classes: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Return the share of each class, given its number of rows."""
        if isinstance(self.rates, str):
            return counts[counts > 0].min() / np.maximum(counts, 1)
        labels = classes.tolist()
        if isinstance(self.rates, Mapping):
            unknown = [label for label in self.rates if label not in labels]
            if unknown:
                raise DataError(
                    f"ClassSubsample: rates has {unknown[0]!r}, which is not a class of y; the "
                    f"classes are {labels[:20]}"
                )
            return np.array([self.rates.get(label, 1.0) for label in labels], dtype=np.float64)
        if len(self.rates) != len(labels):
            raise DataError(
                f"ClassSubsample: {len(self.rates)} rates for {len(labels)} classes, {labels[:20]}"
            )
        return np.array(self.rates, dtype=np.float64)


def find_factors(counts: np.ndarray, n_drawn: np.ndarray) -> np.ndarray:
    """Return the factors by which drawn rows of each class stand for all of them."""
    return counts / np.maximum(n_drawn, 1)


class GroupSubsample(Subsample):
    """Draw whole groups of rows without replacement; pass ``groups`` to ``fit``.

    Parameters
    ----------
    rate : float, default=0.8
        Share of the groups, in (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise import GradientBoostingRegressor, GroupSubsample
    >>> X, y = np.arange(60.0).reshape(30, 2), np.arange(30.0)
    >>> model = GradientBoostingRegressor(sampler=GroupSubsample(0.5), n_estimators=5)
    >>> model = model.fit(X, y, groups=np.arange(30) // 3)
    """

    needs_groups = True
    works_among_peers = True

    def draw(self, source: RowSource) -> DrawnRows:
        assert source.groups is not None
        own, shards = source.groups[source.rows], source.shards
        groups = np.unique(own) if shards is None else unite_groups(source, shards, own)
        chosen = self.sample(groups.astype(np.uint32), source.seed, source.number)
        is_drawn = np.isin(own, chosen)
        return DrawnRows(source.rows[is_drawn], left_out=source.rows[~is_drawn])
