"""Floats as integers under a power-of-two scale: sums of them depend on no order."""

import numpy as np

from sumwise.kernels.runtime.jit import routine

# Exact values have 62 - ceil(log2(n)) bits, so that n of them cannot overflow an int64; and at
# most 50, so that rounding by adding and subtracting 1.5 * 2**52 is right.
EXACT_BITS = 50
# 1.5 * 2**52: the last bit of a sum with it is worth 1. So the bits of the sum, less those of this
# number, are the other addend rounded to an integer, half to even. AVX2 has no instruction that
# turns floats into int64.
_ROUND, _ROUND_BITS = 6755399441055744.0, np.int64(0x4338000000000000)


@routine
def _power_of_two(exponent):
    return np.int64((np.int64(exponent) + 1023) << 52).view(np.float64)


@routine
def power_scale(maximum, limit):
    """The largest power of two that keeps ``maximum`` times it within ``limit``."""
    if maximum == 0.0:
        return 1.0
    # Infinite if the maximum is subnormal: then its exponent is 1024.
    bits = np.float64(limit / maximum).view(np.int64)
    return _power_of_two(min(max((bits >> 52) - 1023, -1000), 1000))


@routine
def exact_limit(n_rows):
    """The bound for exact values of which ``n_rows`` are summed: 2 ** (62 - ceil(log2(n)))."""
    bits = 62
    while (1 << (62 - bits)) < n_rows:
        bits -= 1
    return _power_of_two(min(bits, EXACT_BITS))


@routine
def _round_to_int64(x):
    """Round half to even; right for |x| < 2**51."""
    return np.float64(x + _ROUND).view(np.int64) - _ROUND_BITS


@routine
def exact_gradient(gradient, scale):
    """The integer that stands for a gradient in exact sums."""
    return _round_to_int64(gradient * scale)


@routine
def exact_hessian(hessian, scale):
    """The integer that stands for a hessian: a positive one never rounds to nothing."""
    return max(_round_to_int64(hessian * scale), 1 if hessian > 0.0 else 0)
