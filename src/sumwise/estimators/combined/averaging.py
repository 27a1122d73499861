"""Averages of regressors."""

from typing import Any, Self

import numpy as np

from sumwise.combine.average import (
    ErrorAmbiguity,
    average,
    decompose_error,
    fit_signed_weights,
    fit_simplex_weights,
    mean_squared_errors,
    scale_back,
    weigh_by_inverse,
)
from sumwise.errors import ParameterError
from sumwise.estimators.combined.base import (
    FitJob,
    MemberEnsemble,
    RegressorEnsemble,
    document_members,
)
from sumwise.estimators.fitted_state import fit_as_a_whole
from sumwise.estimators.input.parameters import check_choice, extend_parameters
from sumwise.estimators.input.targets import check_sample_weight, read_target

_LEARNED = ("inverse_error", "least_squares", "covariance")


@document_members()
class AveragingRegressor(RegressorEnsemble):
    """The average of regressors, with equal, given or learned weights.

    Parameters
    ----------
    {members}
    weights : str or array-like, default="uniform"
        "uniform": equal ones. An array: one a member, not negative, scaled to sum to one. Or
        learned on out-of-fold predictions: "inverse_error", proportional to 1 / mean squared
        error; "least_squares", not negative and with the least squared error of the average;
        "covariance", the optimum for the products of the members' errors, which may be negative.
    nonnegative : bool, default=False
        Whether weights of "covariance" must not be negative; that makes them "least_squares".
    {more}

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        Weights with sum one, in the order of ``estimators_``.
    member_errors_ : ndarray of shape (n_members,)
        Out-of-fold mean squared error of each member, if weights were learned; infinity where it
        is too large for a float.
    {attributes}

    Notes
    -----
    Weights by least squares and by covariance are never worse than equal ones on the out-of-fold
    predictions. On new rows learned weights are better if members differ much in quality and there
    are rows enough to tell. Otherwise equal weights are hard to beat; ``docs/guide/combining.md``
    tells more.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from sumwise import AveragingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> members = [("line", LinearRegression()), ("tree", DecisionTreeRegressor(random_state=0))]
    >>> model = AveragingRegressor(members, weights="least_squares").fit(X, y)
    >>> bool(model.weights_[0] > model.weights_[1])
    True
    >>> error, mean_error, ambiguity = model.decompose(X, y)
    >>> bool(abs(error - (mean_error - ambiguity)) < 1e-8)
    True
    """

    @extend_parameters(MemberEnsemble)
    def __init__(
        self,
        estimators: Any,
        *,
        weights: Any = "uniform",
        nonnegative: bool = False,
        **shared: Any,
    ) -> None:
        super().__init__(estimators, **shared)
        self.weights = weights
        self.nonnegative = nonnegative

    @fit_as_a_whole
    def fit(self, X: Any, y: Any, **fit_params: Any) -> Self:
        """Fit the members, and learn their weights if asked to.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
            Passed to the members as it is; rows as lists become an array.
        y : array-like of shape (n_rows,)
            Target.
        **fit_params : dict
            ``sample_weight``, for the members and for learning weights, and ``groups``, for the
            folds. With metadata routing, whatever members and splitter request.

        Returns
        -------
        self
        """
        check_choice(self, "nonnegative", (True, False))
        if isinstance(self.weights, str):
            check_choice(self, "weights", ("uniform", *_LEARNED))
        job = self._start_fit(X, y, fit_params)
        self.weights_ = self._find_weights(job)
        self._fit_members(job)
        return self

    def _find_weights(self, job: FitJob) -> np.ndarray:
        n_members = len(job.members)
        if self.weights is None or (isinstance(self.weights, str) and self.weights == "uniform"):
            return np.full(n_members, 1.0 / n_members)
        if not isinstance(self.weights, str):
            return read_weights(self)
        held_out = self._predict_held_out(job, "predict")
        rows = (held_out.predictions, held_out.y, held_out.weight)
        errors, exponents = mean_squared_errors(*rows)
        self.member_errors_ = scale_back(errors, 2 * exponents)
        if self.weights == "inverse_error":
            return weigh_by_inverse(errors, exponents)
        if self.weights == "covariance" and not self.nonnegative:
            return fit_signed_weights(*rows)
        return fit_simplex_weights(*rows)

    def predict(self, X: Any) -> np.ndarray:
        """Return the average of the members' predictions.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return average(self.predict_members(X), self.weights_)

    def decompose(self, X: Any, y: Any, sample_weight: Any = None) -> ErrorAmbiguity:
        """Split the squared error into the members' mean error less their ambiguity.

        Parameters
        ----------
        X, y : array-like
            Labeled rows.
        sample_weight : array-like of shape (n_rows,), default=None

        Returns
        -------
        ErrorAmbiguity
            ``error``, ``mean_error`` and ``ambiguity``: E = E_bar - A_bar, exact to rounding.
        """
        y = read_target(y, is_number=True)
        weight = check_sample_weight(sample_weight, len(y))
        return decompose_error(self.predict_members(X), y, self.weights_, weight)


def read_weights(owner: Any, name: str = "weights") -> np.ndarray:
    """Return the user's weights of the members that are not dropped, with sum one."""
    given = getattr(owner, name)
    n_members = len(owner._name_members())
    try:
        weights = np.array(owner._keep(np.asarray(given, dtype=np.float64).ravel().tolist()))
    except (TypeError, ValueError):
        raise ParameterError(
            f"{type(owner).__name__}: {name}={given!r}; must be {n_members} numbers, one a member"
        ) from None
    if not np.isfinite(weights).all() or (weights < 0.0).any() or not weights.any():
        raise ParameterError(
            f"{type(owner).__name__}: {name}={given!r}; must be finite, not negative and not all "
            "zero"
        )
    return weights / weights.sum()
