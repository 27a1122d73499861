"""From the parameters ``booster`` and ``sampler`` to parts, and what they go together with."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier

from sumwise.errors import ParameterError
from sumwise.estimators.input.parameters import resolve_part
from sumwise.sampling import ROW_SAMPLERS, RowSampler
from sumwise.training.boosters import BOOSTERS, Booster


def resolve_booster(estimator: Any) -> Booster:
    """Return the checked part that ``booster`` stands for."""
    part = resolve_part(estimator, "booster", BOOSTERS, names=True)
    if part is None:
        names = ", ".join(repr(kind.__name__.lower()) for kind in BOOSTERS)
        raise ParameterError(
            f"{type(estimator).__name__}: booster=None; must be one of {names} or a part"
        )
    part.check_use(estimator)
    if stops_by_oob(estimator) and not part.measures_left_out:
        raise ParameterError(
            f"{type(estimator).__name__}: early_stopping='oob' measures what each round adds on "
            f"the rows that it left out, and booster={part!r} has no such rows: its trees either "
            "draw their own rows within a round or do not build on each other; pass X_val, or "
            "early_stopping=True"
        )
    return part


def resolve_sampler(estimator: Any) -> RowSampler | None:
    """Return the checked part that ``sampler`` stands for, or None."""
    part = resolve_part(estimator, "sampler", ROW_SAMPLERS, names=True)
    if part is not None and part.needs_classes and not is_classifier(estimator):
        raise ParameterError(
            f"{type(estimator).__name__}: sampler={part!r} draws rows by their class; it is for "
            "classifiers"
        )
    if stops_by_oob(estimator) and (part is None or not part.leaves_out_alike):
        alike = ", ".join(kind.__name__ for kind in ROW_SAMPLERS if kind.leaves_out_alike)
        raise ParameterError(
            f"{type(estimator).__name__}: early_stopping='oob' judges rounds by rows that they "
            f"leave out at random, and sampler={part!r} leaves out none or those with small "
            f"gradients; use one of {alike}, or early_stopping=True"
        )
    return part


def stops_by_oob(estimator: Any) -> bool:
    """Whether early stopping watches the rows that rounds leave out."""
    return isinstance(estimator.early_stopping, str) and estimator.early_stopping == "oob"


def check_features(estimator: Any, booster: Booster, n_categories: np.ndarray) -> None:
    """Refuse categorical features, however encoded, where a booster needs numbers.

    A linear model has one coefficient per feature, and an encoder makes several columns of one.
    """
    if booster.grows_trees or not np.any(n_categories):
        return
    (feature, *_) = np.flatnonzero(n_categories)
    raise ParameterError(
        f"{type(estimator).__name__}: feature {feature} is categorical, and booster={booster!r} "
        "takes numbers, whatever categorical_encoding says; encode it before (one column per "
        "category), or pass categorical_features=None if it is a number"
    )
