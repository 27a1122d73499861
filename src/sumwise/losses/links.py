"""Links: from raw scores of shape (n_rows, n_outputs) to means or class probabilities.

"identity", "log" (the mean is e^f), "log1p" (e^f - 1) and "sigmoid" (1 / (1 + e^-f)) are for
regression: of one target, with means of shape (n_rows,), or of several, with one column each.
"sorted" returns the quantiles of each row in ascending order.
"logistic", "half_logistic" and "softmax" return one probability per class.
"""

from collections.abc import Callable

import numpy as np

from sumwise.kernels.losses import links as kernels

Link = Callable[[np.ndarray], np.ndarray]


def _two_columns(raw: np.ndarray, factor: float) -> np.ndarray:
    scores = np.ascontiguousarray(raw[:, 0])
    # Not 1 - p: a subtraction would lose digits of small probabilities.
    probabilities = np.empty((scores.size, 2))
    kernels.two_sigmoids(scores, factor, probabilities.ravel())
    return probabilities


def _apply(kernel: Callable[..., None], *arguments: float) -> Link:
    """Return a link that applies a kernel to every score."""

    def link(raw: np.ndarray) -> np.ndarray:
        scores = np.ascontiguousarray(raw)
        mean = np.empty_like(scores)
        kernel(scores.ravel(), *arguments, mean.ravel())
        return _means(mean)

    return link


def _means(columns: np.ndarray) -> np.ndarray:
    """Return means; those of a single target have one dimension."""
    return columns[:, 0] if columns.shape[1] == 1 else columns


def _softmax(raw: np.ndarray) -> np.ndarray:
    probabilities = np.empty(raw.shape)
    kernels.softmax(np.ascontiguousarray(raw), probabilities)
    return probabilities


LINKS: dict[str, Link] = {
    "identity": _means,
    "log": _apply(kernels.exponential, 1.0),
    "log1p": _apply(kernels.exponential_less_one),
    "sigmoid": _apply(kernels.sigmoid, 1.0),
    "sorted": lambda raw: np.sort(raw, axis=1),
    "logistic": lambda raw: _two_columns(raw, 1.0),
    "half_logistic": lambda raw: _two_columns(raw, 2.0),
    "softmax": _softmax,
}
