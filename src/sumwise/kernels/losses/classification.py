"""Gradients, hessians and values of the losses, row by row.

Every kernel fills its part of the rows; ``weight`` is empty where all weights are one. Raw scores
are (n_outputs, n_rows), so that each output is contiguous.
"""

import numpy as np

from sumwise.kernels.runtime.elementary import exp, log, log1p_exp
from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.threads import share

_BLOCK = 512


@routine
def weight_of(weight, i):
    """The weight of a row, if there are weights."""
    return weight[i] if weight.size > 0 else 1.0


@routine
def multiply(values, weight, first):
    """Multiply by the weights of rows ``first`` on, if there are weights."""
    if weight.size > 0:
        own = weight[first : first + values.size]
        for i in range(values.size):
            values[i] *= own[i]


@kernel
def squared_gradient(thread, n_threads, sync, target, raw, weight, gradient, hessian):
    """(f - y)^2 / 2: gradient f - y, hessian 1."""
    first, last = share(target.size, thread, n_threads)
    labels, scores = target[first:last], raw[0, first:last]
    g, h = gradient[0, first:last], hessian[0, first:last]
    for i in range(labels.size):
        g[i] = scores[i] - labels[i]
        h[i] = 1.0
    multiply(g, weight, first)
    multiply(h, weight, first)


@kernel
def squared_value(target, raw, weight, rows, out):
    """Weighted loss of each of ``rows``."""
    for i in range(rows.size):
        row = rows[i]
        error = raw[0, row] - target[row]
        out[i] = weight_of(weight, row) * 0.5 * error * error


@kernel
def logistic_gradient(thread, n_threads, sync, target, raw, weight, gradient, hessian):
    """log(1 + exp(f)) - y f: gradient p - y, hessian p (1 - p), both without cancellation."""
    first, last = share(target.size, thread, n_threads)
    labels, scores = target[first:last], raw[0, first:last]
    g, h = gradient[0, first:last], hessian[0, first:last]
    for i in range(labels.size):
        # |p - y| is the probability of the other class: larger if the score is on the wrong side.
        margin = scores[i] if labels[i] > 0.5 else -scores[i]
        e = exp(-abs(margin))
        larger = 1.0 / (1.0 + e)
        smaller = e * larger
        miss = larger if margin < 0.0 else smaller
        g[i] = -miss if labels[i] > 0.5 else miss
        h[i] = larger * smaller
    multiply(g, weight, first)
    multiply(h, weight, first)


@kernel
def logistic_value(target, raw, weight, rows, out):
    """Weighted loss of each of ``rows``."""
    for i in range(rows.size):
        row = rows[i]
        score = raw[0, row]
        out[i] = weight_of(weight, row) * log1p_exp(-score if target[row] > 0.5 else score)


@kernel
def exponential_gradient(thread, n_threads, sync, target, raw, weight, gradient, hessian):
    """exp(-s f) with s = 2 y - 1: gradient -s exp(-s f), hessian exp(-s f)."""
    first, last = share(target.size, thread, n_threads)
    labels, scores = target[first:last], raw[0, first:last]
    g, h = gradient[0, first:last], hessian[0, first:last]
    for i in range(labels.size):
        e = exp(-scores[i] if labels[i] > 0.5 else scores[i])
        g[i] = -e if labels[i] > 0.5 else e
        h[i] = e
    multiply(g, weight, first)
    multiply(h, weight, first)


@kernel
def exponential_value(target, raw, weight, rows, out):
    """Weighted loss of each of ``rows``."""
    for i in range(rows.size):
        row = rows[i]
        sign = 1.0 if target[row] > 0.5 else -1.0
        out[i] = weight_of(weight, row) * exp(-sign * raw[0, row])


@kernel
def multinomial_gradient(thread, n_threads, sync, target, raw, weight, gradient, hessian):
    """Softmax: gradient p_k - [y = k], hessian K / (K - 1) p_k (1 - p_k).

    Class after class over a block of rows, so that the loops vectorize; until they get their
    values, two rows of the hessian hold the highest score and the sum.
    """
    n_classes = raw.shape[0]
    factor = n_classes / (n_classes - 1.0)
    first, last = share(target.size, thread, n_threads)
    for begin in range(first, last, _BLOCK):
        end = min(begin + _BLOCK, last)
        highest, total = hessian[0, begin:end], hessian[1, begin:end]
        for i in range(end - begin):
            highest[i] = raw[0, begin + i]
            total[i] = 0.0
        for k in range(1, n_classes):
            scores = raw[k, begin:end]
            for i in range(end - begin):
                highest[i] = max(highest[i], scores[i])
        for k in range(n_classes):
            scores, g = raw[k, begin:end], gradient[k, begin:end]
            for i in range(end - begin):
                g[i] = exp(scores[i] - highest[i])
                total[i] += g[i]
        for k in range(n_classes):
            g = gradient[k, begin:end]
            for i in range(end - begin):
                g[i] /= total[i]
        for k in range(n_classes):
            g, h = gradient[k, begin:end], hessian[k, begin:end]
            for i in range(end - begin):
                h[i] = factor * g[i] * (1.0 - g[i])
        for i in range(begin, end):
            gradient[np.int64(target[i]), i] -= 1.0
    for k in range(n_classes):
        multiply(gradient[k, first:last], weight, first)
        multiply(hessian[k, first:last], weight, first)


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
        out[i] = weight_of(weight, row) * ((highest - raw[label, row]) + log(total))


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
