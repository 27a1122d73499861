"""What ``scoring`` may be: the name of a scorer, a scorer, or a plain metric function."""

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

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


def resolve_scoring(scoring: Any, owner: object) -> Scorer:
    """Return the scorer, a function of (estimator, X, y), that ``scoring`` stands for.

    Parameters
    ----------
    scoring : str or callable
        The name of a scikit-learn scorer; a scorer; or a metric, a function of (y_true, y_pred).
        The signature tells functions apart: three required positional parameters make a scorer, as
        does a first one called ``estimator``; two, or a first one called ``y_true``, make a metric.
        A metric of :mod:`sklearn.metrics` gets what scikit-learn's own scorer gives it:
        predictions, probabilities or decision values. Any other metric gets predictions; decision
        values or probabilities if its second parameter is called ``y_score``; probabilities if it
        is called ``y_proba``. Higher is better unless the name of the function ends in ``_loss``,
        ``_error`` or ``_deviance``.
    owner : estimator
        Whose parameter it is, for error messages.

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
    except (TypeError, ValueError):  # compiled functions may tell nothing
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
    """Return the scorer of a metric, whose second parameter is called ``second``."""
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
