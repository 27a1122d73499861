"""Bayesian model averaging."""

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils import check_random_state

from sumwise.combine.average import average, choose_exponent, scale_back, scale_errors, subtract
from sumwise.combine.bayes import (
    compute_bic,
    estimate_variance,
    score_classes,
    score_gaussian,
    weigh_by_bootstrap,
    weigh_by_evidence,
)
from sumwise.docstrings import fill_docstring
from sumwise.errors import ParameterError
from sumwise.estimators.combined.base import MEMBER_TEXTS, FitJob, MemberEnsemble
from sumwise.estimators.combined.by_task import ClassifierEnsemble, RegressorEnsemble
from sumwise.estimators.input.parameters import check_choice, check_integer, extend_parameters

_WEIGHTS = ("bic", "pseudo_bma", "pseudo_bma+")

_TEXTS = {
    **MEMBER_TEXTS,
    "parameters": """
weights : {"bic", "pseudo_bma", "pseudo_bma+"}, default="pseudo_bma+"
    How to estimate the probability of a member given the data. "bic": exp(-BIC / 2), from the
    likelihood of the training rows and the number of parameters; right for models that maximize
    the likelihood. "pseudo_bma": exp of the sum of out-of-fold log scores, for members of any
    kind. "pseudo_bma+": the same averaged over the Bayesian bootstrap, so that no member gets all
    the weight by chance.
n_parameters : "auto", callable, dict or array-like, default="auto"
    Number of parameters of each member, for "bic": a function of the fitted member, a dict by
    name, or an array. "auto": nonzero coefficients, intercepts, and leaves of trees.
prior : array-like of shape (n_members,) or None, default=None
    Prior probabilities of the members; None for equal ones.
n_draws : int, default=1000
    Draws of the bootstrap.
random_state : int, RandomState or None, default=None
    Seed of the bootstrap.""",
    "own_attributes": """
weights_ : ndarray of shape (n_members,)
    Posterior probability of each member.
log_scores_ : ndarray of shape (n_members,)
    Log likelihood of the training rows for "bic", sum of out-of-fold log scores otherwise.
bic_ : ndarray of shape (n_members,)
    Bayesian information criterion of each member, with "bic".
n_parameters_ : ndarray of shape (n_members,)
    Number of parameters counted, with "bic"; for regressors including the variance.""",
    "notes": """
Posterior weights estimate which member is the true model, assuming that one of them is. As rows
are added, one member gets all the weight. Where no member is the true model, averages and
stacking are better: they choose weights for the prediction.""",
}


class _BayesianAveraging(MemberEnsemble):
    """Shared by classifier and regressor."""

    @extend_parameters(MemberEnsemble)
    def __init__(
        self,
        estimators: Any,
        *,
        weights: str = "pseudo_bma+",
        n_parameters: Any = "auto",
        prior: Any = None,
        n_draws: int = 1000,
        random_state: Any = None,
        **shared: Any,
    ) -> None:
        super().__init__(estimators, **shared)
        self.weights = weights
        self.n_parameters = n_parameters
        self.prior = prior
        self.n_draws = n_draws
        self.random_state = random_state

    @abstractmethod
    def _score(
        self, predictions: np.ndarray, y: np.ndarray, weight: np.ndarray | None
    ) -> np.ndarray:
        """Return the weighted log score of each row, (n_members, n_rows)."""

    def _check_parameters(self) -> None:
        check_choice(self, "weights", _WEIGHTS)
        check_integer(self, "n_draws", 1)

    def _fit(self, job: FitJob) -> None:
        prior = None if self.prior is None else self._read_weights("prior")
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        if self.weights == "bic":
            self._fit_members(job)
            self.weights_ = self._weigh_by_bic(job, prior)
            return
        scores = self._score(*self._predict_held_out(job))
        self.log_scores_ = scores.sum(axis=1)
        self.weights_ = (
            weigh_by_evidence(self.log_scores_, prior)
            if self.weights == "pseudo_bma"
            else weigh_by_bootstrap(scores, int(self.n_draws), seed, prior)
        )
        self._fit_members(job)

    def _weigh_by_bic(self, job: FitJob, prior: np.ndarray | None) -> np.ndarray:
        predictions = self._collect(job.X, self._method)
        self.log_scores_ = self._score(predictions, job.y, job.weight).sum(axis=1)
        # The variance of the errors is a parameter, too.
        self.n_parameters_ = self._count_parameters(job.names) + float(is_regressor(self))
        n_rows = float(len(job.y)) if job.weight is None else float(job.weight.sum())
        self.bic_ = compute_bic(self.log_scores_, self.n_parameters_, n_rows)
        return weigh_by_evidence(-0.5 * self.bic_, prior)

    def _count_parameters(self, names: list[str]) -> np.ndarray:
        given = self.n_parameters
        if isinstance(given, str) and given == "auto":
            counts = [_count_of(n, m) for n, m in zip(names, self.estimators_, strict=True)]
        elif callable(given):
            counts = [given(member) for member in self.estimators_]
        elif isinstance(given, dict) and set(names) <= set(given):
            counts = [given[name] for name in names]
        else:
            counts = None
            if not isinstance(given, (str, dict)) and np.size(given) == len(self._name_members()):
                counts = self._keep(np.ravel(given).tolist())
        try:
            numbers = np.array(counts, dtype=np.float64)
        except (TypeError, ValueError):
            numbers = np.array(np.nan)
        if numbers.shape != (len(names),) or not (numbers >= 0.0).all():
            raise ParameterError(
                f"{type(self).__name__}: n_parameters={given!r}; must be 'auto', a function of a "
                "fitted member, a dict by name or an array, with a number of at least 0 per member"
            )
        return numbers


