"""Parameters of trees and forests that are numbers, shares or names."""

import math
import warnings
from numbers import Integral, Real
from typing import Any, NoReturn

import numpy as np

from sumwise.errors import DataWarning, ParameterError

_RULES = ("sqrt", "log2")
# Rows are counted in 32 bits.
_MOST_DRAWN = (1 << 32) - 1
# Fewer rows than this for a tree are hardly meant.
_FEW_DRAWN = 10


def count_features(owner: Any, name: str, n_features: int | None = None) -> int | None:
    """Return how many features ``max_features`` and the like mean; None for all.

    Without ``n_features`` only what can be known before is checked.
    """
    value = getattr(owner, name)
    rule = "must be 'sqrt', 'log2', a positive integer, a share in (0, 1] or None"
    if value is None:
        return None
    if isinstance(value, str):
        if value not in _RULES:
            _refuse(owner, name, rule)
        root = math.sqrt if value == "sqrt" else math.log2
        return max(1, int(root(n_features or 1)))
    if _is_integer(value):
        if value < 1:
            _refuse(owner, name, rule)
        if n_features is not None and value > n_features:
            _refuse(owner, name, f"there are {n_features} features to choose from")
        return int(value)
    if not _is_number(value) or not 0 < value <= 1:
        _refuse(owner, name, rule)
    return max(1, int(value * (n_features or 1)))


def count_rows(owner: Any, name: str, low: int, n_rows: int | None = None) -> int:
    """Return how many rows ``min_samples_leaf`` and the like mean: a number, or a share of rows."""
    value = getattr(owner, name)
    if _is_integer(value) and value >= low:
        return int(value)
    if _is_integer(value) or not _is_number(value) or not 0 < value <= 1:
        _refuse(owner, name, f"must be an integer of at least {low}, or a share in (0, 1]")
    return max(low, math.ceil(value * (n_rows or 1)))


def find_rate(owner: Any, name: str, n_rows: int, total_weight: float) -> float:
    """Return ``max_samples`` as a share of the rows; it is a number, a share or None for all.

    A share is of the sum of weights, as in scikit-learn since version 1.9: a weight of 2 is as good
    as the row twice. Without weights that is the number of rows.
    """
    value = getattr(owner, name)
    if value is None:
        return 1.0
    if not _is_number(value) or not value > 0 or not math.isfinite(value):
        _refuse(owner, name, "must be a positive integer, a positive share of the rows or None")
    n_drawn = value if _is_integer(value) else value * total_weight
    if n_drawn > _MOST_DRAWN:
        _refuse(owner, name, f"a tree cannot draw more than {_MOST_DRAWN} rows")
    if n_drawn < _FEW_DRAWN and not _is_integer(value) and total_weight < n_rows:
        warnings.warn(
            f"{type(owner).__name__}: {name}={value!r} of weights that sum to {total_weight:g} "
            f"draws only {max(1, round(n_drawn))} rows for a tree; pass a number of rows instead",
            DataWarning,
            stacklevel=5,
        )
    return n_drawn / n_rows


def _is_integer(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def _refuse(owner: Any, name: str, rule: str) -> NoReturn:
    raise ParameterError(f"{type(owner).__name__}: {name}={getattr(owner, name)!r}; {rule}")
