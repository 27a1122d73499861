"""Turn gradients and hessians into integers, once per tree.

Two sets of integers: packed ones of 14 bits, which histograms add, and exact ones of up to 50
bits, from which leaf values come. Both are rounded to nearest under a power-of-two scale taken
from the global maximum, so no thread count and no order of rows changes them.
"""

import numpy as np

from sumwise.kernels.grow.histogram import pack_record, unpack_record
from sumwise.kernels.grow.layout import (
    GRADIENT_LIMIT,
    HEAVY_TAIL,
    HESSIAN_LIMIT,
    LARGEST_GRADIENT,
)
from sumwise.kernels.runtime.fixed_point import (
    exact_gradient,
    exact_hessian,
    exact_limit,
    power_scale,
)
from sumwise.kernels.runtime.jit import inlined, routine
from sumwise.kernels.runtime.threads import share, wait_for_all

_WITHOUT_SIGN, _INFINITE = np.int64(0x7FFFFFFFFFFFFFFF), np.int64(0x7FF0000000000000)
# Sums of a thread's rows in ``payload.sums``: of |g| and h in exact values, of packed g and h, and
# of g in exact values, if histograms need these.
_SIZE_G, _SUM_H, _PACKED_G, _PACKED_H, _SUM_G = range(5)
# Rows at a time: their records are still in the nearest cache when they are summed.
_BLOCK = 2048


@inlined
def has_no_gap(rows):
    """Whether rows, which ascend, follow each other: loops need not look them up and vectorize."""
    return rows.size > 0 and np.int64(rows[rows.size - 1]) - np.int64(rows[0]) == rows.size - 1


@routine
def _find_maxima(gradient, hessian, rows):
    """Return max |g|, max h, and whether all are finite.

    The bits of floats that are not negative are ordered as the floats are, infinity and then nan
    last. A maximum of floats does not vectorize; one of integers does.
    """
    g_bits, h_bits = gradient.view(np.int64), hessian.view(np.int64)
    size_g, max_h, size_h = np.int64(0), np.int64(0), np.int64(0)
    if has_no_gap(rows):
        first = np.int64(rows[0])
        g_bits, h_bits = g_bits[first : first + rows.size], h_bits[first : first + rows.size]
        for i in range(rows.size):
            size_g = max(size_g, g_bits[i] & _WITHOUT_SIGN)
            max_h = max(max_h, h_bits[i])
            size_h = max(size_h, h_bits[i] & _WITHOUT_SIGN)
    else:
        for i in range(rows.size):
            size_g = max(size_g, g_bits[rows[i]] & _WITHOUT_SIGN)
            max_h = max(max_h, h_bits[rows[i]])
            size_h = max(size_h, h_bits[rows[i]] & _WITHOUT_SIGN)
    is_finite = max(size_g, size_h) < _INFINITE
    return np.int64(size_g).view(np.float64), np.int64(max_h).view(np.float64), is_finite


@routine
def _pack_rows(payload, rows, scales, exact_scales, records):
    """Write the records of rows; return the sums of |g| and h in exact values."""
    scale_g, scale_h = scales
    exact_scale_g, exact_scale_h = exact_scales
    sum_g, sum_h = np.int64(0), np.int64(0)
    n = rows.size
    if has_no_gap(rows):
        first = np.int64(rows[0])
        gradient, hessian = payload.gradient[first : first + n], payload.hessian[first : first + n]
        for i in range(n):
            g, h = gradient[i], hessian[i]
            sum_g += abs(exact_gradient(g, exact_scale_g))
            sum_h += exact_hessian(h, exact_scale_h)
            packed_g, packed_h = exact_gradient(g, scale_g), exact_hessian(h, scale_h)
            records[i] = pack_record(first + i, packed_g, packed_h)
        return sum_g, sum_h
    for i in range(n):
        g, h = payload.gradient[rows[i]], payload.hessian[rows[i]]
        sum_g += abs(exact_gradient(g, exact_scale_g))
        sum_h += exact_hessian(h, exact_scale_h)
        packed_g, packed_h = exact_gradient(g, scale_g), exact_hessian(h, scale_h)
        records[i] = pack_record(np.int64(rows[i]), packed_g, packed_h)
    return sum_g, sum_h


@routine
def _sum_records(records):
    """Return the sums of packed g and h: a loop of its own, because both vectorize then."""
    sum_g, sum_h = np.int64(0), np.int64(0)
    for i in range(records.size):
        g, h = unpack_record(records[i])
        sum_g += g
        sum_h += h
    return sum_g, sum_h


@routine
def quantize_rows(payload, thread, n_threads, sync, rows, records):
    """Fill records and units; return (all in range, histograms need exact values).

    Where histograms need them the exact values are kept as well.
    """
    n_rows = rows.size
    first, last = share(n_rows, thread, n_threads)
    own = rows[first:last]
    max_g, max_h, finite = _find_maxima(payload.gradient, payload.hessian, own)
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

    limit = exact_limit(n_rows)
    scales = power_scale(max_g, float(GRADIENT_LIMIT)), power_scale(max_h, float(HESSIAN_LIMIT))
    exact_scales = power_scale(max_g, limit), power_scale(max_h, limit)
    own_sums, own_records = payload.sums[thread], records[first:last]
    own_sums[: _SUM_G + 1] = 0
    for start in range(0, own.size, _BLOCK):
        block = own_records[start : start + _BLOCK]
        size_g, sum_h = _pack_rows(
            payload, own[start : start + _BLOCK], scales, exact_scales, block
        )
        packed_g, packed_h = _sum_records(block)
        own_sums[_SIZE_G] += size_g
        own_sums[_SUM_H] += sum_h
        own_sums[_PACKED_G] += packed_g
        own_sums[_PACKED_H] += packed_h
    wait_for_all(sync, n_threads)
    size_g, sum_h = 0, 0
    for t in range(n_threads):
        size_g += payload.sums[t, _SIZE_G]
        sum_h += payload.sums[t, _SUM_H]

    heavy_g = max_g * exact_scales[0] * n_rows > HEAVY_TAIL * size_g
    heavy_h = max_h * exact_scales[1] * n_rows > HEAVY_TAIL * sum_h
    exact = n_rows <= payload.exact_rows or heavy_g or heavy_h
    if exact:
        sum_g = np.int64(0)
        for i in range(own.size):
            row = own[i]
            exact_g = exact_gradient(payload.gradient[row], exact_scales[0])
            sum_g += exact_g
            payload.exact_gradient[row] = exact_g
            payload.exact_hessian[row] = exact_hessian(payload.hessian[row], exact_scales[1])
        own_sums[_SUM_G] = sum_g
        wait_for_all(sync, n_threads)
    if thread == 0:
        units = payload.units
        units[2], units[3] = 1.0 / exact_scales[0], 1.0 / exact_scales[1]
        units[0] = units[2] if exact else 1.0 / scales[0]
        units[1] = units[3] if exact else 1.0 / scales[1]
    return True, exact


@routine
def sum_root(payload, n_threads, n_rows, exact, totals):
    """Write the sums of all rows as histograms have them, after :func:`quantize_rows`."""
    totals[0], totals[1], totals[2] = 0, 0, n_rows
    for t in range(n_threads):
        totals[0] += payload.sums[t, _SUM_G if exact else _PACKED_G]
        totals[1] += payload.sums[t, _SUM_H if exact else _PACKED_H]
