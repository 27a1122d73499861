"""Influence functions: the derivatives of robust losses.

Each is close to x for small errors x, never exceeds a bound, and has a slope of at most 1.
"""

from sumwise.kernels.runtime.elementary import exp
from sumwise.kernels.runtime.jit import routine

# Which of them; ``bound`` is the largest influence.
CLIPPED, FAIR, TANH = 0, 1, 2
# Up to here the series of tanh has an error below 2**-52.
_SMALL = 0.05


@routine
def tanh(x):
    """The hyperbolic tangent, for small x without cancellation."""
    e = exp(-2.0 * abs(x))
    large = (1.0 - e) / (1.0 + e)
    s = x * x
    p = 62.0 / 2835.0
    p = p * s - 17.0 / 315.0
    p = p * s + 2.0 / 15.0
    p = p * s - 1.0 / 3.0
    size = abs(x)
    value = size + size * (s * p) if size < _SMALL else large
    return value if x >= 0.0 else -value


@routine
def fair(x, bound):
    """x / (1 + |x| / bound)."""
    return x / (1.0 + abs(x) / bound)


@routine
def influence(x, kind, bound):
    """The influence of an error."""
    if kind == FAIR:
        return fair(x, bound)
    if kind == TANH:
        return tanh(x)
    return min(max(x, -bound), bound)
