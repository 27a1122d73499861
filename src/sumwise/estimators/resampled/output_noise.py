"""Members that learn from targets with noise of their own (Breiman 2000, "Randomizing Outputs")."""

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sumwise.errors import DataWarning, ParameterError
from sumwise.estimators.combined.base import document_members
from sumwise.estimators.fitted_state import fit_as_a_whole
from sumwise.estimators.forests.targets import find_scale
from sumwise.estimators.input.parameters import check_number, extend_parameters
from sumwise.estimators.resampled.base import (
    REPEATED_TEXTS,
    Recipe,
    RepeatedClassifier,
    RepeatedEnsemble,
    RepeatedRegressor,
    find_member_seed,
    takes_weights,
)
from sumwise.estimators.resampled.noisy_trees import can_share_table, grow_noisy_trees
from sumwise.estimators.resampled.table_trees import draw_seed
from sumwise.kernels.runtime import random


@dataclass(frozen=True)
class NoiseRecipe(Recipe):
    """How members with noisy targets are made.

    Attributes
    ----------
    flips : ndarray of shape (n_classes, n_classes) or None
        The probability of each class (columns) in place of another (rows).
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


class _NoisyEnsemble(RepeatedEnsemble):
    """What both ensembles share."""

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 100,
        *,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        super().__init__(
            estimator, n_estimators, n_jobs=n_jobs, random_state=random_state, verbose=verbose
        )

    @fit_as_a_whole
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit each member on all rows, with noise of its own in the targets.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
            Passed to the members as it is.
        y : array-like of shape (n_rows,)
            Targets; for regressors also of shape (n_rows, n_outputs).
        sample_weight : array-like of shape (n_rows,), default=None
            Passed to the members, which must be able to take weights.
        **fit_params : dict
            With metadata routing, whatever the base learner requests.

        Returns
        -------
        self
        """
        self._forget_members()
        self._check_parameters()
        X, y, weight = self._start_fit(X, y, sample_weight)
        learner = self.estimator_
        can_weigh = takes_weights(learner)
        if weight is not None and not can_weigh:
            raise ParameterError(
                f"{type(self).__name__}: {type(learner).__name__} cannot take sample weights"
            )
        self._seed = draw_seed(self.random_state)
        recipe = NoiseRecipe(
            learner,
            self._seed,
            self._route("fit", fit_params),
            can_weigh,
            None,
            *self._find_noise(y, weight),
        )
        if can_share_table(recipe):
            self._trees = grow_noisy_trees(
                recipe, X, y, weight, int(self.n_estimators), self.n_jobs, bool(self.verbose)
            )
        else:
            self.estimators_ = self._fit_members(recipe, X, y, weight)
        return self

    def _check_parameters(self) -> None:
        raise NotImplementedError

    def _find_noise(
        self, y: np.ndarray, weight: np.ndarray | None
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Return the probabilities of flips, or the deviations of numbers."""
        raise NotImplementedError


@document_members(**REPEATED_TEXTS)
class OutputFlippingClassifier(RepeatedClassifier, _NoisyEnsemble):
    """A vote of classifiers that learned all rows, some with another label for each member.

    Labels are flipped so that the proportions of the classes stay as they are, in the mean: a label
    j becomes i with probability w q_i, where q are the proportions and w is such that a share
    ``flip_rate`` of all labels is flipped.

    Parameters
    ----------
    {learner}
    n_estimators : int, default=100
        Number of members; the noise takes many to average out.
    flip_rate : float, default=0.2
        Share of the labels that are flipped, in [0, 1). What the proportions do not allow is
        lowered to what they do, with a warning.
    {votes}
    {jobs}

    Attributes
    ----------
    classes_ : ndarray
        Class labels, sorted.
    n_classes_ : int
        Their number.
    votes_ : {"hard", "soft"}
        What members vote with.
    flip_rate_ : float
        Share of the labels that were flipped, in the mean.
    {attributes}

    Notes
    -----
    Decision trees of sumwise share one table: X is read and binned once, and members grow side by
    side; ``n_jobs`` is then a number of threads, None for all CPUs. ``estimators_`` are made when
    they are asked for.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sumwise import OutputFlippingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OutputFlippingClassifier(flip_rate=0.3, random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.9
    True
    """

    @extend_parameters(_NoisyEnsemble)
    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 100,
        *,
        flip_rate: float = 0.2,
        votes: str = "auto",
        tie: str = "random",
        **shared: Any,
    ) -> None:
        super().__init__(estimator, n_estimators, **shared)
        self.flip_rate = flip_rate
        self.votes = votes
        self.tie = tie

    def _check_parameters(self) -> None:
        check_number(self, "flip_rate", 0.0, 1.0)
        self._check_estimator()
        self.votes_ = self._resolve_votes()

    def _find_noise(
        self, y: np.ndarray, weight: np.ndarray | None
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        q = np.bincount(y, weights=weight, minlength=self.classes_.size)
        q = q / q.sum()
        mixed = 1.0 - np.sum(q**2)  # the chance that two rows differ
        # Label j is flipped with probability w (1 - q_j), at most 1.
        highest = mixed / (1.0 - q.min()) if mixed > 0.0 else 0.0
        self.flip_rate_ = min(float(self.flip_rate), highest)
        if self.flip_rate > highest * (1.0 + 1e-9):
            warnings.warn(
                f"{type(self).__name__}: flip_rate={self.flip_rate} would change the proportions "
                f"of the classes; at most {highest:.3g} of the labels can be flipped, and are",
                DataWarning,
                stacklevel=5,
            )
        flips = np.tile(q * (self.flip_rate_ / mixed if mixed > 0.0 else 0.0), (q.size, 1))
        np.fill_diagonal(flips, 0.0)
        np.fill_diagonal(flips, np.maximum(0.0, 1.0 - flips.sum(axis=1)))
        return flips, None


@document_members(**REPEATED_TEXTS)
class OutputSmearingRegressor(RepeatedRegressor, _NoisyEnsemble):
    """The mean of regressors that learned all rows, with Gaussian noise of their own in y.

    Parameters
    ----------
    {learner}
    n_estimators : int, default=100
        Number of members; the noise takes many to average out.
    noise : float, default=0.5
        Standard deviation of the noise, as a share of that of y; of each output, if there are
        several.
    {jobs}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    Decision trees of sumwise share one table: X is read and binned once, and members grow side by
    side; ``n_jobs`` is then a number of threads, None for all CPUs. ``estimators_`` are made when
    they are asked for.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sumwise import OutputSmearingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = OutputSmearingRegressor(random_state=0).fit(X[::2], y[::2])
    >>> model.score(X[1::2], y[1::2]) > 0.3
    True
    """

    @extend_parameters(_NoisyEnsemble)
    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 100,
        *,
        noise: float = 0.5,
        **shared: Any,
    ) -> None:
        super().__init__(estimator, n_estimators, **shared)
        self.noise = noise

    def _check_parameters(self) -> None:
        check_number(self, "noise", 0.0)

    def _find_noise(
        self, y: np.ndarray, weight: np.ndarray | None
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        scale = find_scale(y)  # squares of huge or tiny numbers would not be numbers
        scaled = y / scale
        mean = np.average(scaled, axis=0, weights=weight)
        deviation = scale * np.sqrt(np.average((scaled - mean) ** 2, axis=0, weights=weight))
        return None, np.asarray(self.noise * deviation)
