"""How the members of an ensemble are made from its base learner.

A member is identified by its number: its random draws depend only on that number and the seed, not
on the process that fits it or on the other members.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.metadata_routing import _routing_enabled, get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from sumwise.data.frames.selection import take_rows
from sumwise.errors import DataWarning
from sumwise.estimators.combined.out_of_fold import count_rows, take_if_by_row
from sumwise.estimators.members import fit_member
from sumwise.estimators.warn import warn_user
from sumwise.kernels.runtime import random

_LARGEST_SEED = np.iinfo(np.int32).max


def find_member_seed(seed: int, purpose: int, number: int) -> int:
    """Return a seed for draws that are not made by kernels of sumwise."""
    return int(random.make_key(seed, purpose, number) % np.uint64(_LARGEST_SEED))


def seed_member(member: Any, draws: np.random.RandomState) -> Any:
    """Give a member and its nested estimators seeds of their own; return it."""
    for name in sorted(member.get_params()):
        if name == "random_state" or name.endswith("__random_state"):
            member.set_params(**{name: int(draws.randint(_LARGEST_SEED))})
    return member


def takes_weights(estimator: Any) -> bool:
    """Whether ``fit`` accepts ``sample_weight``."""
    if _routing_enabled():
        request = get_routing_for_object(estimator)
        return bool(request.consumes("fit", ("sample_weight",)))
    return bool(has_fit_parameter(estimator, "sample_weight"))


@dataclass(frozen=True)
class Recipe:
    """How members are made; it is sent to the processes that fit them.

    Attributes
    ----------
    estimator : estimator
        The base learner.
    seed : int
    fit_params : mapping
        Arguments of its ``fit``.
    takes_weights : bool
        Whether ``sample_weight`` is one of them.
    perturb : mapping or None
        Parameters that are drawn for each member.
    """

    estimator: Any
    seed: int
    fit_params: Mapping[str, Any]
    takes_weights: bool
    perturb: Mapping[str, Any] | None = None

    def draw_parameters(self, number: int) -> dict[str, Any]:
        """Return the drawn parameters of a member."""
        draws = np.random.RandomState(find_member_seed(self.seed, random.MEMBER_PARAMETERS, number))
        return {
            name: choices.rvs(random_state=draws)
            if hasattr(choices, "rvs")
            else choices[draws.randint(len(choices))]
            for name, choices in sorted((self.perturb or {}).items())
        }

    def make_member(self, number: int) -> Any:
        """Return a clone with its own parameters and seeds."""
        member = clone(self.estimator).set_params(**self.draw_parameters(number))
        seed = find_member_seed(self.seed, random.MEMBER_SEEDS, number)
        return seed_member(member, np.random.RandomState(seed))

    def draw_features(self, number: int) -> np.ndarray | None:
        """Return the features of a member, ascending; None for all features."""
        return None

    def fit(self, number: int, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Any:
        """Return a fitted member."""
        raise NotImplementedError

    def fit_rows(
        self,
        number: int,
        member: Any,
        X: Any,
        y: np.ndarray,
        rows: np.ndarray | None,
        weight: np.ndarray | None,
    ) -> Any:
        """Fit a member on some rows, or on all; ``weight`` has the weights of these rows."""
        params = dict(self.fit_params)
        if rows is not None:
            n_rows = count_rows(X)
            params = {k: take_if_by_row(v, rows, n_rows) for k, v in params.items()}
            X, y = take_rows(X, rows), y[rows]
        if weight is not None:
            params["sample_weight"] = weight
        return fit_member(f"member {number}", member, X, y, params)

    def fit_or_stay_constant(
        self,
        number: int,
        member: Any,
        X: Any,
        y: np.ndarray,
        rows: np.ndarray,
        weight: np.ndarray | None,
    ) -> Any:
        """Fit a classifier; if it refuses rows of one class, return a constant classifier."""
        try:
            return self.fit_rows(number, member, X, y, rows, weight)
        except ValueError:
            if np.unique(y[rows]).size > 1 or np.unique(y).size == 1:
                raise
        from sklearn.dummy import DummyClassifier

        return DummyClassifier(strategy="prior").fit(np.zeros((rows.size, 1)), y[rows])


@dataclass(frozen=True)
class NoiseRecipe(Recipe):
    """How members with noisy targets are made.

    Attributes
    ----------
    flips : ndarray of shape (n_classes, n_classes) or None
        Probability that a class (row) is replaced by another (column).
    deviation : ndarray or None
        Standard deviation of the noise of each output.
    """

    flips: np.ndarray | None = None
    deviation: np.ndarray | None = None

    def disturb(self, number: int, y: np.ndarray) -> np.ndarray:
        """Return the targets of a member."""
        draws = np.random.RandomState(find_member_seed(self.seed, random.MEMBER_TARGETS, number))
        if self.flips is not None:
            reached = np.cumsum(self.flips[y], axis=1)
            target = draws.uniform(size=(len(y), 1)) * reached[:, -1:]
            return (reached <= target).sum(axis=1)
        assert self.deviation is not None
        return y + draws.standard_normal(y.shape) * self.deviation

    def fit(self, number: int, X: Any, y: np.ndarray, weight: np.ndarray | None) -> Any:
        member = self.make_member(number)
        return self.fit_rows(number, member, X, self.disturb(number, y), None, weight)


def warn_of_constants(name: str, learner: Any, members: list[Any]) -> None:
    """Warn of members that had to be replaced by a constant; ``name`` is that of the ensemble."""
    from sklearn.dummy import DummyClassifier

    n_constant = sum(isinstance(member, DummyClassifier) for member in members)
    if n_constant and not isinstance(learner, DummyClassifier):
        warn_user(
            f"{name}: the rows drawn for {n_constant} of {len(members)} members have one class "
            f"only, which {type(learner).__name__} cannot learn; these members always predict that "
            "class. Draw more rows",
            DataWarning,
        )
