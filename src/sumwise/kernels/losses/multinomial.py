"""The multinomial loss: gradients, hessians and values of all classes.

Raw scores have shape (n_classes, n_rows), so that each class is contiguous. An empty ``weight``
stands for weights of one.
"""

import numpy as np

from sumwise.kernels.losses.pointwise import multiply, weight_of
from sumwise.kernels.runtime.elementary import exp, log
from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.threads import share

_BLOCK = 512


@kernel
def multinomial_gradient(thread, n_threads, sync, target, raw, weight, gradient, hessian):
    """Softmax: gradient p_k - [y = k], hessian K / (K - 1) p_k (1 - p_k).

    Loops go over a block of rows for one class at a time, so that they vectorize. Until they get
    their values, two rows of the hessian hold the highest score and the sum.
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
