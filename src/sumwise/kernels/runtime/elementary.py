"""exp and log as fixed sequences of IEEE operations, accurate to about one unit in the last place.

The library functions differ between platforms in the last bit, and the model's bytes would follow.
These have no branches, so that loops over them vectorize. Integers and floats are converted by
their bits: AVX2 has no such instructions for int64 and float64, and a loop would convert one by
one.
"""

import numpy as np

from sumwise.kernels.runtime.jit import kernel, routine

_LOG2E = 1.4426950408889634
_LN2_HIGH = 6.93147180369123816490e-01  # the low 32 bits are zero: k * _LN2_HIGH is exact
_LN2_LOW = 1.90821492927058770002e-10
_ROUND = 6755399441055744.0  # 1.5 * 2**52: adding it rounds to an integer
_ROUND_BITS = np.int64(0x4338000000000000)
# The bits of 2**52, and of 2**84 + 2**63; their values together.
_LOW_BITS, _HIGH_BITS = np.uint64(0x4330000000000000), np.uint64(0x4530000080000000)
_OF_BITS = 2.0**84 + 2.0**63 + 2.0**52
_HALF, _LOW_HALF = np.uint64(32), np.uint64(0xFFFFFFFF)
_SQRT_HALF_BITS = np.int64(0x3FE6A09E667F3BCD)


@routine
def round_to_integer(x):
    """Round half to even; right for |x| < 2**51."""
    return (x + _ROUND) - _ROUND


@routine
def nearest_integer(x):
    """Round half to even, to an int64; right for |x| < 2**51."""
    return np.float64(x + _ROUND).view(np.int64) - _ROUND_BITS


@routine
def float_of(integer):
    """The float64 nearest to an int64: both halves are exact, and their sum is rounded once."""
    bits = np.uint64(integer)
    low = np.uint64((bits & _LOW_HALF) | _LOW_BITS).view(np.float64)
    high = np.uint64((bits >> _HALF) ^ _HIGH_BITS).view(np.float64)
    return (high - _OF_BITS) + low


@routine
def exp(x):
    """e to the x, for x clipped to [-708, 709]: the result is a positive normal number."""
    x = min(max(x, -708.0), 709.0)
    power = x * _LOG2E
    k = round_to_integer(power)
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    # Taylor series on |r| <= ln(2) / 2; the first term left out is below 2**-57.
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    value = 1.0 + (r + (r * r) * p)
    return value * np.int64((nearest_integer(power) + 1023) << 52).view(np.float64)


@routine
def log(x):
    """Natural logarithm of a positive normal number."""
    bits = np.float64(x).view(np.int64)
    # x = m * 2**k with m in [sqrt(1/2), sqrt(2)), so that log(m) is small where x is near 1.
    k = (bits - _SQRT_HALF_BITS) >> 52
    m = np.int64(bits - (k << 52)).view(np.float64)
    f = (m - 1.0) / (m + 1.0)
    s = f * f
    # log(m) = 2 atanh(f) = 2 f (1 + s/3 + s^2/5 + ...), s < 0.0295
    p = 1.0 / 23.0
    p = p * s + 1.0 / 21.0
    p = p * s + 1.0 / 19.0
    p = p * s + 1.0 / 17.0
    p = p * s + 1.0 / 15.0
    p = p * s + 1.0 / 13.0
    p = p * s + 1.0 / 11.0
    p = p * s + 1.0 / 9.0
    p = p * s + 1.0 / 7.0
    p = p * s + 1.0 / 5.0
    p = p * s + 1.0 / 3.0
    k_float = np.float64(k)
    return k_float * _LN2_HIGH + (2.0 * f + (2.0 * f * (s * p) + k_float * _LN2_LOW))


@routine
def log1p_exp(x):
    """log(1 + exp(x)) without overflow and without loss for very negative x."""
    e = exp(-abs(x))
    small = e - 0.5 * e * e
    return max(x, 0.0) + (small if e < 1e-6 else log(1.0 + e))


@kernel
def natural_log(x):
    """:func:`log` for Python."""
    return log(x)
