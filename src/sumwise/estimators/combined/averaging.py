"""Averages of regressors."""

from typing import Any

import numpy as np

from sumwise.combine.average import (
    ErrorAmbiguity,
    decompose_error,
    fit_signed_weights,
    fit_simplex_weights,
    mean_squared_errors,
    scale_back,
    weigh_by_inverse,
)
from sumwise.docstrings import fill_docstring
from sumwise.estimators.combined.base import MEMBER_TEXTS, FitJob, HeldOut, MemberEnsemble
from sumwise.estimators.combined.by_task import RegressorEnsemble
from sumwise.estimators.input.parameters import check_choice, extend_parameters
from sumwise.estimators.input.targets import check_sample_weight, read_target

_LEARNED = ("inverse_error", "least_squares", "covariance")


@fill_docstring(**MEMBER_TEXTS)
class AveragingRegressor(RegressorEnsemble):
    """The average of regressors, with equal, given or learned weights.

    Parameters
    ----------
    {members}
    weights : str or array-like, default="uniform"
        "uniform": equal weights. An array: one nonnegative weight per member, scaled to sum to 1.
        Or learned from out-of-fold predictions: "inverse_error", proportional to
        1 / mean squared error; "least_squares", the nonnegative weights that minimize the squared
        error of the average; "covariance", the optimal weights given the products of the members'
        errors, which may be negative.
    nonnegative : bool, default=False
        Whether the weights of "covariance" must not be negative, which makes them "least_squares".
    {more}

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        Weights with sum 1, in the order of ``estimators_``.
    member_errors_ : ndarray of shape (n_members,)
        Out-of-fold mean squared error of each member, if weights were learned; infinity if it is
        too large for a float.
    {attributes}

    Notes
    -----
    On the out-of-fold predictions, weights by least squares and by covariance are never worse than
    equal ones. On new rows, learned weights are better if the members differ much in quality and
    there are enough rows to measure it. Otherwise equal weights are hard to beat; see
    ``docs/guide/combining.md``.

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

    def _check_parameters(self) -> None:
        check_choice(self, "nonnegative", (True, False))
        if isinstance(self.weights, str):
            check_choice(self, "weights", ("uniform", *_LEARNED))

    def _fit(self, job: FitJob) -> None:
        self.weights_ = self._find_weights(self.weights, job, self._learn_weights)
        self._fit_members(job)

    def _learn_weights(self, held_out: HeldOut) -> np.ndarray:
        errors, exponents = mean_squared_errors(*held_out)
        self.member_errors_ = scale_back(errors, 2 * exponents)
        if self.weights == "inverse_error":
            return weigh_by_inverse(errors, exponents)
        if self.weights == "covariance" and not self.nonnegative:
            return fit_signed_weights(*held_out)
        return fit_simplex_weights(*held_out)

    def decompose(self, X: Any, y: Any, sample_weight: Any = None) -> ErrorAmbiguity:
        """Split the squared error into the members' mean error minus their ambiguity.

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
