"""Links: from raw scores of shape (n_rows, n_outputs) to means or class probabilities.

"identity", "log" (the mean is e^f) and "sigmoid" (the mean is 1 / (1 + e^-f)) are for regression;
"logistic", "half_logistic" and "softmax" give a probability for every class.
"""

from collections.abc import Callable

import numpy as np

from sumwise.kernels import losses as kernels
from sumwise.kernels.regression_losses import exponential


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
    scores = np.ascontiguousarray(raw[:, 0])
    mean = np.empty(scores.size)
    kernels.sigmoid(scores, 1.0, mean)
    return mean


def _exponential(raw: np.ndarray) -> np.ndarray:
    scores = np.ascontiguousarray(raw[:, 0])
    mean = np.empty(scores.size)
    exponential(scores, 1.0, mean)
    return mean


def _softmax(raw: np.ndarray) -> np.ndarray:
    probabilities = np.empty(raw.shape)
    kernels.softmax(np.ascontiguousarray(raw), probabilities)
    return probabilities


LINKS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "identity": lambda raw: raw[:, 0],
    "log": _exponential,
    "sigmoid": _sigmoid,
    "logistic": lambda raw: _two_columns(raw, 1.0),
    "half_logistic": lambda raw: _two_columns(raw, 2.0),
    "softmax": _softmax,
}
