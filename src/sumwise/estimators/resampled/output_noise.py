"""Members trained on targets with noise of their own (Breiman 2000, "Randomizing Outputs")."""

from typing import Any, Self

import numpy as np

from sumwise.docstrings import fill_docstring
from sumwise.errors import DataWarning, ParameterError
from sumwise.estimators.fitted_state import fit_as_a_whole
from sumwise.estimators.forests.parameters import draw_seed
from sumwise.estimators.forests.targets import find_scale
from sumwise.estimators.input.parameters import check_number, extend_parameters
from sumwise.estimators.resampled.base import (
    RepeatedClassifier,
    RepeatedEnsemble,
    RepeatedRegressor,
)
from sumwise.estimators.resampled.noisy_trees import can_share_table, grow_noisy_trees
from sumwise.estimators.resampled.parameters import OUTPUT_NOISE
from sumwise.estimators.resampled.recipe import NoiseRecipe, takes_weights
from sumwise.estimators.warn import warn_user


class _NoisyEnsemble(RepeatedEnsemble):
    """What both ensembles share."""

    @extend_parameters(RepeatedEnsemble)
    def __init__(self, estimator: Any = None, n_estimators: int = 100, **shared: Any) -> None:
        super().__init__(estimator, n_estimators, **shared)

    @fit_as_a_whole
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: Any) -> Self:
        """Fit each member on all rows, with its own noise in the targets.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
            Passed to the members unchanged.
        y : array-like of shape (n_rows,)
            Targets; for regressors also of shape (n_rows, n_outputs).
        sample_weight : array-like of shape (n_rows,), default=None
            Passed to the members, which must accept weights.
        **fit_params : dict
            With metadata routing, metadata that the base learner requests.

        Returns
        -------
        self
        """
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
        """Return the probabilities of flips, or the standard deviations of numeric noise."""
        raise NotImplementedError


@fill_docstring(**OUTPUT_NOISE)
class OutputFlippingClassifier(RepeatedClassifier, _NoisyEnsemble):
    """A vote of classifiers that are trained on all rows, with some labels flipped for each.

    The expected proportions of the classes do not change: label j becomes i with probability w q_i,
    where q are the proportions. The factor w is chosen so that a share ``flip_rate`` of all labels
    is flipped.

    Parameters
    ----------
    {learner}
    flip_rate : float, default=0.2
        Share of the labels that are flipped, in [0, 1). If the proportions do not allow it, the
        largest possible share is used, with a warning.
    {votes}
    {jobs}

    Attributes
    ----------
    flip_rate_ : float
        Expected share of flipped labels.
    {voter_attributes}

    Notes
    -----
    {table}

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
        self.votes_ = self._resolve_votes()

    def _find_noise(
        self, y: np.ndarray, weight: np.ndarray | None
    ) -> tuple[np.ndarray | None, np.ndarray | None]:
        q = np.bincount(y, weights=weight, minlength=self.classes_.size)
        q = q / q.sum()
        mixed = 1.0 - np.sum(q**2)  # probability that two rows have different labels
        # Label j is flipped with probability w (1 - q_j), which must not exceed 1.
        highest = mixed / (1.0 - q.min()) if mixed > 0.0 else 0.0
        self.flip_rate_ = min(float(self.flip_rate), highest)
        if self.flip_rate > highest * (1.0 + 1e-9):
            warn_user(
                f"{type(self).__name__}: flip_rate={self.flip_rate} would change the proportions "
                f"of the classes; at most {highest:.3g} of the labels can be flipped, and are",
                DataWarning,
            )
        flips = np.tile(q * (self.flip_rate_ / mixed if mixed > 0.0 else 0.0), (q.size, 1))
        np.fill_diagonal(flips, 0.0)
        np.fill_diagonal(flips, np.maximum(0.0, 1.0 - flips.sum(axis=1)))
        return flips, None


@fill_docstring(**OUTPUT_NOISE)
class OutputSmearingRegressor(RepeatedRegressor, _NoisyEnsemble):
    """The mean of regressors that are trained on all rows, with their own Gaussian noise in y.

    Parameters
    ----------
    {learner}
    noise : float, default=0.5
        Standard deviation of the noise, as a share of the standard deviation of y; with several
        outputs, of each output.
    {jobs}

    Attributes
    ----------
    {attributes}

    Notes
    -----
    {table}

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
        scale = find_scale(y)  # squares of huge or tiny numbers would overflow or vanish
        scaled = y / scale
        mean = np.average(scaled, axis=0, weights=weight)
        deviation = scale * np.sqrt(np.average((scaled - mean) ** 2, axis=0, weights=weight))
        return None, np.asarray(self.noise * deviation)