@fill_docstring(**_TEXTS)
class BayesianAveragingClassifier(ClassifierEnsemble, _BayesianAveraging):
    """Bayesian model averaging of classifiers.

    Parameters
    ----------
    {members}
    {parameters}
    {more}

    Attributes
    ----------
    classes_ : ndarray
        Class labels, sorted.
    {own_attributes}
    {attributes}

    Notes
    -----
    {notes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sumwise import BayesianAveragingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> members = [("line", LogisticRegression(max_iter=1000)), ("bayes", GaussianNB())]
    >>> model = BayesianAveragingClassifier(members, random_state=0).fit(X, y)
    >>> model.predict(X[:3])
    array([0, 0, 0])
    """

    def _check_parameters(self) -> None:
        for name, member in self._check_members():
            if not hasattr(member, "predict_proba"):
                raise ParameterError(
                    f"{type(self).__name__}: {name!r} has no predict_proba, and posterior weights "
                    "come from probabilities; wrap it in CalibratedClassifierCV"
                )
        super()._check_parameters()

    @property
    def _method(self) -> str:
        return "predict_proba"

    def _score(
        self, predictions: np.ndarray, y: np.ndarray, weight: np.ndarray | None
    ) -> np.ndarray:
        return np.stack([score_classes(each, y, weight) for each in predictions])


@fill_docstring(**_TEXTS)
class BayesianAveragingRegressor(RegressorEnsemble, _BayesianAveraging):
    """Bayesian model averaging of regressors.

    Parameters
    ----------
    {members}
    {parameters}
    {more}

    Attributes
    ----------
    {own_attributes}
    variances_ : ndarray of shape (n_members,)
        Mean squared error of each member, taken as the variance of normal errors: on the training
        rows with "bic", out of fold otherwise. Infinity if it is too large for a float.
    {attributes}

    Notes
    -----
    {notes}

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LinearRegression
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from sumwise import BayesianAveragingRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 2))
    >>> y = X @ [1.0, 2.0] + 0.1 * rng.normal(size=200)
    >>> members = [("line", LinearRegression()), ("tree", DecisionTreeRegressor(max_depth=3))]
    >>> model = BayesianAveragingRegressor(members, weights="bic").fit(X, y)
    >>> bool(model.weights_[0] > 0.99)  # the true model
    True
    >>> mean, std = model.predict(X[:3], return_std=True)
    """

    def _score(
        self, predictions: np.ndarray, y: np.ndarray, weight: np.ndarray | None
    ) -> np.ndarray:
        errors, exponents = scale_errors(predictions, y)
        variances = np.array([estimate_variance(each, weight) for each in errors])
        self.variances_ = scale_back(variances, 2 * exponents)
        self._deviations = scale_back(np.sqrt(variances), exponents)
        scored = zip(errors, variances, exponents.tolist(), strict=True)
        return np.stack([score_gaussian(e, v, weight, exponent) for e, v, exponent in scored])

    def predict(self, X: Any, return_std: bool = False) -> Any:
        """Return the members' predictions, averaged by their posterior weights.

        Parameters
        ----------
        X : frame, array-like or sparse matrix of shape (n_rows, n_features)
        return_std : bool, default=False
            Whether to return the standard deviation of the target, too. It covers the errors of
            the members and the differences between them.

        Returns
        -------
        ndarray of shape (n_rows,), or two of them
        """
        predictions = self.predict_members(X)
        mean = average(predictions, self.weights_)
        if not return_std:
            return mean
        return mean, self._find_deviation(*subtract(predictions, mean))

    def _find_deviation(self, spread: np.ndarray, exponent: int) -> np.ndarray:
        """Return the standard deviation of each row; ``spread`` is in units of 2**exponent."""
        if exponent or choose_exponent(self._deviations):
            deviations = np.ldexp(self._deviations, -exponent)
            more = choose_exponent(spread, deviations)
            spread, variances = np.ldexp(spread, -more), np.ldexp(deviations, -more) ** 2
            exponent += more
        else:
            variances = self.variances_
        variance = average(spread**2, self.weights_) + self.weights_ @ variances
        return scale_back(np.sqrt(variance), exponent)


def _count_of(name: str, model: Any) -> float:
    """Count the parameters of a fitted model; refuse a model whose number is not known."""
    if hasattr(model, "steps"):  # a pipeline counts as its last step
        return _count_of(name, model.steps[-1][1])
    if hasattr(model, "coef_"):
        coefficients = np.asarray(model.coef_)
        intercepts = np.asarray(getattr(model, "intercept_", 0.0))
        return float(np.count_nonzero(coefficients) + np.count_nonzero(intercepts))
    if hasattr(model, "get_n_leaves"):
        return float(model.get_n_leaves())
    trees: Any = getattr(model, "ensemble_", None)
    if hasattr(trees, "left"):
        return float(np.sum(trees.left < 0) + trees.n_outputs)
    raise ParameterError(
        f"member {name!r}: the number of parameters of {type(model).__name__} is not known; pass "
        "n_parameters, or use weights='pseudo_bma+', which needs none"
    )
