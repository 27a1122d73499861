"""Scorers: from ``scoring`` and ``oob_score`` to a scorer, and scores of known predictions."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils.metaestimators import available_if

from sumwise.errors import ParameterError

Scorer = Callable[..., Any]

# Metrics whose names end like this are lower for better predictions, as in scikit-learn.
_LOWER_IS_BETTER = ("_loss", "_error", "_deviance")
# What a metric is given, by the name of its second parameter; predictions where it has another.
_RESPONSES = {
    "y_score": ("decision_function", "predict_proba"),
    "y_prob": "predict_proba",
    "y_proba": "predict_proba",
    "pred_decision": "decision_function",
}


# --- from a parameter to a scorer ---


def resolve_scoring(scoring: Any, owner: object) -> Scorer:
    """Return the scorer, a function of (estimator, X, y), that ``scoring`` stands for.

    Parameters
    ----------
    scoring : str or callable
        The name of a scikit-learn scorer; a scorer; or a metric, a function of (y_true, y_pred).
        The signature distinguishes them: a function with three required positional parameters, or
        with a first parameter called ``estimator``, is a scorer; one with two, or with a first
        parameter called ``y_true``, is a metric. A metric of :mod:`sklearn.metrics` gets what
        scikit-learn's own scorer gives it: predictions, probabilities or decision values. Any other
        metric gets predictions; decision values or probabilities if its second parameter is called
        ``y_score``; probabilities if it is called ``y_proba``. Higher is better unless the name of
        the function ends in ``_loss``, ``_error`` or ``_deviance``.
    owner : estimator
        The owner of the parameter, for error messages.

    Returns
    -------
    callable
        Greater is better. One made from a metric passes ``sample_weight`` on to it.
    """
    if isinstance(scoring, str):
        return _find_by_name(scoring, owner)
    if not callable(scoring):
        _refuse(scoring, owner)
    if hasattr(scoring, "_score_func"):  # made by make_scorer
        return scoring
    try:
        parameters = list(inspect.signature(scoring).parameters.values())
    except (TypeError, ValueError):  # compiled functions may have no signature
        return scoring
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return scoring
    by_place = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    n_required = sum(p.default is p.empty for p in by_place)
    first = by_place[0].name if by_place else ""
    if n_required == 3 or first == "estimator":
        return scoring
    lacking = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.default is p.empty]
    if lacking:
        raise ParameterError(
            f"{type(owner).__name__}: scoring={scoring!r} needs {', '.join(lacking)}; fix it with "
            f"functools.partial(..., {lacking[0]}=...)"
        )
    if len(by_place) < 2 or (n_required != 2 and first != "y_true"):
        _refuse(scoring, owner)
    return _score_by_metric(scoring, by_place[1].name)


def _find_by_name(name: str, owner: object) -> Scorer:
    from sklearn.metrics import get_scorer, get_scorer_names  # slow to import, seldom needed

    if name not in get_scorer_names():
        _refuse(name, owner)
    return get_scorer(name)


def _score_by_metric(metric: Callable[..., Any], second: str) -> Scorer:
    """Return the scorer of a metric whose second parameter is called ``second``."""
    from sklearn.metrics import get_scorer, get_scorer_names, make_scorer

    function, options = metric, {}
    if isinstance(metric, partial) and not metric.args:
        function, options = metric.func, metric.keywords
    known = [get_scorer(name) for name in get_scorer_names()]
    known = [scorer for scorer in known if scorer._score_func is function]
    for scorer in known:
        if scorer._kwargs == options:
            return scorer
    if known:
        sign, response = known[0]._sign, known[0]._response_method
    else:
        sign = -1 if getattr(function, "__name__", "").endswith(_LOWER_IS_BETTER) else 1
        response = _RESPONSES.get(second, "predict")
    return make_scorer(function, response_method=response, greater_is_better=sign > 0, **options)


def _refuse(scoring: Any, owner: object) -> None:
    raise ParameterError(
        f"{type(owner).__name__}: scoring={scoring!r}; must be 'loss', the name of a scikit-learn "
        "scorer, a function of (estimator, X, y) or a metric, a function of (y_true, y_pred)"
    )


def resolve_oob_score(oob_score: Any, owner: object) -> Scorer:
    """Return the scorer that ``oob_score`` stands for.

    Parameters
    ----------
    oob_score : bool, str or callable
        A boolean for accuracy or R²; the name of a scikit-learn scorer; a scorer of
        ``make_scorer``; or a metric, a function of (y_true, y_pred), whose result is the score.
    owner : estimator
        A classifier or a regressor, whose parameter it is.
    """
    from sklearn.metrics import accuracy_score, get_scorer, get_scorer_names, r2_score

    if isinstance(oob_score, (bool, np.bool_)):
        return _MetricScorer(accuracy_score if is_classifier(owner) else r2_score)
    if isinstance(oob_score, str) and oob_score in get_scorer_names():
        return get_scorer(oob_score)
    if not callable(oob_score):
        raise ParameterError(
            f"{type(owner).__name__}: oob_score={oob_score!r}; must be a boolean, the name of a "
            "scikit-learn scorer, a scorer or a metric, a function of (y_true, y_pred)"
        )
    return oob_score if hasattr(oob_score, "_score_func") else _MetricScorer(oob_score)


class _MetricScorer:
    """A scorer that returns the value of a metric of (y_true, y_pred) unchanged."""

    def __init__(self, metric: Callable[..., Any]) -> None:
        self._score_func = metric  # as scikit-learn's scorers call it

    def __call__(self, estimator: Any, X: Any, y: Any, **weights: Any) -> Any:
        return self._score_func(y, estimator.predict(X), **weights)


# --- scores of known predictions ---


def score_known(
    scorer: Scorer,
    model: Any,
    y: np.ndarray,
    sample_weight: np.ndarray | None = None,
    X: Any = None,
) -> float:
    """Return the score of a model whose predictions are known.

    Parameters
    ----------
    scorer : callable
        From :func:`resolve_scoring` or :func:`resolve_oob_score`.
    model : estimator
        Answers without predicting: a :class:`KnownRegressor`, a :class:`KnownClassifier`, or a
        model that knows the predictions of X.
    y : ndarray
        The target, as users know it.
    sample_weight : ndarray or None
        Used only if the metric takes weights.
    X : Any
        Rows for the scorer; None for a model that looks at none.
    """
    weights = {}
    if sample_weight is not None and takes_weight(scorer):
        weights["sample_weight"] = sample_weight
    rows = np.zeros((len(y), 1)) if X is None else X
    return float(scorer(model, rows, y, **weights))


def takes_weight(scorer: Scorer) -> bool:
    """Whether the metric of a scorer has a parameter ``sample_weight``."""
    # A scorer of make_scorer takes weights whether or not its metric does.
    function = getattr(scorer, "_score_func", scorer)
    return "sample_weight" in inspect.signature(function).parameters


class _KnownModel(BaseEstimator):
    """A stand-in for a fitted estimator: ``predict`` returns what is known, for any X."""

    def __init__(self, predictions: np.ndarray) -> None:
        self.predictions = predictions

    def fit(self, X: Any, y: Any) -> Self:
        """Do nothing; scorers accept only estimators that could be fitted."""
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> np.ndarray:
        """Return the known predictions."""
        return self.predictions


class KnownRegressor(RegressorMixin, _KnownModel):
    """A stand-in for a fitted regressor with known predictions."""


class KnownClassifier(ClassifierMixin, _KnownModel):
    """A stand-in for a fitted classifier with known labels and, it may be, probabilities.

    Parameters
    ----------
    predictions : ndarray
        Class labels.
    classes : ndarray or list of ndarray
        The attribute ``classes_``.
    probabilities : ndarray, list of ndarray or None
        Class probabilities; with None there is no ``predict_proba``.
    """

    def __init__(self, predictions: np.ndarray, classes: Any, probabilities: Any = None) -> None:
        super().__init__(predictions)
        self.classes = classes
        self.probabilities = probabilities

    @property
    def classes_(self) -> Any:
        return self.classes

    @available_if(lambda self: self.probabilities is not None)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the known probabilities."""
        return self.probabilities
