"""From the parameter ``loss`` to a Loss."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.errors import DataError, ParameterError
from sumwise.estimators.input.parameters import check_choice, name_part
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


def make_regression_loss(owner: Any, n_targets: int | None = None) -> Loss:
    """The loss that a regressor was given, by name, as a part or of the user's own.

    ``n_targets`` is None where y is not known yet.
    """
    given: Any = owner.loss
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
    _check_name(owner, ("auto", *REGRESSION_LOSSES, *LOSS_ALIASES), parts)
    return _repeat(REGRESSION_LOSSES[_full_name(given)](), n_targets)


def _repeat(loss: Loss, n_targets: int | None) -> Loss:
    """The loss of each of several targets."""
    if n_targets is None or n_targets == 1:
        return loss
    if loss.link == "sorted":
        raise ParameterError(
            f"loss={loss!r}: several quantiles are of one target, and y has {n_targets}; fit a "
            "model per level, or per target"
        )
    return MultiTarget([loss] * n_targets)


def make_class_loss(owner: Any, n_classes: int) -> Loss:
    """The loss that a classifier was given, for a number of classes."""
    given = owner.loss
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


def check_class_loss(owner: Any) -> None:
    """Refuse a loss of classes that is none, before the classes are known."""
    if not is_custom_loss(owner.loss):
        _check_name(owner, ("auto", "log_loss", "exponential"), "")


def needs_positive_targets(given: Any) -> bool:
    """Whether a regressor was given a loss that not all targets have: of positive ones or so."""
    kind = REGRESSION_LOSSES.get(_full_name(given)) if isinstance(given, str) else type(given)
    if kind is None or not issubclass(kind, Loss):
        return False
    return getattr(kind, "link", None) in ("log", "log1p")


def _full_name(name: str) -> str:
    return "squared_error" if name == "auto" else LOSS_ALIASES.get(name, name)


def score_quantiles(loss: Any, y: Any, predictions: np.ndarray, sample_weight: Any) -> float:
    """The mean over the levels of D², the share of the pinball loss of a constant that is saved."""
    from sklearn.metrics import d2_pinball_score  # its import takes time

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
    """Whether a loss of classes is for more than two, too."""
    if isinstance(given, str):
        return given != "exponential"
    return is_loss_function(given) or getattr(given, "n_outputs", 1) > 1


def name_loss_part(params: Mapping[str, Any]) -> str:
    """The class whose parameters ``loss__...`` among ``params`` are."""
    return name_part("loss", tuple(LOSS_PARTS.values()), params)


def _check_name(owner: Any, names: tuple[str, ...], more: str) -> None:
    """Refuse what is no name of a loss; say what else there is."""
    if isinstance(owner.loss, str) and owner.loss in names:
        return
    try:
        check_choice(owner, "loss", names)
    except ParameterError as error:
        own = "an object with a method gradient(y, raw), or a function of (y, raw)"
        raise ParameterError(f"{error}{more}, {own}") from None


def _check_link(loss: CustomLoss, links: tuple[str, ...]) -> None:
    if loss.link not in links:
        raise ParameterError(
            f"{loss.name}.link={loss.link!r}: must be one of "
            f"{', '.join(map(repr, links))} here, or a method"
        )
