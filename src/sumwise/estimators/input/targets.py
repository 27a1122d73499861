"""Checks of y, weights and initial scores."""

from typing import Any

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from sumwise.data.frames.columns import is_missing
from sumwise.data.frames.reading import read_array
from sumwise.data.sparse import is_sparse
from sumwise.errors import DataError
from sumwise.estimators.input.labels import list_blocks, number_labels, read_integers
from sumwise.kernels.runtime.threads import Team

# Sums of smaller weights would lose precision.
SMALLEST_WEIGHT = 1e-200
# The sum of a few million larger targets would overflow.
LARGEST_TARGET = 2.0**1000
# Every class costs one tree per round, and memory for one score per row.
MOST_CLASSES = 1000


def _read_numbers(name: str, values: Any) -> np.ndarray:
    """Return an array of float64; refuse complex numbers."""
    try:
        array = np.asarray(read_array(values))
        if array.dtype == object:
            known = [np.nan if is_missing(value) else value for value in array.flat]
            array = np.array(known, dtype=object).reshape(array.shape)
        if not np.iscomplexobj(array):
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise DataError(f"{name} must be numbers")


def read_target(y: Any, is_number: bool, name: str = "y", many: bool = False) -> Any:
    """Return y as an array of one dimension without missing values, or None unchanged.

    Parameters
    ----------
    y : array-like, series, frame of one column or None
        The target.
    is_number : bool
        Whether y must be numbers; otherwise it may be labels.
    name : str
        Its name in messages.
    many : bool
        Whether y may have several columns; it then keeps two dimensions.
    """
    if y is None:
        return None
    if is_sparse(y):
        raise DataError(f"{name} is sparse, which is not supported; pass {name}.toarray()")
    y = _keep_types(read_array(y))
    if many:
        y = np.asarray(y)
        if y.ndim == 2 and y.shape[1] > 1:
            return np.column_stack([read_target(column, is_number, name) for column in y.T])
    if not _is_plain(y):
        y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f" and _is_within(y, LARGEST_TARGET):
        return y
    _refuse_missing(y, name)
    if not is_number:
        _refuse_mixed_labels(y, name)
        return y
    if y.dtype.kind in "buif":
        refuse_huge_target(y, name)
        return y
    try:
        converted = y.astype(np.float64) if y.dtype.kind in "OU" else None
    except (TypeError, ValueError, OverflowError):
        converted = None
    if converted is None:
        raise DataError(f"{name} must be numbers for a regressor; it has {_describe_items(y)}")
    _refuse_missing(converted, name)
    refuse_huge_target(converted, name)
    return converted


def _is_plain(y: Any) -> bool:
    """Whether scikit-learn's check would return y as it is, after a while."""
    return type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biuf" and y.flags.c_contiguous


def refuse_huge_target(y: np.ndarray, name: str = "y") -> None:
    """Raise DataError for the first number that is too large to be summed."""
    if y.dtype.kind != "f" or y.dtype.itemsize < 8:
        return
    too_large = np.argwhere(np.abs(y) > LARGEST_TARGET)
    if too_large.size:
        first = tuple(too_large[0])
        raise DataError(
            f"{name} has {y[first]} in row {first[0]}: sums of such numbers are too large for "
            f"float64. The limit is {LARGEST_TARGET:.0e}; scale {name}"
        )


def _is_within(values: np.ndarray, limit: float) -> bool:
    """Whether all values are numbers of a magnitude of at most ``limit``."""
    blocks = (values[block] for block in list_blocks(0, len(values)))
    # Extremes are nan if a value is, and no array is made of all values.
    return all(-limit <= float(own.min()) and float(own.max()) <= limit for own in blocks)


def _keep_types(y: Any) -> Any:
    """Return a list of strings and other objects as an object array, not one of strings."""
    if isinstance(y, (list, tuple)) and len({isinstance(item, str) for item in y}) == 2:
        array = np.empty(len(y), dtype=object)
        array[:] = y
        return array
    return y


def _refuse_mixed_labels(y: np.ndarray, name: str) -> None:
    """Raise DataError if only some labels are strings: they cannot be sorted."""
    if y.dtype.kind != "O" or len({issubclass(t, str) for t in set(map(type, y))}) < 2:
        return
    is_string = np.array([isinstance(label, str) for label in y])
    string, other = int(is_string.argmax()), int(is_string.argmin())
    raise DataError(
        f"{name} mixes labels of different types: {y[string]!r} in row {string} is a string, and "
        f"{y[other]!r} in row {other} is of type {type(y[other]).__name__}; convert all to "
        f"strings, for example by [str(label) for label in {name}]"
    )


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
    """Return the type of y, or the first item that is not a number."""
    if y.dtype.kind in "OU":
        for row, value in enumerate(y.tolist()):
            try:
                float(value)
            except OverflowError:
                return f"an integer in row {row} that is beyond the range of float64"
            except (TypeError, ValueError):
                return f"{value!r} in row {row}"
    return f"type {y.dtype}"


