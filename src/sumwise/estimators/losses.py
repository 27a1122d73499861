"""From the parameter ``loss`` to a Loss."""

from collections.abc import Mapping
from typing import Any

from sumwise.errors import DataError, ParameterError
from sumwise.estimators.parameters import check_choice
from sumwise.losses import (
    REGRESSION_LOSSES,
    CustomLoss,
    Exponential,
    Logistic,
    Loss,
    Multinomial,
    is_custom_loss,
)
from sumwise.parts import Part

REGRESSION_LINKS = ("identity", "log", "sigmoid")
CLASS_LINKS = ("logistic", "half_logistic", "softmax")
# Losses with parameters, as parts.
LOSS_PARTS = {k.__name__: k for k in REGRESSION_LOSSES.values() if issubclass(k, Part)}


def make_regression_loss(owner: Any) -> Loss:
    """The loss that a regressor was given, by name, as a part or of the user's own."""
    given: Any = owner.loss
    if type(given) in LOSS_PARTS.values():
        given.check()
        return given
    if is_custom_loss(given):
        loss = CustomLoss(given, "identity")
        _check_link(loss, REGRESSION_LINKS)
        if loss.n_outputs != 1:
            raise ParameterError(
                f"{type(given).__name__}.n_outputs={loss.n_outputs}: a regressor has one output"
            )
        return loss
    parts = "".join(f", {name}(...)" for name in LOSS_PARTS)
    _check_name(owner, ("auto", *REGRESSION_LOSSES), parts)
    return REGRESSION_LOSSES["squared_error" if given == "auto" else given]()


def make_class_loss(owner: Any, n_classes: int) -> Loss:
    """The loss that a classifier was given, for a number of classes."""
    given = owner.loss
    if is_custom_loss(given):
        n_outputs = 1 if n_classes <= 2 else n_classes
        loss = CustomLoss(given, "logistic" if n_classes <= 2 else "softmax")
        _check_link(loss, CLASS_LINKS[:2] if n_classes <= 2 else CLASS_LINKS[2:])
        if loss.n_outputs != n_outputs:
            raise ParameterError(
                f"{type(given).__name__}.n_outputs={loss.n_outputs}: {n_classes} classes need "
                f"{n_outputs}"
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
    """Whether the losses of positive means are among what a regressor was given."""
    kind = REGRESSION_LOSSES.get(given) if isinstance(given, str) else type(given)
    return kind is not None and getattr(kind, "link", None) == "log" and issubclass(kind, Loss)


def name_loss_part(params: Mapping[str, Any]) -> str:
    """The class whose parameters ``loss__...`` among ``params`` are."""
    inner = {key.removeprefix("loss__") for key in params if key.startswith("loss__")}
    fitting = [name for name, kind in LOSS_PARTS.items() if inner <= kind._defaults().keys()]
    return fitting[0] if fitting else "Quantile"


def _check_name(owner: Any, names: tuple[str, ...], more: str) -> None:
    """Refuse what is no name of a loss; say what else there is."""
    if isinstance(owner.loss, str) and owner.loss in names:
        return
    try:
        check_choice(owner, "loss", names)
    except ParameterError as error:
        raise ParameterError(f"{error}{more} or an object with a method gradient(y, raw)") from None


def _check_link(loss: CustomLoss, links: tuple[str, ...]) -> None:
    if loss.link not in links:
        raise ParameterError(
            f"{type(loss.source).__name__}.link={loss.link!r}: must be one of "
            f"{', '.join(map(repr, links))} here, or a method"
        )
