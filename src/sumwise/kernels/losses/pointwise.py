"""Losses of one score per row: gradients, hessians and values.

A loss is two functions of a target y and a raw score f: its gradient and hessian, and its value.
Two kernels are made of them. ``<loss>_gradient`` fills the thread's part of the rows;
``<loss>_value`` writes the weighted loss of each of ``rows``. Both take the parameters of a loss as
their last arguments. Raw scores have shape (1, n_rows). An empty ``weight`` stands for weights of
one.
"""

from collections.abc import Callable
from typing import Any

from sumwise.kernels.losses.influence import fair, tanh
from sumwise.kernels.runtime.elementary import exp, log, log1p_exp
from sumwise.kernels.runtime.jit import kernel, merged, rename, routine
from sumwise.kernels.runtime.threads import share

_LN2 = 0.6931471805599453


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


def _make_kernels(
    name: str, derive: Callable[..., Any], measure: Callable[..., Any]
) -> tuple[Any, Any]:
    """Return the kernels of a loss, for gradients and for values.

    ``derive`` returns the gradient and the hessian of a row, ``measure`` its loss. Both are merged
    into the loops, or those of long formulas would not vectorize.
    """
    find_derivatives = merged(rename(derive, f"derive_{name}"))
    find_loss = merged(rename(measure, f"measure_{name}"))

    def fill(thread, n_threads, sync, target, raw, weight, gradient, hessian, *parameters):
        first, last = share(target.size, thread, n_threads)
        labels, scores = target[first:last], raw[0, first:last]
        g, h = gradient[0, first:last], hessian[0, first:last]
        for i in range(labels.size):
            g[i], h[i] = find_derivatives(labels[i], scores[i], *parameters)
        multiply(g, weight, first)
        multiply(h, weight, first)

    def write(target, raw, weight, rows, out, *parameters):
        for i in range(rows.size):
            row = rows[i]
            out[i] = weight_of(weight, row) * find_loss(target[row], raw[0, row], *parameters)

    return kernel(rename(fill, f"{name}_gradient")), kernel(rename(write, f"{name}_value"))


# Two classes: y is 0 or 1.


def _derive_logistic(y, f):
    """log(1 + e^f) - y f: gradient p - y, hessian p (1 - p), both without cancellation.

    |p - y| is the probability of the other class. It is the larger one if the score is on the wrong
    side.
    """
    margin = f if y > 0.5 else -f
    e = exp(-abs(margin))
    larger = 1.0 / (1.0 + e)
    smaller = e * larger
    miss = larger if margin < 0.0 else smaller
    return -miss if y > 0.5 else miss, larger * smaller


def _derive_exponential(y, f):
    """e^(-s f) with s = 2 y - 1: gradient -s e^(-s f), hessian e^(-s f)."""
    e = exp(-f if y > 0.5 else f)
    return -e if y > 0.5 else e, e


logistic_gradient, logistic_value = _make_kernels(
    "logistic", _derive_logistic, lambda y, f: log1p_exp(-f if y > 0.5 else f)
)
exponential_gradient, exponential_value = _make_kernels(
    "exponential", _derive_exponential, lambda y, f: exp(-f if y > 0.5 else f)
)

# Probabilities


def _derive_cross_entropy(y, f):
    """log(1 + e^f) - y f: gradient p - y, hessian p (1 - p), both without cancellation."""
    e = exp(-abs(f))
    larger = 1.0 / (1.0 + e)
    smaller = e * larger
    p = larger if f >= 0.0 else smaller
    q = smaller if f >= 0.0 else larger
    # p - y = (1 - y) p - y (1 - p)
    return (1.0 - y) * p - y * q, larger * smaller


cross_entropy_gradient, cross_entropy_value = _make_kernels(
    "cross_entropy",
    _derive_cross_entropy,
    lambda y, f: y * log1p_exp(-f) + (1.0 - y) * log1p_exp(f),
)

# Errors f - y, with a hessian of 1


def _derive_quantile(y, f, level, size):
    """``size`` times the pinball loss: gradient (1 - level) or -level, 0 if exact."""
    above, below = size * (1.0 - level), size * -level
    return above if f > y else (below if f < y else 0.0), 1.0


def _measure_quantile(y, f, level, size):
    error = y - f
    return size * (level * error if error >= 0.0 else (level - 1.0) * error)


def _measure_huber(y, f, delta):
    error = abs(f - y)
    return 0.5 * error * error if error <= delta else delta * (error - 0.5 * delta)


def _derive_percentage(y, f):
    """|f - y| / max(1, |y|): gradient the sign of f - y over max(1, |y|), 0 if exact."""
    part = 1.0 / max(1.0, abs(y))
    return part if f > y else (-part if f < y else 0.0), 1.0


def _measure_fair(y, f, c):
    """c^2 (|x| / c - log(1 + |x| / c)) of x = f - y."""
    ratio = abs(f - y) / c
    return c * c * (ratio - log(1.0 + ratio))


def _measure_log_cosh(y, f):
    """log(cosh(x)) = |x| + log(1 + e^(-2 |x|)) - log(2) of x = f - y."""
    error = abs(f - y)
    return error + log1p_exp(-2.0 * error) - _LN2


def _measure_squared_log(y, f):
    error = f - log(1.0 + y)
    return 0.5 * error * error


squared_gradient, squared_value = _make_kernels(
    "squared", lambda y, f: (f - y, 1.0), lambda y, f: 0.5 * (f - y) * (f - y)
)
quantile_gradient, quantile_value = _make_kernels("quantile", _derive_quantile, _measure_quantile)
huber_gradient, huber_value = _make_kernels(
    "huber", lambda y, f, delta: (min(max(f - y, -delta), delta), 1.0), _measure_huber
)
percentage_gradient, percentage_value = _make_kernels(
    "percentage", _derive_percentage, lambda y, f: abs(f - y) / max(1.0, abs(y))
)
fair_gradient, fair_value = _make_kernels(
    "fair", lambda y, f, c: (fair(f - y, c), 1.0), _measure_fair
)
log_cosh_gradient, log_cosh_value = _make_kernels(
    "log_cosh", lambda y, f: (tanh(f - y), 1.0), _measure_log_cosh
)
squared_log_gradient, squared_log_value = _make_kernels(
    "squared_log", lambda y, f: (f - log(1.0 + y), 1.0), _measure_squared_log
)

# Positive means e^f


def _derive_poisson(y, f):
    """e^f - y f: gradient e^f - y, hessian e^f."""
    mean = exp(f)
    return mean - y, mean


def _derive_gamma(y, f):
    """f + y e^-f: gradient 1 - y e^-f, hessian y e^-f."""
    ratio = y * exp(-f)
    return 1.0 - ratio, ratio


def _derive_tweedie(y, f, power):
    """e^((2-p) f) / (2-p) - y e^((1-p) f) / (1-p); both terms of the hessian are positive."""
    one, two = 1.0 - power, 2.0 - power
    left, right = y * exp(one * f), exp(two * f)
    return right - left, two * right - one * left


def _measure_tweedie(y, f, power):
    one, two = 1.0 - power, 2.0 - power
    return exp(two * f) / two - y * exp(one * f) / one


poisson_gradient, poisson_value = _make_kernels(
    "poisson", _derive_poisson, lambda y, f: exp(f) - y * f
)
gamma_gradient, gamma_value = _make_kernels("gamma", _derive_gamma, lambda y, f: f + y * exp(-f))
tweedie_gradient, tweedie_value = _make_kernels("tweedie", _derive_tweedie, _measure_tweedie)
