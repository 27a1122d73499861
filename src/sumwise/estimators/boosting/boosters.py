"""From the parameters ``booster`` and ``sampler`` to parts, and what they can be combined with."""

import numpy as np
from sklearn.base import is_classifier

from sumwise.errors import ParameterError
from sumwise.estimators.boosting.parameters import BoostingParameters
from sumwise.estimators.input.parameters import refuse, resolve_part
from sumwise.sampling import ROW_SAMPLERS, RowSampler
from sumwise.training.boosters import BOOSTERS, Booster


def resolve_booster(params: BoostingParameters) -> Booster:
    """Return the checked part that ``booster`` stands for."""
    part = resolve_part(params, "booster", BOOSTERS, names=True)
    if part is None:
        names = ", ".join(repr(kind.__name__.lower()) for kind in BOOSTERS)
        refuse(params, "booster", f"must be one of {names} or a part")
    part.check_use(params)
    if stops_by_oob(params) and not part.measures_left_out:
        raise ParameterError(
            f"{type(params).__name__}: early_stopping='oob' measures each round on the rows that "
            f"it left out, and booster={part!r} has no such rows: its trees either draw their own "
            "rows within a round or do not build on each other; pass X_val, or early_stopping=True"
        )
    return part


def resolve_sampler(params: BoostingParameters) -> RowSampler | None:
    """Return the checked part that ``sampler`` stands for, or None."""
    part = resolve_part(params, "sampler", ROW_SAMPLERS, names=True)
    name = type(params).__name__
    if part is not None and part.needs_classes and not is_classifier(params):
        raise ParameterError(
            f"{name}: sampler={part!r} draws rows by their class; it is for classifiers"
        )
    if stops_by_oob(params) and (part is None or not part.leaves_out_alike):
        alike = ", ".join(kind.__name__ for kind in ROW_SAMPLERS if kind.leaves_out_alike)
        raise ParameterError(
            f"{name}: early_stopping='oob' measures rounds on rows that they leave out at random, "
            f"and sampler={part!r} leaves out none or those with small gradients; use one of "
            f"{alike}, or early_stopping=True"
        )
    return part


def stops_by_oob(params: BoostingParameters) -> bool:
    """Whether early stopping watches the rows that rounds leave out."""
    return isinstance(params.early_stopping, str) and params.early_stopping == "oob"


def refuse_categories(owner: object, booster: Booster, n_categories: np.ndarray) -> None:
    """Refuse categorical features, encoded or not, if a booster needs numbers.

    A linear model has one coefficient per feature, and an encoder may turn one feature into several
    columns.
    """
    if booster.grows_trees or not np.any(n_categories):
        return
    (feature, *_) = np.flatnonzero(n_categories)
    raise ParameterError(
        f"{type(owner).__name__}: feature {feature} is categorical, and booster={booster!r} takes "
        "numbers, with any categorical_encoding; encode it before (one column per category), or "
        "pass categorical_features=None if it is a number"
    )
