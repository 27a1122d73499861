"""Links: from raw scores of shape (n_rows, n_outputs) to means or class probabilities."""

from collections.abc import Callable

import numpy as np

from sumwise.kernels import losses as kernels


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


def _softmax(raw: np.ndarray) -> np.ndarray:
    probabilities = np.empty(raw.shape)
    kernels.softmax(np.ascontiguousarray(raw), probabilities)
    return probabilities


LINKS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "identity": lambda raw: raw[:, 0],
    "logistic": lambda raw: _two_columns(raw, 1.0),
    "half_logistic": lambda raw: _two_columns(raw, 2.0),
    "softmax": _softmax,
}
