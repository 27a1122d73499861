"""Gradients, hessians and values of the losses, row by row.

Every kernel fills its part of the rows; ``weight`` is empty where all weights are one. Raw scores
are (n_outputs, n_rows), so that each output is contiguous.
"""

import numpy as np

from sumwise.kernels.elementary import exp, log, log1p_exp
from sumwise.kernels.jit import kernel, routine
from sumwise.kernels.threads import share


@routine
def _weight_of(weight, i):
    return weight[i] if weight.size > 0 else 1.0


@kernel
def squared_gradient(thread, n_threads, sync, target, raw, weight, gradient, hessian):
    """(f - y)^2 / 2: gradient f - y, hessian 1."""
    first, last = share(target.size, thread, n_threads)
    for i in range(first, last):
        w = _weight_of(weight, i)
        gradient[0, i] = w * (raw[0, i] - target[i])
        hessian[0, i] = w


@kernel
def squared_value(target, raw, weight, rows, out):
    """Weighted loss of each of ``rows``."""
    for i in range(rows.size):
        row = rows[i]
        error = raw[0, row] - target[row]
        out[i] = _weight_of(weight, row) * 0.5 * error * error


@kernel
def logistic_gradient(thread, n_threads, sync, target, raw, weight, gradient, hessian):
    """log(1 + exp(f)) - y f: gradient p - y, hessian p (1 - p), both without cancellation."""
    first, last = share(target.size, thread, n_threads)
    for i in range(first, last):
        score = raw[0, i]
        e = exp(-abs(score))
        larger = 1.0 / (1.0 + e)
        smaller = e * larger
        positive = larger if score >= 0.0 else smaller
        negative = smaller if score >= 0.0 else larger
        w = _weight_of(weight, i)
        gradient[0, i] = -w * negative if target[i] > 0.5 else w * positive
        hessian[0, i] = w * (larger * smaller)


@kernel
def logistic_value(target, raw, weight, rows, out):
    """Weighted loss of each of ``rows``."""
    for i in range(rows.size):
        row = rows[i]
        score = raw[0, row]
        out[i] = _weight_of(weight, row) * log1p_exp(-score if target[row] > 0.5 else score)


@kernel
def exponential_gradient(thread, n_threads, sync, target, raw, weight, gradient, hessian):
    """exp(-s f) with s = 2 y - 1: gradient -s exp(-s f), hessian exp(-s f)."""
    first, last = share(target.size, thread, n_threads)
    for i in range(first, last):
        sign = 1.0 if target[i] > 0.5 else -1.0
        e = _weight_of(weight, i) * exp(-sign * raw[0, i])
        gradient[0, i] = -sign * e
        hessian[0, i] = e


@kernel
def exponential_value(target, raw, weight, rows, out):
    """Weighted loss of each of ``rows``."""
    for i in range(rows.size):
        row = rows[i]
        sign = 1.0 if target[row] > 0.5 else -1.0
        out[i] = _weight_of(weight, row) * exp(-sign * raw[0, row])


@kernel
def multinomial_gradient(thread, n_threads, sync, target, raw, weight, gradient, hessian):
    """Softmax: gradient p_k - [y = k], hessian K / (K - 1) p_k (1 - p_k)."""
    n_classes = raw.shape[0]
    factor = n_classes / (n_classes - 1.0)
    first, last = share(target.size, thread, n_threads)
    for i in range(first, last):
        highest = raw[0, i]
        for k in range(1, n_classes):
            highest = max(highest, raw[k, i])
        total = 0.0
        for k in range(n_classes):
            e = exp(raw[k, i] - highest)
            gradient[k, i] = e
            total += e
        w = _weight_of(weight, i)
        label = np.int64(target[i])
        for k in range(n_classes):
            p = gradient[k, i] / total
            gradient[k, i] = w * (p - 1.0 if k == label else p)
            hessian[k, i] = w * (factor * p * (1.0 - p))


@kernel
def multinomial_value(target, raw, weight, rows, out):
    """Weighted loss of each of ``rows``."""
    n_classes = raw.shape[0]
    for i in range(rows.size):
        row = rows[i]
        highest = raw[0, row]
        for k in range(1, n_classes):
            highest = max(highest, raw[k, row])
        total = 0.0
        for k in range(n_classes):
            total += exp(raw[k, row] - highest)
        label = np.int64(target[row])
        out[i] = _weight_of(weight, row) * ((highest - raw[label, row]) + log(total))


@kernel
def sigmoid(raw, factor, out):
    """1 / (1 + exp(-factor * raw))."""
    for i in range(raw.size):
        score = factor * raw[i]
        e = exp(-abs(score))
        larger = 1.0 / (1.0 + e)
        out[i] = larger if score >= 0.0 else e * larger


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
