"""Turn gradients and hessians into integers, once a round.

Two sets of integers: packed ones of 14 bits, which histograms add, and exact ones of up to 50
bits, from which leaf values come. Both are rounded to nearest under a power-of-two scale taken
from the global maximum, so no thread count and no order of rows changes them.
"""

import math

import numpy as np

from sumwise.kernels.elementary import round_to_integer
from sumwise.kernels.histogram import pack_record
from sumwise.kernels.jit import routine
from sumwise.kernels.layout import (
    EXACT_BITS,
    GRADIENT_LIMIT,
    HEAVY_TAIL,
    HESSIAN_LIMIT,
    LARGEST_GRADIENT,
)
from sumwise.kernels.threads import share, wait_for_all


@routine
def power_scale(maximum, limit):
    """The largest power of two that keeps ``maximum`` times it within ``limit``."""
    if maximum == 0.0:
        return 1.0
    ratio = limit / maximum
    if ratio == np.inf:  # the maximum is subnormal
        return math.ldexp(1.0, 1000)
    exponent = math.frexp(ratio)[1] - 1
    return math.ldexp(1.0, min(max(exponent, -1000), 1000))


@routine
def exact_limit(n_rows):
    """The bound for exact values of which ``n_rows`` are summed: 2 ** (62 - ceil(log2(n)))."""
    bits = 62
    while (1 << (62 - bits)) < n_rows:
        bits -= 1
    return math.ldexp(1.0, min(bits, EXACT_BITS))


@routine
def _find_maxima(gradient, hessian, rows, first, last):
    """Return max |g|, max h, and whether all are finite."""
    max_g, max_h, total = 0.0, 0.0, 0.0
    for i in range(first, last):
        row = rows[i]
        max_g = max(max_g, abs(gradient[row]))
        max_h = max(max_h, hessian[row])
        # inf or nan times zero is nan: the sum stays zero just as long as all are finite
        total += gradient[row] * 0.0 + hessian[row] * 0.0
    return max_g, max_h, total == 0.0


@routine
def quantize_rows(payload, thread, n_threads, sync, rows, records):
    """Fill records, exact values and units; return (all in range, histograms need exact values)."""
    n_rows = rows.size
    first, last = share(n_rows, thread, n_threads)
    max_g, max_h, finite = _find_maxima(payload.gradient, payload.hessian, rows, first, last)
    ranges = payload.ranges
    ranges[thread, 0] = max_g
    ranges[thread, 1] = max_h
    ranges[thread, 2] = 0.0 if finite else 1.0
    wait_for_all(sync, n_threads)
    for t in range(n_threads):
        max_g = max(max_g, ranges[t, 0])
        max_h = max(max_h, ranges[t, 1])
        finite = finite and ranges[t, 2] == 0.0
    if not finite or max(max_g, max_h) > LARGEST_GRADIENT:
        return False, True

    scale_g = power_scale(max_g, float(GRADIENT_LIMIT))
    scale_h = power_scale(max_h, float(HESSIAN_LIMIT))
    exact_scale_g = power_scale(max_g, exact_limit(n_rows))
    exact_scale_h = power_scale(max_h, exact_limit(n_rows))
    sum_g, sum_h = 0, 0
    for i in range(first, last):
        row = rows[i]
        g, h = payload.gradient[row], payload.hessian[row]
        floor = 1 if h > 0.0 else 0  # a positive hessian never rounds to nothing
        exact_g = np.int64(round_to_integer(g * exact_scale_g))
        exact_h = max(np.int64(round_to_integer(h * exact_scale_h)), floor)
        payload.exact_gradient[row] = exact_g
        payload.exact_hessian[row] = exact_h
        sum_g += abs(exact_g)
        sum_h += exact_h
        packed_g = np.int64(round_to_integer(g * scale_g))
        packed_h = max(np.int64(round_to_integer(h * scale_h)), floor)
        records[i] = pack_record(row, packed_g, packed_h)
    payload.sums[thread, 0] = sum_g
    payload.sums[thread, 1] = sum_h
    wait_for_all(sync, n_threads)
    sum_g, sum_h = 0, 0
    for t in range(n_threads):
        sum_g += payload.sums[t, 0]
        sum_h += payload.sums[t, 1]

    heavy_g = max_g * exact_scale_g * n_rows > HEAVY_TAIL * sum_g
    heavy_h = max_h * exact_scale_h * n_rows > HEAVY_TAIL * sum_h
    exact = n_rows <= payload.exact_rows or heavy_g or heavy_h
    if thread == 0:
        units = payload.units
        units[2], units[3] = 1.0 / exact_scale_g, 1.0 / exact_scale_h
        units[0] = units[2] if exact else 1.0 / scale_g
        units[1] = units[3] if exact else 1.0 / scale_h
    return True, exact
