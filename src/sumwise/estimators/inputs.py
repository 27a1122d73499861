"""Checks of what is passed to ``fit`` beside X and y."""

import warnings
from typing import Any

import numpy as np

from sumwise.data.matrix import rounds_integers
from sumwise.errors import DataError, DataWarning

# Below it sums of weights would lose their digits.
SMALLEST_WEIGHT = 1e-200


def _read_numbers(name: str, values: Any) -> np.ndarray:
    """Return an array of float64; complex numbers are none."""
    try:
        array = np.asarray(values)
        if not np.iscomplexobj(array):
            return array.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise DataError(f"{name} must be numbers")


def check_sample_weight(
    sample_weight: Any, n_rows: int, name: str = "sample_weight"
) -> np.ndarray | None:
    """Return weights as float64, or None where there are none."""
    if sample_weight is None:
        return None
    weight = _read_numbers(name, sample_weight)
    if weight.ndim == 0:
        weight = np.full(n_rows, weight[()])
    if weight.ndim != 1:
        raise DataError(f"Sample weights must be 1D array or scalar, got shape {weight.shape}")
    if weight.size != n_rows:
        raise DataError(f"{name}.shape == {weight.shape}, expected ({n_rows},), one a row")
    bad = np.flatnonzero(~np.isfinite(weight) | (weight < 0))
    if bad.size:
        raise DataError(
            f"{name}[{bad[0]}] is {weight[bad[0]]}; weights must be finite and not negative"
        )
    if not weight.any():
        doing = "learn from" if name == "sample_weight" else "validate with"
        raise DataError(f"all sample weights are zero: there is nothing to {doing}")
    if weight.max() < SMALLEST_WEIGHT:
        raise DataError(f"all sample weights are below {SMALLEST_WEIGHT:g}; scale them up")
    return weight


def check_init_score(
    init_score: Any, n_rows: int, n_outputs: int, name: str = "init_score"
) -> np.ndarray | None:
    """Return initial scores as float64 of shape (n_outputs, n_rows), or None."""
    if init_score is None:
        return None
    score = _read_numbers(name, init_score)
    shapes = [(n_rows,), (n_rows, 1)] if n_outputs == 1 else [(n_rows, n_outputs)]
    if score.shape not in shapes:
        raise DataError(f"{name} has shape {score.shape}, expected {shapes[0]}")
    if not np.isfinite(score).all():
        raise DataError(f"{name} must be finite")
    return np.ascontiguousarray(score.reshape(n_rows, n_outputs).T)


def warn_of_rounding(X: np.ndarray) -> None:
    """Say when integers are too large to be told apart as float64."""
    if rounds_integers(X):
        warnings.warn(
            "X has integers beyond 2**53; they are rounded to float64, so that neighbors may "
            "become equal. If they are identifiers, subtract an offset or encode them.",
            DataWarning,
            stacklevel=3,
        )
