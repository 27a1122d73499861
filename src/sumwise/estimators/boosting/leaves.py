"""From the parameter ``leaves`` to a part, and what it can be combined with."""

import numpy as np

from sumwise.data.matrix import Matrix
from sumwise.data.sparse import SparseMatrix
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.boosters import resolve_booster
from sumwise.estimators.boosting.parameters import BoostingParameters
from sumwise.estimators.input.parameters import check_choice
from sumwise.losses import Loss
from sumwise.training.boosters import Plain
from sumwise.tree import LinearLeaves


def resolve_leaves(params: BoostingParameters) -> LinearLeaves | None:
    """Return the checked part that ``leaves`` stands for; None for constant values."""
    given = params.leaves
    if isinstance(given, LinearLeaves):
        given.check()
    elif check_choice(params, "leaves", ("constant", "linear")) == "constant":
        return None
    _check_parameters(params)
    return given if isinstance(given, LinearLeaves) else LinearLeaves()


def _check_parameters(params: BoostingParameters) -> None:
    """Refuse parameters that linear leaves do not support."""
    name, booster = f"{type(params).__name__}: leaves={params.leaves!r}", resolve_booster(params)
    if type(booster) is not Plain or booster.trees_per_round != 1:
        raise ParameterError(
            f"{name} goes with booster='plain' and one tree per round, not with "
            f"booster={booster!r}, which changes or averages the values of trees"
        )
    if params.path_smooth > 0:
        raise ParameterError(
            f"{name} and path_smooth={params.path_smooth!r} cannot be combined: linear models "
            "of leaves are not smoothed; use leaves='constant'"
        )
    directions = params.monotonic_cst
    if isinstance(directions, dict):
        directions = list(directions.values())
    if directions is not None and np.any(np.asarray(directions) != 0):
        raise ParameterError(
            f"{name} cannot obey monotonic_cst, because slopes of neighboring leaves may cross; "
            "use leaves='constant'"
        )


def check_linear_leaves(params: BoostingParameters, X: Matrix, loss: Loss) -> None:
    """Refuse losses and matrices that linear leaves do not support."""
    name = f"{type(params).__name__}: leaves={params.leaves!r}"
    if loss.refits_leaves:
        raise ParameterError(
            f"{name} takes Newton steps, and the leaves of loss={params.loss!r} are medians, "
            "quantiles or robust locations; use another loss, or leaves='constant'"
        )
    if isinstance(X, SparseMatrix):
        raise DataError(
            f"{name} needs a dense X, and this is sparse; pass X.toarray(), or use "
            "leaves='constant'"
        )
