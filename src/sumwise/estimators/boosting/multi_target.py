"""Several targets: from the parameter ``multi_strategy`` to what a round does."""

from typing import Any

import numpy as np

from sumwise.errors import ParameterError
from sumwise.estimators.boosting.splits import HISTOGRAM
from sumwise.estimators.input.parameters import check_choice
from sumwise.training.boosters import Booster, Plain, VectorLeaves

ONE_OUTPUT_PER_TREE, MULTI_OUTPUT_TREE = "one_output_per_tree", "multi_output_tree"


def check_strategy(estimator: Any) -> str:
    """Return the checked parameter."""
    return check_choice(estimator, "multi_strategy", (ONE_OUTPUT_PER_TREE, MULTI_OUTPUT_TREE))


def resolve_strategy(estimator: Any, booster: Booster, n_targets: int) -> Booster:
    """Return what a round does for a number of targets, where ``booster`` does it for one."""
    if n_targets == 1 or check_strategy(estimator) == ONE_OUTPUT_PER_TREE:
        return booster
    if not isinstance(booster, Plain) or booster.trees_per_round != 1:
        _refuse(estimator, "booster", "its trees are those of booster='plain'")
    if estimator.splits != HISTOGRAM:
        _refuse(estimator, "splits", "its splits are those of splits='histogram'")
    if estimator.leaves != "constant":
        _refuse(estimator, "leaves", "its leaves hold one value per target")
    if estimator.path_smooth > 0:
        _refuse(estimator, "path_smooth", "its leaves are not smoothed")
    if estimator.extra_trees:
        _refuse(estimator, "extra_trees", "it looks at all splits")
    for name in ("monotonic_cst", "interaction_cst"):
        if getattr(estimator, name) is not None:
            _refuse(estimator, name, "it knows no constraints")
    return VectorLeaves()


def refuse_categories(estimator: Any, n_categories: np.ndarray) -> None:
    """Refuse categories that are not encoded as numbers where one tree serves all targets."""
    if np.any(n_categories):
        raise ParameterError(
            f"{type(estimator).__name__}: feature {int(np.flatnonzero(n_categories)[0])} is "
            "categorical, and sets of categories are found by the gradients of one target; with "
            f"multi_strategy={MULTI_OUTPUT_TREE!r} make them numbers by "
            "categorical_encoding=TargetStatistics(native_limit=0), or use "
            f"multi_strategy={ONE_OUTPUT_PER_TREE!r}"
        )


def _refuse(estimator: Any, name: str, reason: str) -> None:
    raise ParameterError(
        f"{type(estimator).__name__}: {name}={getattr(estimator, name)!r} does not go together "
        f"with multi_strategy={MULTI_OUTPUT_TREE!r}, for {reason}; use "
        f"multi_strategy={ONE_OUTPUT_PER_TREE!r}"
    )