def find_classes(
    y: np.ndarray, at_least: int = 2, narrow: bool = False, team: Team | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes of y, sorted, and the index of each row's class.

    Fewer classes than ``at_least`` are an error. ``narrow`` and ``team`` are as in
    :func:`~sumwise.estimators.input.labels.number_labels`.
    """
    refuse_continuous(y)
    classes, indices = number_labels(y, narrow, team)
    check_classes(classes, at_least)
    return classes, indices


def check_classes(classes: np.ndarray, at_least: int = 2) -> None:
    """Raise DataError if there are too many classes, or fewer than ``at_least``."""
    if classes.size > MOST_CLASSES:
        raise DataError(
            f"y has {classes.size} classes, and at most {MOST_CLASSES} are supported; if it is a "
            "quantity use a regressor, if it is an identifier there is nothing to learn"
        )
    if classes.size < at_least:
        raise DataError(
            f"y has only one class, {classes.tolist()[0]!r}; a classifier needs at least 2 classes"
        )


def refuse_continuous(y: np.ndarray) -> None:
    """Raise ValueError, as scikit-learn does, if labels are quantities."""
    if y.dtype.kind not in "biu" and read_integers(y) is None:  # integers are always classes
        check_classification_targets(y)


def encode_labels(name: str, y: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the index of each label among the classes."""
    place = {label: k for k, label in enumerate(classes.tolist())}
    found, inverse = number_labels(y)
    unknown = [label for label in found.tolist() if label not in place]
    if unknown:
        raise DataError(
            f"{name} has classes that are not among those to learn: {unknown[:5]}; "
            f"the known classes are {classes.tolist()[:20]}"
        )
    return np.array([place[label] for label in found.tolist()], dtype=np.intp)[inverse]


def check_sample_weight(
    sample_weight: Any, n_rows: int, name: str = "sample_weight"
) -> np.ndarray | None:
    """Return weights as float64, or None if there are none."""
    if sample_weight is None:
        return None
    weight = read_sample_weight(sample_weight, n_rows, name)
    refuse_no_weight(weight.max(initial=0.0), name)
    return weight


def read_sample_weight(sample_weight: Any, n_rows: int, name: str) -> np.ndarray:
    """Return weights as float64, each of them valid; all may be zero."""
    weight = _read_numbers(name, sample_weight)
    if weight.ndim == 0:
        weight = np.full(n_rows, weight[()])
    if weight.ndim != 1:
        raise DataError(f"Sample weights must be 1D array or scalar, got shape {weight.shape}")
    if weight.size != n_rows:
        raise DataError(f"{name}.shape == {weight.shape}, expected ({n_rows},), one per row")
    refuse_bad_weights(weight, name)
    return weight


def refuse_bad_weights(weight: np.ndarray, name: str = "sample_weight") -> None:
    """Raise DataError unless all weights are finite and not negative."""
    low, high = weight.min(initial=0.0), weight.max(initial=0.0)  # nan if a weight is
    if not (low >= 0.0 and high < np.inf):
        row = np.flatnonzero(~np.isfinite(weight) | (weight < 0))[0]
        raise DataError(f"{name}[{row}] is {weight[row]}; weights must be finite and not negative")


def refuse_no_weight(high: float, name: str = "sample_weight") -> None:
    """Raise DataError if the largest weight is zero, or too small for sums."""
    if high == 0.0:
        doing = "learn from" if name == "sample_weight" else "validate with"
        raise DataError(f"all sample weights are zero: there is nothing to {doing}")
    if high < SMALLEST_WEIGHT:
        raise DataError(f"all sample weights are below {SMALLEST_WEIGHT:g}; scale them up")


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
    if not _is_within(score, np.finfo(np.float64).max):
        bad = np.argwhere(~np.isfinite(score))[0]
        raise DataError(f"{name} must be finite; row {bad[0]} has {score[tuple(bad)]}")
    return np.ascontiguousarray(score.reshape(n_rows, n_outputs).T)


def describe_rounding(where: str) -> str:
    """Return a warning that integers are too large for the precision of float64."""
    return (
        f"{where} has integers beyond 2**53; they are rounded to float64, so neighbors may "
        "become equal. If they are identifiers, subtract an offset or encode them."
    )
