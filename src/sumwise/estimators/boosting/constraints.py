"""Reading ``monotonic_cst`` and ``interaction_cst``."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.errors import ParameterError
from sumwise.estimators.input.by_feature import FeatureParameter, KnowsFeatures, list_items
from sumwise.parts import is_number
from sumwise.tree import TreeConstraints

# Maximum number of features on the path to a leaf, by scikit-learn's names of these rules.
_PATH_FEATURES = {"no_interactions": 1, "pairwise": 2}


def read_constraints(owner: KnowsFeatures, is_categorical: np.ndarray) -> TreeConstraints | None:
    """Return the constraints of an estimator that knows its features and classes, or None.

    ``is_categorical`` marks the features whose values are categories.
    """
    directions = read_directions(owner, is_categorical)
    groups, most = _read_groups(FeatureParameter.of(owner, "interaction_cst"))
    if not directions.any() and not groups and not most:
        return None
    return TreeConstraints(directions.tolist(), groups, most)


def read_directions(owner: KnowsFeatures, is_categorical: np.ndarray) -> np.ndarray:
    """Return -1, 0 or 1 for each feature, from ``monotonic_cst``."""
    directions = _read_directions(FeatureParameter.of(owner, "monotonic_cst"))
    if not directions.any():
        return directions
    name, n_classes = type(owner).__name__, len(getattr(owner, "classes_", ()))
    if n_classes > 2:
        raise ParameterError(
            f"{name}: monotonic_cst is for two classes, where it constrains the probability of the "
            f"second; y has {n_classes}"
        )
    both = np.flatnonzero((directions != 0) & is_categorical)
    if both.size:
        raise ParameterError(
            f"{name}: monotonic_cst constrains feature {both[0]}, which is categorical: categories "
            "have no order. Set it to 0 there, or encode the categories as numbers"
        )
    return directions


def _read_directions(parameter: FeatureParameter) -> np.ndarray:
    def check(place: str, direction: Any) -> int:
        if not is_number(direction) or direction not in (-1, 0, 1):
            parameter.refuse_item(place, direction, "must be -1, 0 or 1")
        return int(direction)

    if parameter.value is None:
        return np.zeros(parameter.n_features, dtype=np.int8)
    rule = "None, a dict of feature names, or an array of -1, 0 and 1"
    return np.array(parameter.read(0, rule, check), dtype=np.int8)


def _read_groups(parameter: FeatureParameter) -> tuple[list[list[int]], int]:
    """Return groups of features, and the maximum of features on a path (0: the groups decide)."""
    given, n_features = parameter.value, parameter.n_features
    if given is None:
        return [], 0
    if isinstance(given, str) and given in _PATH_FEATURES:
        most = _PATH_FEATURES[given]
        return [], most if most < n_features else 0
    rule = f"must be None, {', '.join(map(repr, _PATH_FEATURES))}, or a list of groups of features"
    groups = _list_group(given)
    if groups is None:
        parameter.refuse(rule)
    read: list[list[int]] = []
    for place, group in enumerate(groups):
        members = _list_group(group)
        if members is None:
            parameter.refuse(f"{rule}; {group!r} is not a group")
        if not members:
            parameter.refuse(f"group {place} is empty; leave it out")
        read.append(sorted({parameter.find(member) for member in members}))
    rest = sorted(set(range(n_features)).difference(*read))
    if rest:
        read.append(rest)  # as scikit-learn does
    # A group of all features forbids nothing.
    return ([] if any(len(group) == n_features for group in read) else read), 0


def _list_group(given: Any) -> list[Any] | None:
    return None if isinstance(given, (str, Mapping)) else list_items(given)
