"""Checks of what is passed to ``fit`` beside X."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from sumwise.data.table import is_missing, read_array
from sumwise.errors import DataError

# Below it sums of weights would lose their digits.
SMALLEST_WEIGHT = 1e-200
# Every class costs a tree a round, and memory for a score a row.
MOST_CLASSES = 1000


def _read_numbers(name: str, values: Any) -> np.ndarray:
    """Return an array of float64; complex numbers are none."""
    try:
        array = np.asarray(read_array(values))
        if array.dtype == object:
            known = [np.nan if is_missing(value) else value for value in array.flat]
            array = np.array(known, dtype=object).reshape(array.shape)
        if not np.iscomplexobj(array):
            return array.astype(np.float64)
    except (TypeError, ValueError):
        pass
    raise DataError(f"{name} must be numbers")


def read_target(y: Any, is_number: bool, name: str = "y", many: bool = False) -> Any:
    """Return y as an array of one dimension without missing values; None as it is.

    Parameters
    ----------
    y : array-like, series, frame of one column or None
        The target.
    is_number : bool
        Whether it must be numbers (float64) or may be labels.
    name : str
        How messages call it.
    many : bool
        Whether there may be several targets: then two dimensions stay, unless the second is 1.
    """
    if y is None:
        return None
    y = read_array(y)
    if many:
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] > 1:
            return np.column_stack([read_target(column, is_number, name) for column in y.T])
    y = column_or_1d(y, warn=True)
    _refuse_missing(y, name)
    if not is_number or y.dtype.kind in "buif":
        return y
    try:
        converted = y.astype(np.float64) if y.dtype.kind in "OU" else None
    except (TypeError, ValueError):
        converted = None
    if converted is None:
        raise DataError(f"{name} must be numbers for a regressor; it has {_describe_items(y)}")
    _refuse_missing(converted, name)
    return converted


def _refuse_missing(y: np.ndarray, name: str) -> None:
    """Raise DataError for the first item that is missing or infinite."""
    if y.dtype.kind == "f":
        bad = np.flatnonzero(~np.isfinite(y))
        if bad.size:
            what = "NaN" if np.isnan(y[bad[0]]) else "infinity"
            raise DataError(f"Input {name} contains {what}: {name}[{bad[0]}] is {y[bad[0]]}")
    elif y.dtype.kind == "O" and set(map(type, y)) != {str}:
        row = next((row for row, value in enumerate(y) if is_missing(value)), None)
        if row is not None:
            raise DataError(
                f"Input {name} contains NaN: {name}[{row}] is {y[row]!r}, a missing value"
            )


def _describe_items(y: np.ndarray) -> str:
    """Name the type of y, or the first item that is no number."""
    if y.dtype.kind in "OU":
        for row, value in enumerate(y.tolist()):
            try:
                float(value)
            except (TypeError, ValueError):
                return f"{value!r} in row {row}"
    return f"type {y.dtype}"


def find_classes(y: np.ndarray, at_least: int = 2) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes of y, sorted, and the index of each row's class.

    Fewer classes than ``at_least`` are an error.
    """
    if y.dtype.kind not in "biu":  # whole numbers always name classes
        check_classification_targets(y)
    classes, indices = np.unique(y, return_inverse=True)
    if classes.size > MOST_CLASSES:
        raise DataError(
            f"y has {classes.size} classes, and {MOST_CLASSES} are the most; if it is a "
            "quantity use a regressor, if it is an identifier there is nothing to learn"
        )
    if classes.size < at_least:
        raise DataError(
            f"y has only one class, {classes.tolist()[0]!r}; a classifier needs at least 2 classes"
        )
    return classes, indices


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
    bad = np.argwhere(~np.isfinite(score))
    if bad.size:
        raise DataError(f"{name} must be finite; row {bad[0, 0]} has {score[tuple(bad[0])]}")
    return np.ascontiguousarray(score.reshape(n_rows, n_outputs).T)


def describe_rounding(where: str) -> str:
    """Say that integers are too large to be told apart as float64."""
    return (
        f"{where} has integers beyond 2**53; they are rounded to float64, so that neighbors may "
        "become equal. If they are identifiers, subtract an offset or encode them."
    )
