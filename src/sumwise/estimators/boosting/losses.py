"""From the parameter ``loss`` to a Loss."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.parameters import BoostingParameters
from sumwise.estimators.input.parameters import name_part, refuse
from sumwise.losses import (
    LOSS_ALIASES,
    REGRESSION_LOSSES,
    CustomLoss,
    Exponential,
    Logistic,
    Loss,
    Multinomial,
    MultiTarget,
    Quantile,
    is_custom_loss,
    is_loss_function,
)
from sumwise.parts import Part

REGRESSION_LINKS = ("identity", "log", "log1p", "sigmoid", "sorted")
CLASS_LINKS = ("logistic", "half_logistic", "softmax")
# Losses with parameters, as parts.
LOSS_PARTS = {k.__name__: k for k in REGRESSION_LOSSES.values() if issubclass(k, Part)}


def make_regression_loss(params: BoostingParameters, n_targets: int | None = None) -> Loss:
    """Return the loss of a regressor, which may be a name, a part or the user's own.

    ``n_targets`` is None if y is not known yet.
    """
    given = params.loss
    if type(given) in LOSS_PARTS.values():
        given.check()
        return _repeat(given, n_targets)
    if is_custom_loss(given):
        loss = CustomLoss(given, "identity", n_outputs=n_targets or 1)
        _check_link(loss, REGRESSION_LINKS)
        if n_targets is not None and loss.n_outputs != n_targets:
            raise ParameterError(
                f"{loss.name}.n_outputs={loss.n_outputs}: a regressor has one output per target, "
                f"and y has {n_targets}"
            )
        return loss
    parts = "".join(f", {name}(...)" for name in LOSS_PARTS)
    _check_name(params, ("auto", *REGRESSION_LOSSES, *LOSS_ALIASES), parts)
    return _repeat(REGRESSION_LOSSES[_full_name(given)](), n_targets)


def _repeat(loss: Loss, n_targets: int | None) -> Loss:
    """Return the loss of one or several targets."""
    if n_targets is None or n_targets == 1:
        return loss
    if loss.link == "sorted":
        raise ParameterError(
            f"loss={loss!r}: several quantiles are of one target, and y has {n_targets}; fit a "
            "model per level, or per target"
        )
    return MultiTarget([loss] * n_targets)


def make_class_loss(params: BoostingParameters, n_classes: int) -> Loss:
    """Return the loss of a classifier for a number of classes."""
    given = params.loss
    if is_custom_loss(given):
        n_outputs = 1 if n_classes <= 2 else n_classes
        link = "logistic" if n_classes <= 2 else "softmax"
        loss = CustomLoss(given, link, n_outputs=n_outputs)
        _check_link(loss, CLASS_LINKS[:2] if n_classes <= 2 else CLASS_LINKS[2:])
        if loss.n_outputs != n_outputs:
            raise ParameterError(
                f"{loss.name}.n_outputs={loss.n_outputs}: {n_classes} classes need {n_outputs}"
            )
        return loss
    if n_classes <= 2:  # one class alone is the first of two
        return Exponential() if given == "exponential" else Logistic()
    if given == "exponential":
        raise DataError(f"loss='exponential' is for two classes; y has {n_classes}")
    return Multinomial(n_classes)


def check_class_loss(params: BoostingParameters) -> None:
    """Refuse a loss that is not for classes, before the classes are known."""
    if not is_custom_loss(params.loss):
        _check_name(params, ("auto", "log_loss", "exponential"), "")


def needs_positive_targets(given: Any) -> bool:
    """Whether the loss of a regressor has a log link, which needs positive targets."""
    kind = REGRESSION_LOSSES.get(_full_name(given)) if isinstance(given, str) else type(given)
    if kind is None or not issubclass(kind, Loss):
        return False
    return getattr(kind, "link", None) in ("log", "log1p")


def _full_name(name: str) -> str:
    return "squared_error" if name == "auto" else LOSS_ALIASES.get(name, name)


def score_quantiles(loss: Any, y: Any, predictions: np.ndarray, sample_weight: Any) -> float:
    """Return the mean D² over the levels: the relative reduction of a constant's pinball loss."""
    from sklearn.metrics import d2_pinball_score  # slow to import

    if not isinstance(loss, Quantile) or loss.n_outputs != predictions.shape[1]:
        raise ParameterError(
            f"loss={loss!r}: the model predicts {predictions.shape[1]} quantiles, whose levels the "
            "score needs; set the loss it was fitted with"
        )
    scores = [
        d2_pinball_score(y, column, sample_weight=sample_weight, alpha=float(level))
        for level, column in zip(loss.levels, predictions.T, strict=True)
    ]
    return float(np.mean(scores))


def takes_many_classes(given: Any) -> bool:
    """Whether a loss of classes supports more than two."""
    if isinstance(given, str):
        return given != "exponential"
    return is_loss_function(given) or getattr(given, "n_outputs", 1) > 1


def name_loss_part(params: Mapping[str, Any]) -> str:
    """Return the class that the parameters ``loss__...`` among ``params`` belong to."""
    return name_part("loss", tuple(LOSS_PARTS.values()), params)


def _check_name(params: BoostingParameters, names: tuple[str, ...], more: str) -> None:
    """Refuse a loss that is not one of the names; ``more`` lists further values."""
    if not isinstance(params.loss, str) or params.loss not in names:
        own = "an object with a method gradient(y, raw), or a function of (y, raw)"
        refuse(params, "loss", f"must be one of {', '.join(map(repr, names))}{more}, {own}")


def _check_link(loss: CustomLoss, links: tuple[str, ...]) -> None:
    if loss.link not in links:
        raise ParameterError(
            f"{loss.name}.link={loss.link!r}: must be one of "
            f"{', '.join(map(repr, links))} here, or a method"
        )
