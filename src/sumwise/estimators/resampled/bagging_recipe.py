"""How bagging makes its members: the rows and features drawn for each, and their fit."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sumwise.data.frames.selection import take_features, take_rows
from sumwise.errors import DataError
from sumwise.estimators.combined.out_of_fold import take_if_by_row
from sumwise.estimators.members import name_failure
from sumwise.estimators.resampled.recipe import Recipe
from sumwise.estimators.resampled.stopping import (
    OobStopping,
    fit_until_stopped,
    takes_partial_weights,
)
from sumwise.kernels.runtime import random
from sumwise.kernels.sampling.bootstrap import BOOTSTRAP, fill_counts
from sumwise.kernels.sampling.lowest_hashes import draw_lowest
from sumwise.sampling import Bootstrap, Resampler


class TrainedMember(NamedTuple):
    """A member, and its out-of-bag loss after each epoch if it was stopped by that."""

    member: Any
    losses: list[float]


@dataclass(frozen=True)
class BaggingRecipe(Recipe):
    """How members of bagging are made.

    Attributes
    ----------
    sampling : Resampler
    n_features : int or None
        None if X has no columns, such as a list of texts.
    n_drawn_features : int
    bootstrap_features : bool
    n_classes : int or None
        None for regressors.
    stopping : OobStopping or None
    """

    sampling: Resampler = field(default_factory=Bootstrap)
    n_features: int | None = None
    n_drawn_features: int = 0
    bootstrap_features: bool = False
    n_classes: int | None = None
    stopping: OobStopping | None = None

    @property
    def draws_features(self) -> bool:
        """Whether members see fewer features than there are."""
        return self.n_drawn_features != self.n_features

    def draw_features(self, number: int) -> np.ndarray | None:
        """Return the features of a member, ascending; None for all features."""
        if self.n_features is None or not (self.draws_features or self.bootstrap_features):
            return None
        key = random.make_key(self.seed, random.MEMBER_FEATURES, number)
        features = np.arange(self.n_features)
        if not self.bootstrap_features:
            chosen = np.empty(min(self.n_drawn_features, self.n_features), dtype=np.uint32)
            random.choose_rows(key, features.astype(np.uint32), chosen)
            return features[chosen]
        counts = np.empty(self.n_features, dtype=np.uint32)
        fill_counts(BOOTSTRAP, key, self.n_drawn_features, np.empty(0), counts)
        return np.repeat(features, counts)

    def draw_weights(self, number: int, n_rows: int, weight: np.ndarray | None) -> np.ndarray:
        """Return the weight of every row for a member; 0 if it is out of the bag."""
        return self.sampling.draw_member(self.seed, number, n_rows, weight)

    def find_out_of_bag(self, drawn: np.ndarray, number: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the out-of-bag rows that stop a member, and those that score it."""
        rows = np.flatnonzero(drawn == 0)
        if self.stopping is None:
            return rows[:0], rows
        if self.stopping.share == 1:
            return rows, rows
        n_stopping = min(max(1, round(self.stopping.share * rows.size)), rows.size)
        key = random.make_key(self.seed, random.MEMBER_STOPPING, number)
        watched, scored = draw_lowest(key, rows.astype(np.uint32), n_stopping)
        return watched, scored

    def find_scored_rows(self, number: int, n_rows: int, weight: np.ndarray | None) -> np.ndarray:
        """Return the out-of-bag rows that score a member."""
        return self.find_out_of_bag(self.draw_weights(number, n_rows, weight), number)[1]

    def fit(self, number: int, X: Any, y: np.ndarray, weight: np.ndarray | None) -> TrainedMember:
        member = self.make_member(number)
        X = take_features(X, self.draw_features(number))
        drawn = self.draw_weights(number, len(y), weight)
        if not drawn.any():
            raise DataError(f"the rows drawn for member {number} all have a weight of zero")
        if self.stopping is not None:
            return self._fit_epochs(number, member, X, y, drawn, weight)
        rows, row_weight = _list_rows(drawn, self.takes_weights)
        if row_weight is not None and np.all(row_weight == 1.0):
            row_weight = None
        fit = self.fit_rows if self.n_classes is None else self.fit_or_stay_constant
        return TrainedMember(fit(number, member, X, y, rows, row_weight), [])

    def _fit_epochs(
        self,
        number: int,
        member: Any,
        X: Any,
        y: np.ndarray,
        drawn: np.ndarray,
        weight: np.ndarray | None,
    ) -> TrainedMember:
        assert self.stopping is not None
        watched, _ = self.find_out_of_bag(drawn, number)
        if watched.size == 0:
            raise DataError(
                f"member {number} has no out-of-bag rows that could stop it; draw fewer rows "
                "(max_samples)"
            )
        rows, row_weight = _list_rows(drawn, takes_partial_weights(member))
        watched_weight = None if weight is None else weight[watched]
        if watched_weight is not None and not watched_weight.any():
            watched_weight = None
        params = {k: take_if_by_row(v, rows, len(y)) for k, v in self.fit_params.items()}
        with name_failure(f"member {number}", member):
            fitted, losses = fit_until_stopped(
                member,
                self.stopping,
                (take_rows(X, rows), y[rows], row_weight),
                (take_rows(X, watched), y[watched], watched_weight),
                self.n_classes,
                params,
            )
        return TrainedMember(fitted, losses)


def _list_rows(drawn: np.ndarray, takes_weights: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Return drawn rows and their weights; without weights, rows that are drawn twice twice."""
    if not takes_weights:
        return np.repeat(np.arange(drawn.size), drawn), None
    rows = np.flatnonzero(drawn)
    return rows, drawn[rows].astype(np.float64)
