"""Gradients, hessians and values of the losses of regression, row by row; see losses.py.

Kernels of losses with a parameter have it as their last argument.
"""

from sumwise.kernels.losses.classification import multiply, weight_of
from sumwise.kernels.losses.influence import fair, tanh
from sumwise.kernels.runtime.elementary import exp, log, log1p_exp
from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.threads import share

_LN2 = 0.6931471805599453


@kernel
def quantile_gradient(thread, n_threads, sync, target, raw, weight, gradient, hessian, level, size):
    """``size`` times the pinball loss: gradient (1 - level) or -level, 0 if exact; hessian 1."""
    first, last = share(target.size, thread, n_threads)
    labels, scores = target[first:last], raw[0, first:last]
    g, h = gradient[0, first:last], hessian[0, first:last]
    above, below = size * (1.0 - level), size * -level
    for i in range(labels.size):
        g[i] = above if scores[i] > labels[i] else (below if scores[i] < labels[i] else 0.0)
        h[i] = 1.0
    multiply(g, weight, first)
    multiply(h, weight, first)


@kernel
def quantile_value(target, raw, weight, rows, out, level, size):
    """Weighted loss of each of ``rows``."""
    for i in range(rows.size):
        row = rows[i]
        error = target[row] - raw[0, row]
        out[i] = (
            weight_of(weight, row)
            * size
            * (level * error if error >= 0.0 else (level - 1.0) * error)
        )


@kernel
def huber_gradient(thread, n_threads, sync, target, raw, weight, gradient, hessian, delta):
    """Gradient f - y clipped to delta; hessian 1."""
    first, last = share(target.size, thread, n_threads)
    labels, scores = target[first:last], raw[0, first:last]
    g, h = gradient[0, first:last], hessian[0, first:last]
    for i in range(labels.size):
        g[i] = min(max(scores[i] - labels[i], -delta), delta)
        h[i] = 1.0
    multiply(g, weight, first)
    multiply(h, weight, first)


@kernel
def huber_value(target, raw, weight, rows, out, delta):
    """Weighted loss of each of ``rows``."""
    for i in range(rows.size):
        row = rows[i]
        error = abs(raw[0, row] - target[row])
        loss = 0.5 * error * error if error <= delta else delta * (error - 0.5 * delta)
        out[i] = weight_of(weight, row) * loss


@kernel
def percentage_gradient(thread, n_threads, sync, target, raw, weight, gradient, hessian):
    """|f - y| / max(1, |y|): gradient the sign of f - y over max(1, |y|), 0 if exact; hessian 1."""
    first, last = share(target.size, thread, n_threads)
    labels, scores = target[first:last], raw[0, first:last]
    g, h = gradient[0, first:last], hessian[0, first:last]
    for i in range(labels.size):
        part = 1.0 / max(1.0, abs(labels[i]))
        g[i] = part if scores[i] > labels[i] else (-part if scores[i] < labels[i] else 0.0)
        h[i] = 1.0
    multiply(g, weight, first)
    multiply(h, weight, first)


@kernel
def percentage_value(target, raw, weight, rows, out):
    """Weighted loss of each of ``rows``."""
    for i in range(rows.size):
        row = rows[i]
        error = abs(raw[0, row] - target[row])
        out[i] = weight_of(weight, row) * (error / max(1.0, abs(target[row])))


@kernel
def fair_gradient(thread, n_threads, sync, target, raw, weight, gradient, hessian, c):
    """c^2 (|x| / c - log(1 + |x| / c)) of x = f - y: gradient x / (1 + |x| / c); hessian 1."""
    first, last = share(target.size, thread, n_threads)
    labels, scores = target[first:last], raw[0, first:last]
    g, h = gradient[0, first:last], hessian[0, first:last]
    for i in range(labels.size):
        g[i] = fair(scores[i] - labels[i], c)
        h[i] = 1.0
    multiply(g, weight, first)
    multiply(h, weight, first)


@kernel
def fair_value(target, raw, weight, rows, out, c):
    """Weighted loss of each of ``rows``."""
    for i in range(rows.size):
        row = rows[i]
        ratio = abs(raw[0, row] - target[row]) / c
        out[i] = weight_of(weight, row) * (c * c * (ratio - log(1.0 + ratio)))


@kernel
def log_cosh_gradient(thread, n_threads, sync, target, raw, weight, gradient, hessian):
    """log(cosh(f - y)): gradient tanh(f - y); hessian 1."""
    first, last = share(target.size, thread, n_threads)
    labels, scores = target[first:last], raw[0, first:last]
    g, h = gradient[0, first:last], hessian[0, first:last]
    for i in range(labels.size):
        g[i] = tanh(scores[i] - labels[i])
        h[i] = 1.0
    multiply(g, weight, first)
    multiply(h, weight, first)


@kernel
def log_cosh_value(target, raw, weight, rows, out):
    """Weighted loss of each of ``rows``: |x| + log(1 + e^(-2 |x|)) - log(2)."""
    for i in range(rows.size):
        row = rows[i]
        error = abs(raw[0, row] - target[row])
        out[i] = weight_of(weight, row) * (error + log1p_exp(-2.0 * error) - _LN2)


