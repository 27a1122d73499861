"""Refitting: checks of a model whose leaves get new values from other rows."""

from typing import Any

import numpy as np

from sumwise.errors import ParameterError
from sumwise.losses import Loss
from sumwise.parts import is_number
from sumwise.tree import Ensemble, TreeEnsemble


def check_decay(decay: Any) -> float:
    """Return the share of the old leaf values."""
    if not is_number(decay) or not 0 <= decay <= 1:
        raise ParameterError(f"decay={decay!r}: must be a number from 0 to 1")
    return float(decay)


def check_refittable(ensemble: Ensemble, directions: np.ndarray) -> TreeEnsemble:
    """Return the trees of a model; refuse models whose leaves cannot be refitted.

    ``directions`` are the monotonic constraints of its features.
    """
    if not isinstance(ensemble, TreeEnsemble):
        raise ParameterError("a model with booster='linear' has no leaves to refit")
    if ensemble.models is not None:
        raise ParameterError(
            "linear leaves cannot be refitted: their models belong to the errors they were fitted "
            "to; fit the model anew, or continue it with init_model"
        )
    if ensemble.stages == "rescaled":
        raise ParameterError(
            "the leaves of booster='dart' cannot be refitted: its rounds have rescaled the trees "
            "of earlier ones, by factors that the model does not keep"
        )
    if directions.any():
        raise ParameterError(
            "the leaves of a model with monotonic_cst cannot be refitted: their new values might "
            "break the order; fit it anew, or continue it with init_model"
        )
    return ensemble


def check_loss(given: Any, loss: Loss, ensemble: Ensemble) -> None:
    """Refuse a ``loss`` parameter, read as ``loss``, that the model was not fitted with."""
    if (loss.link, loss.n_outputs) != (ensemble.link, ensemble.n_outputs):
        raise ParameterError(
            f"loss={given!r}: the model was fitted with another loss, or number of targets: "
            f"it has {ensemble.n_outputs} scores per row, of the kind {ensemble.link!r}; set the "
            "loss it was fitted with"
        )
