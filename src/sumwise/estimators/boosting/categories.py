"""How the trees of an estimator use categories."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from sumwise.data.category_bins import MAX_CATEGORIES
from sumwise.data.native import Native
from sumwise.data.target_statistics import METHODS, TargetStatistics
from sumwise.errors import ParameterError
from sumwise.estimators.input.parameters import resolve_part

# "auto": where no feature has more categories, splits by sets serve as well.
AUTO_LIMIT = 50
_NAMES = ("auto", "native", "onehot", *METHODS)


def resolve_encoding(estimator: Any) -> Native | TargetStatistics:
    """Return the checked part that ``categorical_encoding`` stands for."""
    value = estimator.categorical_encoding
    if isinstance(value, str):
        if value == "auto":
            return TargetStatistics()
        if value == "native":
            return Native()
        if value == "onehot":
            return Native(onehot_limit=MAX_CATEGORIES)
        if value in METHODS:
            return TargetStatistics(value)
    part = None
    if value is not None and not isinstance(value, str):
        part = resolve_part(estimator, "categorical_encoding", [Native, TargetStatistics], False)
    if part is None:
        raise ParameterError(
            f"{type(estimator).__name__}: categorical_encoding={value!r}; must be "
            f"{', '.join(map(repr, _NAMES))}, Native(...) or TargetStatistics(...)"
        )
    return part


def find_native(estimator: Any) -> Native:
    """Return how trees split the categories that are not encoded."""
    part = resolve_encoding(estimator)
    return part if isinstance(part, Native) else Native()


def find_statistics(estimator: Any, n_categories: np.ndarray) -> TargetStatistics | None:
    """Return how to encode categories, None where there is nothing to encode.

    ``n_categories`` is 0 for features that are no categories.
    """
    part = resolve_encoding(estimator)
    if isinstance(part, Native):
        return None
    value = estimator.categorical_encoding
    limit = AUTO_LIMIT if isinstance(value, str) and value == "auto" else part.native_limit
    return part if (n_categories > limit).any() else None


def name_encoding_part(params: Mapping[str, Any]) -> str:
    """The class whose parameters ``categorical_encoding__name=...`` most likely means."""
    prefix = "categorical_encoding__"
    names = {key.removeprefix(prefix) for key in params if key.startswith(prefix)}
    return "TargetStatistics" if names & TargetStatistics._defaults().keys() else "Native"