@kernel
def squared_log_gradient(thread, n_threads, sync, target, raw, weight, gradient, hessian):
    """(f - log(1 + y))^2 / 2: gradient f - log(1 + y), hessian 1."""
    first, last = share(target.size, thread, n_threads)
    labels, scores = target[first:last], raw[0, first:last]
    g, h = gradient[0, first:last], hessian[0, first:last]
    for i in range(labels.size):
        g[i] = scores[i] - log(1.0 + labels[i])
        h[i] = 1.0
    multiply(g, weight, first)
    multiply(h, weight, first)


@kernel
def squared_log_value(target, raw, weight, rows, out):
    """Weighted loss of each of ``rows``."""
    for i in range(rows.size):
        row = rows[i]
        error = raw[0, row] - log(1.0 + target[row])
        out[i] = weight_of(weight, row) * (0.5 * error * error)


@kernel
def poisson_gradient(thread, n_threads, sync, target, raw, weight, gradient, hessian):
    """e^f - y f: gradient e^f - y, hessian e^f."""
    first, last = share(target.size, thread, n_threads)
    labels, scores = target[first:last], raw[0, first:last]
    g, h = gradient[0, first:last], hessian[0, first:last]
    for i in range(labels.size):
        mean = exp(scores[i])
        g[i] = mean - labels[i]
        h[i] = mean
    multiply(g, weight, first)
    multiply(h, weight, first)


@kernel
def poisson_value(target, raw, weight, rows, out):
    """Weighted loss of each of ``rows``."""
    for i in range(rows.size):
        row = rows[i]
        score = raw[0, row]
        out[i] = weight_of(weight, row) * (exp(score) - target[row] * score)


@kernel
def gamma_gradient(thread, n_threads, sync, target, raw, weight, gradient, hessian):
    """f + y e^-f: gradient 1 - y e^-f, hessian y e^-f."""
    first, last = share(target.size, thread, n_threads)
    labels, scores = target[first:last], raw[0, first:last]
    g, h = gradient[0, first:last], hessian[0, first:last]
    for i in range(labels.size):
        ratio = labels[i] * exp(-scores[i])
        g[i] = 1.0 - ratio
        h[i] = ratio
    multiply(g, weight, first)
    multiply(h, weight, first)


@kernel
def gamma_value(target, raw, weight, rows, out):
    """Weighted loss of each of ``rows``."""
    for i in range(rows.size):
        row = rows[i]
        score = raw[0, row]
        out[i] = weight_of(weight, row) * (score + target[row] * exp(-score))


@kernel
def tweedie_gradient(thread, n_threads, sync, target, raw, weight, gradient, hessian, power):
    """e^((2-p) f) / (2-p) - y e^((1-p) f) / (1-p); both terms of the hessian are positive."""
    first, last = share(target.size, thread, n_threads)
    labels, scores = target[first:last], raw[0, first:last]
    g, h = gradient[0, first:last], hessian[0, first:last]
    one, two = 1.0 - power, 2.0 - power
    for i in range(labels.size):
        left, right = labels[i] * exp(one * scores[i]), exp(two * scores[i])
        g[i] = right - left
        h[i] = two * right - one * left
    multiply(g, weight, first)
    multiply(h, weight, first)


@kernel
def tweedie_value(target, raw, weight, rows, out, power):
    """Weighted loss of each of ``rows``."""
    one, two = 1.0 - power, 2.0 - power
    for i in range(rows.size):
        row = rows[i]
        score = raw[0, row]
        loss = exp(two * score) / two - target[row] * exp(one * score) / one
        out[i] = weight_of(weight, row) * loss


@kernel
def cross_entropy_gradient(thread, n_threads, sync, target, raw, weight, gradient, hessian):
    """log(1 + e^f) - y f: gradient p - y, hessian p (1 - p), both without cancellation."""
    first, last = share(target.size, thread, n_threads)
    labels, scores = target[first:last], raw[0, first:last]
    g, h = gradient[0, first:last], hessian[0, first:last]
    for i in range(labels.size):
        e = exp(-abs(scores[i]))
        larger = 1.0 / (1.0 + e)
        smaller = e * larger
        p = larger if scores[i] >= 0.0 else smaller
        q = smaller if scores[i] >= 0.0 else larger
        # p - y = (1 - y) p - y (1 - p)
        g[i] = (1.0 - labels[i]) * p - labels[i] * q
        h[i] = larger * smaller
    multiply(g, weight, first)
    multiply(h, weight, first)


@kernel
def cross_entropy_value(target, raw, weight, rows, out):
    """Weighted loss of each of ``rows``: y log(1 + e^-f) + (1 - y) log(1 + e^f)."""
    for i in range(rows.size):
        row = rows[i]
        y, score = target[row], raw[0, row]
        loss = y * log1p_exp(-score) + (1.0 - y) * log1p_exp(score)
        out[i] = weight_of(weight, row) * loss


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
