"""Checks of predictions, targets and weights for measures of diversity."""

from typing import Any

import numpy as np

from sumwise.errors import DataError, ParameterError

# Sums of weights that should be 1 are rounded.
_ROUNDING = 1e-9


def read_labels(name: str, values: Any, n_dims: int = 1) -> np.ndarray:
    """Return labels as an array of ``n_dims`` dimensions; refuse no rows, and missing values."""
    labels = np.asarray(values)
    if labels.ndim != n_dims:
        wanted = "one label per row" if n_dims == 1 else "(n_rows, n_learners)"
        raise DataError(f"{name} has shape {labels.shape}; expected {wanted}")
    if labels.shape[0] == 0:
        raise DataError(f"{name} has no rows")
    if labels.dtype.kind == "O":
        is_missing = np.array([v is None or v != v for v in labels.flat]).reshape(labels.shape)
    elif labels.dtype.kind in "fcmM":
        is_missing = np.isnan(labels) if labels.dtype.kind in "fc" else np.isnat(labels)
    else:
        return labels
    _refuse(name, labels, is_missing, "missing")
    return labels


def read_classes(classes: Any, n_columns: int, truth: np.ndarray) -> np.ndarray:
    """Return the label of each column of probabilities; None for 0, 1, ...

    A label of ``truth`` that no column stands for would make its rows wrong predictions. It is
    refused if the labels were not given, or if none is known, because the mistake is elsewhere.
    """
    labels = np.arange(n_columns) if classes is None else read_labels("classes", classes)
    if labels.size != n_columns:
        raise DataError(f"classes has {labels.size} labels for {n_columns} columns")
    known, found = set(labels.tolist()), set(truth.tolist())
    if classes is None and not found <= known:
        strange = min(found - known, key=str)
        raise DataError(
            f"y has the label {strange!r}, and columns stand for 0 to {n_columns - 1}; pass "
            "classes=model.classes_"
        )
    if not found & known:
        raise DataError("y and classes have no label in common")
    return labels


def read_numbers(name: str, values: Any, n_dims: int) -> np.ndarray:
    """Return finite float64 numbers as an array of ``n_dims`` dimensions; refuse no rows."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(f"{name} must be numbers") from None
    if numbers.ndim != n_dims:
        raise DataError(f"{name} has shape {numbers.shape}; expected {n_dims} dimensions")
    if numbers.size == 0:
        raise DataError(f"{name} is empty: it has shape {numbers.shape}")
    _refuse(name, numbers, ~np.isfinite(numbers), "not finite")
    return numbers


def read_sample_weight(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Return weights of rows; ones for None, so that sums are counts."""
    if sample_weight is None:
        return np.ones(n_rows)
    weight = read_numbers("sample_weight", sample_weight, 1)
    check_length("sample_weight", weight, n_rows)
    _refuse("sample_weight", weight, weight < 0, "negative")
    if not weight.any():
        raise DataError("all sample weights are zero: there is nothing to measure")
    return weight


def read_learner_weights(weights: Any, n_learners: int, may_be_negative: bool) -> np.ndarray:
    """Return weights of learners, which must sum to 1; equal ones for None."""
    if weights is None:
        return np.full(n_learners, 1.0 / n_learners)
    weight = read_numbers("weights", weights, 1)
    if weight.size != n_learners:
        raise ParameterError(f"weights has {weight.size} values for {n_learners} learners")
    if not may_be_negative and (weight < 0).any():
        raise ParameterError(f"weights[{int(weight.argmin())}] is {weight.min():g}, negative")
    total = weight.sum()
    if abs(total - 1.0) > _ROUNDING * max(1.0, np.abs(weight).sum()):
        raise ParameterError(f"weights sum to {total:g}; they must sum to 1: divide by the sum")
    return weight


def check_length(name: str, values: np.ndarray, n_rows: int) -> None:
    """Refuse an array without exactly one item per row."""
    if values.shape[0] != n_rows:
        raise DataError(f"{name} has {values.shape[0]} rows; the predictions have {n_rows}")


def check_comparable(name: str, labels: np.ndarray, other_name: str, other: np.ndarray) -> None:
    """Refuse to compare strings with numbers, which are never equal."""
    kinds = {_kind_of_labels(labels), _kind_of_labels(other)}
    if kinds == {"strings", "numbers"}:
        raise DataError(
            f"{name} has {_kind_of_labels(labels)}, {other_name} has {_kind_of_labels(other)}; "
            "labels must be of one kind"
        )


def read_ensemble(predictions: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, ...]:
    """Return codes of the predictions, of shape (n_rows, n_learners), and weights of rows.

    Codes number the labels; with ``y`` they are 0 for right and 1 for wrong.
    """
    labels = read_labels("predictions", predictions, 2)
    if labels.shape[1] < 2:
        raise DataError(
            f"predictions has {labels.shape[1]} column; diversity needs two or more learners"
        )
    weight = read_sample_weight(sample_weight, labels.shape[0])
    if y is None:
        return encode(labels), weight
    truth = read_labels("y", y)
    check_length("y", truth, labels.shape[0])
    check_comparable("predictions", labels, "y", truth)
    return (labels != truth[:, None]).astype(np.intp), weight


def encode(labels: np.ndarray) -> np.ndarray:
    """Number the distinct labels 0, 1, ... in ascending order."""
    try:
        codes = np.unique(labels, return_inverse=True)[1]
    except TypeError:
        raise DataError("labels of different types cannot be compared; use one type") from None
    return codes.reshape(labels.shape)


def average_rows(values: np.ndarray, weight: np.ndarray) -> float:
    """Return the weighted mean over rows."""
    return float(weight @ values / weight.sum())


def _kind_of_labels(labels: np.ndarray) -> str:
    if labels.dtype.kind in "US":
        return "strings"
    if labels.dtype.kind == "O":
        return "strings" if all(isinstance(v, str) for v in labels.flat) else "objects"
    return "numbers"


def _refuse(name: str, values: np.ndarray, is_bad: np.ndarray, what: str) -> None:
    if is_bad.any():
        place = np.argwhere(is_bad)[0]
        where = ", ".join(map(str, place))
        raise DataError(f"{name}[{where}] is {values[tuple(place)]}, {what}")
