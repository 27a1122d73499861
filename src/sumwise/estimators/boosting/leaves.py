"""From the parameter ``leaves`` to a part, and what it goes together with."""

from typing import Any

import numpy as np

from sumwise.data.sparse import SparseMatrix
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting.boosters import resolve_booster
from sumwise.estimators.boosting.validation import LabeledRows
from sumwise.estimators.input.parameters import check_choice
from sumwise.losses import Loss
from sumwise.training.boosters import Plain
from sumwise.tree import LinearLeaves


def resolve_leaves(estimator: Any) -> LinearLeaves | None:
    """Return the checked part that ``leaves`` stands for; None for values alone."""
    given = estimator.leaves
    if isinstance(given, LinearLeaves):
        given.check()
    elif check_choice(estimator, "leaves", ("constant", "linear")) == "constant":
        return None
    _check_parameters(estimator)
    return given if isinstance(given, LinearLeaves) else LinearLeaves()


def _check_parameters(estimator: Any) -> None:
    """Refuse parameters that linear leaves cannot obey."""
    name, booster = type(estimator).__name__, resolve_booster(estimator)
    if type(booster) is not Plain or booster.trees_per_round != 1:
        raise ParameterError(
            f"{name}: leaves={estimator.leaves!r} goes with booster='plain' and one tree per "
            f"round, not with booster={booster!r}, which changes or averages the values of trees"
        )
    if estimator.path_smooth > 0:
        raise ParameterError(
            f"{name}: leaves={estimator.leaves!r} and path_smooth={estimator.path_smooth!r} do not "
            "go together: linear models of leaves are not smoothed; use leaves='constant'"
        )
    directions: Any = estimator.monotonic_cst
    if isinstance(directions, dict):
        directions = list(directions.values())
    if directions is not None and np.any(np.asarray(directions) != 0):
        raise ParameterError(
            f"{name}: leaves={estimator.leaves!r} cannot obey monotonic_cst, for slopes of "
            "neighboring leaves may cross; use leaves='constant'"
        )


def check_leaves(estimator: Any, train: LabeledRows, loss: Loss) -> None:
    """Refuse losses and tables that linear leaves are not for."""
    if resolve_leaves(estimator) is None:
        return
    name = f"{type(estimator).__name__}: leaves={estimator.leaves!r}"
    if loss.refits_leaves:
        raise ParameterError(
            f"{name} takes Newton steps, and the leaves of loss={estimator.loss!r} are medians, "
            "quantiles or robust locations; use another loss, or leaves='constant'"
        )
    if isinstance(train.matrix, SparseMatrix):
        raise DataError(
            f"{name} needs a dense X, and this is sparse; pass X.toarray(), or use "
            "leaves='constant'"
        )
