"""Reading ``monotonic_cst`` and ``interaction_cst``."""

import numbers
from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.errors import ParameterError
from sumwise.estimators.input.by_feature import (
    find_feature,
    list_items,
    place_names,
    read_by_feature,
    refuse,
)
from sumwise.tree import TreeConstraints

# Features that may be above a leaf, by the names that scikit-learn has for these rules.
_PATH_FEATURES = {"no_interactions": 1, "pairwise": 2}


def read_constraints(estimator: Any, is_categorical: np.ndarray) -> TreeConstraints | None:
    """Return the constraints of an estimator that knows its features and classes, if it has any.

    ``is_categorical`` says of each feature whether its values are categories.
    """
    directions = read_directions(estimator, is_categorical)
    groups, most = _read_groups(estimator)
    if not directions.any() and not groups and not most:
        return None
    return TreeConstraints(directions.tolist(), groups, most)


def read_directions(estimator: Any, is_categorical: np.ndarray) -> np.ndarray:
    """Return -1, 0 or 1 for each feature, from ``monotonic_cst``."""
    directions = _read_directions(estimator)
    if directions.any():
        _refuse_many_classes(estimator)
        _refuse_categories(estimator, directions, is_categorical)
    return directions


def _refuse_categories(estimator: Any, directions: np.ndarray, is_categorical: np.ndarray) -> None:
    both = np.flatnonzero((directions != 0) & is_categorical)
    if both.size:
        raise ParameterError(
            f"{type(estimator).__name__}: monotonic_cst constrains feature {both[0]}, which is "
            "categorical: categories have no order. Set it to 0 there, or encode the categories as "
            "numbers"
        )


def _read_directions(estimator: Any) -> np.ndarray:
    """Return -1, 0 or 1 for each feature."""
    given = estimator.monotonic_cst
    if given is None:
        return np.zeros(estimator.n_features_in_, dtype=np.int8)
    directions = read_by_feature(
        estimator,
        "monotonic_cst",
        given,
        0,
        "None, a dict of feature names, or an array of -1, 0 and 1",
        lambda place, direction: _check_direction(estimator, place, direction),
    )
    return np.array(directions, dtype=np.int8)


def _check_direction(estimator: Any, place: str, direction: Any) -> int:
    is_number = isinstance(direction, numbers.Real) and not isinstance(direction, (bool, np.bool_))
    if not is_number or direction not in (-1, 0, 1):
        refuse(estimator, f"monotonic_cst[{place}]", "must be -1, 0 or 1", given=repr(direction))
    return int(direction)


def _refuse_many_classes(estimator: Any) -> None:
    n_classes = len(getattr(estimator, "classes_", ()))
    if n_classes > 2:
        raise ParameterError(
            f"{type(estimator).__name__}: monotonic_cst is for two classes, where it constrains "
            f"the probability of the second; y has {n_classes}"
        )


def _read_groups(estimator: Any) -> tuple[list[list[int]], int]:
    """Return groups of features, and how many features a path may have (0: the groups decide)."""
    given, n_features = estimator.interaction_cst, estimator.n_features_in_
    if given is None:
        return [], 0
    if isinstance(given, str) and given in _PATH_FEATURES:
        most = _PATH_FEATURES[given]
        return [], most if most < n_features else 0
    rule = f"must be None, {', '.join(map(repr, _PATH_FEATURES))}, or a list of groups of features"
    groups = None if isinstance(given, (str, Mapping)) else list_items(given)
    if groups is None:
        refuse(estimator, "interaction_cst", rule)
    read: list[list[int]] = []
    places = place_names(estimator)
    for place, group in enumerate(groups or []):
        members = None if isinstance(group, (str, Mapping)) else list_items(group)
        if members is None:
            refuse(estimator, "interaction_cst", f"{rule}; {group!r} is no group")
        if not members:
            refuse(estimator, "interaction_cst", f"group {place} is empty; leave it out")
        found = {find_feature(estimator, "interaction_cst", m, places) for m in members or []}
        read.append(sorted(found))
    rest = sorted(set(range(n_features)).difference(*read))
    if rest:
        read.append(rest)  # as scikit-learn does
    # A group of all features forbids nothing.
    return ([] if any(len(group) == n_features for group in read) else read), 0
