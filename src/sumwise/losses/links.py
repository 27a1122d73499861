"""Links: from raw scores of shape (n_rows, n_outputs) to means or class probabilities.

"identity", "log" (the mean is e^f), "log1p" (it is e^f - 1) and "sigmoid" (the mean is
1 / (1 + e^-f)) are for regression, of one target (means of shape (n_rows,)) or more (a column
each); so is "sorted", whose outputs are quantiles in ascending order.
"logistic", "half_logistic" and "softmax" give a probability for every class.
"""

from collections.abc import Callable

import numpy as np

from sumwise.kernels.losses import classification as kernels
from sumwise.kernels.losses.regression import exponential, exponential_less_one


def _two_columns(raw: np.ndarray, factor: float) -> np.ndarray:
    scores = np.ascontiguousarray(raw[:, 0])
    probabilities = np.empty((scores.size, 2))
    positive = np.empty(scores.size)
    kernels.sigmoid(scores, factor, positive)
    probabilities[:, 1] = positive
    # 1 - p by the same function, not by subtraction: small probabilities keep their digits.
    kernels.sigmoid(scores, -factor, positive)
    probabilities[:, 0] = positive
    return probabilities


def _sigmoid(raw: np.ndarray) -> np.ndarray:
    scores = np.ascontiguousarray(raw)
    mean = np.empty_like(scores)
    kernels.sigmoid(scores.ravel(), 1.0, mean.ravel())
    return _means(mean)


def _exponential(raw: np.ndarray) -> np.ndarray:
    scores = np.ascontiguousarray(raw)
    mean = np.empty_like(scores)
    exponential(scores.ravel(), 1.0, mean.ravel())
    return _means(mean)


def _means(columns: np.ndarray) -> np.ndarray:
    """Means of one target have one dimension."""
    return columns[:, 0] if columns.shape[1] == 1 else columns


def _exponential_less_one(raw: np.ndarray) -> np.ndarray:
    scores = np.ascontiguousarray(raw)
    mean = np.empty_like(scores)
    exponential_less_one(scores.ravel(), mean.ravel())
    return _means(mean)


def _softmax(raw: np.ndarray) -> np.ndarray:
    probabilities = np.empty(raw.shape)
    kernels.softmax(np.ascontiguousarray(raw), probabilities)
    return probabilities


LINKS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "identity": _means,
    "log": _exponential,
    "log1p": _exponential_less_one,
    "sigmoid": _sigmoid,
    "sorted": lambda raw: np.sort(raw, axis=1),
    "logistic": lambda raw: _two_columns(raw, 1.0),
    "half_logistic": lambda raw: _two_columns(raw, 2.0),
    "softmax": _softmax,
}
