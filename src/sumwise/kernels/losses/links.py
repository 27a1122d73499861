"""From raw scores to means and probabilities."""

import numpy as np

from sumwise.kernels.losses.influence import tanh
from sumwise.kernels.runtime.elementary import exp, log
from sumwise.kernels.runtime.jit import kernel

_ONE, _TWO = np.uint64(1), np.uint64(2)  # unsigned, so that the loop vectorizes


@kernel
def sigmoid(raw, factor, out):
    """1 / (1 + exp(-factor * raw))."""
    for i in range(raw.size):
        score = factor * raw[i]
        e = exp(-abs(score))
        larger = 1.0 / (1.0 + e)
        out[i] = larger if score >= 0.0 else e * larger


@kernel
def two_sigmoids(raw, factor, out):
    """:func:`sigmoid` of -factor and of factor, in turns: ``out`` has two items per score."""
    for i in range(np.uint64(raw.size)):
        score = factor * raw[i]
        e = exp(-abs(score))
        larger = 1.0 / (1.0 + e)
        smaller = e * larger
        out[_TWO * i] = larger if score <= 0.0 else smaller
        out[_TWO * i + _ONE] = larger if score >= 0.0 else smaller


@kernel
def softmax(raw, out):
    """Probabilities of each row of (n_rows, n_classes) scores."""
    for i in range(raw.shape[0]):
        highest = raw[i, 0]
        for k in range(1, raw.shape[1]):
            highest = max(highest, raw[i, k])
        total = 0.0
        for k in range(raw.shape[1]):
            out[i, k] = exp(raw[i, k] - highest)
            total += out[i, k]
        for k in range(raw.shape[1]):
            out[i, k] /= total


@kernel
def exponential(raw, factor, out):
    """exp(factor * raw)."""
    for i in range(raw.size):
        out[i] = exp(factor * raw[i])


@kernel
def exponential_less_one(raw, out):
    """exp(raw) - 1, without cancellation for small scores."""
    for i in range(raw.size):
        out[i] = tanh(0.5 * raw[i]) * (exp(raw[i]) + 1.0)


@kernel
def log_one_plus(values, out):
    """log(1 + values)."""
    for i in range(values.size):
        out[i] = log(1.0 + values[i])
