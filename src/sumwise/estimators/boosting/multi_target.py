"""Several targets: from the parameter ``multi_strategy`` to what a round does."""

import numpy as np

from sumwise.errors import ParameterError
from sumwise.estimators.boosting.parameters import BoostingParameters
from sumwise.estimators.boosting.splits import HISTOGRAM
from sumwise.estimators.input.parameters import check_choice
from sumwise.training.boosters import Booster, Plain, VectorLeaves

ONE_OUTPUT_PER_TREE, MULTI_OUTPUT_TREE = "one_output_per_tree", "multi_output_tree"


def check_strategy(params: BoostingParameters) -> str:
    """Return the checked parameter."""
    return str(check_choice(params, "multi_strategy", (ONE_OUTPUT_PER_TREE, MULTI_OUTPUT_TREE)))


def resolve_strategy(params: BoostingParameters, booster: Booster, n_targets: int) -> Booster:
    """Return the booster for a number of targets; ``booster`` is the one for a single target."""
    if n_targets == 1 or check_strategy(params) == ONE_OUTPUT_PER_TREE:
        return booster
    is_plain = isinstance(booster, Plain) and booster.trees_per_round == 1
    conflicts = {
        "booster": (not is_plain, "its trees are those of booster='plain'"),
        "splits": (params.splits != HISTOGRAM, "its splits are those of splits='histogram'"),
        "leaves": (params.leaves != "constant", "its leaves hold one value per target"),
        "path_smooth": (params.path_smooth > 0, "its leaves are not smoothed"),
        "extra_trees": (params.extra_trees, "it looks at all splits"),
        "monotonic_cst": (params.monotonic_cst is not None, "it supports no constraints"),
        "interaction_cst": (params.interaction_cst is not None, "it supports no constraints"),
    }
    for name, (is_conflict, reason) in conflicts.items():
        if is_conflict:
            raise ParameterError(
                f"{type(params).__name__}: {name}={getattr(params, name)!r} cannot be combined "
                f"with multi_strategy={MULTI_OUTPUT_TREE!r}: {reason}; use "
                f"multi_strategy={ONE_OUTPUT_PER_TREE!r}"
            )
    return VectorLeaves()


def refuse_native_categories(owner: object, n_categories: np.ndarray) -> None:
    """Refuse categories that are not encoded as numbers if one tree serves all targets."""
    if np.any(n_categories):
        raise ParameterError(
            f"{type(owner).__name__}: feature {int(np.flatnonzero(n_categories)[0])} is "
            "categorical, and sets of categories are found by the gradients of one target; with "
            f"multi_strategy={MULTI_OUTPUT_TREE!r} encode them as numbers by "
            "categorical_encoding=TargetStatistics(native_limit=0), or use "
            f"multi_strategy={ONE_OUTPUT_PER_TREE!r}"
        )
