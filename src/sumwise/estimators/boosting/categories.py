"""From the parameter ``categorical_encoding`` to a part: how trees use categories."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.data.categories.bins import MAX_CATEGORIES
from sumwise.data.categories.set_splits import Native
from sumwise.data.categories.target_statistics import METHODS, TargetStatistics
from sumwise.estimators.boosting.parameters import BoostingParameters
from sumwise.estimators.input.parameters import refuse

# "auto" beside explicit settings: up to this many categories, trees split by sets of them.
AUTO_LIMIT = 50
_NAMES = ("auto", "native", "onehot", *METHODS)


def resolve_encoding(params: BoostingParameters) -> Native | TargetStatistics:
    """Return the checked part that ``categorical_encoding`` stands for."""
    value = params.categorical_encoding
    if isinstance(value, (Native, TargetStatistics)):
        value.check()
        return value
    if isinstance(value, str):
        if value == "auto":
            return TargetStatistics()
        if value == "native":
            return Native()
        if value == "onehot":
            return Native(onehot_limit=MAX_CATEGORIES)
        if value in METHODS:
            return TargetStatistics(value)
    names = ", ".join(map(repr, _NAMES))
    refuse(params, "categorical_encoding", f"must be {names}, Native(...) or TargetStatistics(...)")


def find_native(params: BoostingParameters) -> Native:
    """Return how trees split the categories that are not encoded."""
    part = resolve_encoding(params)
    return part if isinstance(part, Native) else Native()


def find_statistics(
    params: BoostingParameters, n_categories: np.ndarray, by_rule: bool = False
) -> TargetStatistics | None:
    """Return how to encode categories, None if there is nothing to encode.

    ``n_categories`` is 0 for numeric features. ``by_rule`` says whether the encoding belongs to the
    parameters that ``fit`` chooses as a whole.
    """
    part = resolve_encoding(params)
    if isinstance(part, Native):
        return None
    value = params.categorical_encoding
    is_plain = isinstance(value, str) and value == "auto" and not by_rule
    limit = AUTO_LIMIT if is_plain else part.native_limit
    return part if (n_categories > limit).any() else None


def name_encoding_part(given: Mapping[str, Any]) -> str:
    """Return the class whose parameters ``categorical_encoding__name=...`` most likely means."""
    prefix = "categorical_encoding__"
    names = {key.removeprefix(prefix) for key in given if key.startswith(prefix)}
    return "TargetStatistics" if names & TargetStatistics._defaults().keys() else "Native"
