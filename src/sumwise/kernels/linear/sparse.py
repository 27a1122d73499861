"""Linear models on sparse matrices; coefficients are bit-identical to those of dense.py.

Zeros are skipped, which changes no sum. All other terms are added in the order and by the blocks of
the dense matrix, with the same four sums per block.
"""

import numpy as np

from sumwise.kernels.linear.dense import (
    BLOCK,
    add_blocks,
    find_coordinate_step,
    move_gradients,
    sum_products,
)
from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.threads import share, wait_for_all
from sumwise.kernels.table.sparse.columns import find_entry


@routine
def _sum_stored(place, values, first, last, begin, end, gradient, hessian, out):
    """Write the sums of g x and of h x^2 over entries in the rows of one block."""
    g0, g1, g2, g3 = 0.0, 0.0, 0.0, 0.0
    h0, h1, h2, h3 = 0.0, 0.0, 0.0, 0.0
    fours = begin + (end - begin) // 4 * 4
    for e in range(first, last):
        row, value = place[e], values[e]
        g, h = gradient[row] * value, hessian[row] * (value * value)
        which = (row - begin) & 3 if row < fours else 0
        if which == 0:
            g0 += g
            h0 += h
        elif which == 1:
            g1 += g
            h1 += h
        elif which == 2:
            g2 += g
            h2 += h
        else:
            g3 += g
            h3 += h
    out[0] = (g0 + g1) + (g2 + g3)
    out[1] = (h0 + h1) + (h2 + h3)


@kernel
def descend_stored_coordinates(
    thread,
    n_threads,
    sync,
    stored,
    ones,
    gradient,
    hessian,
    old,
    rule,
    sums,
    coefficient,
):
    """Take a step in every coordinate, as ``dense.descend_coordinates`` does.

    ``stored`` has the entries by feature, without zeros and missing values; ``place`` has their
    rows, ascending. Coordinate 0 is the intercept, whose values are ``ones``.
    """
    start, place, values = stored.start, stored.place, stored.values
    learning_rate, l1, l2 = rule
    n_rows, n_blocks = ones.size, sums.shape[1]
    first, last = share(n_blocks, thread, n_threads)
    row_begin, row_end = first * BLOCK, min(last * BLOCK, n_rows)
    own = sums[0]
    for block in range(first, last):
        begin, end = block * BLOCK, min((block + 1) * BLOCK, n_rows)
        sum_products(ones[begin:end], gradient[begin:end], hessian[begin:end], own[block])
    wait_for_all(sync, n_threads)
    slope, curvature = add_blocks(own)
    step = learning_rate * find_coordinate_step(slope, curvature, old[0], 0.0, 0.0)
    if thread == 0:
        coefficient[0] = old[0] + step
    if step != 0.0 and row_begin < row_end:
        rows = slice(row_begin, row_end)
        move_gradients(ones[rows], step, gradient[rows], hessian[rows])
    for f in range(start.size - 1):
        own = sums[(f + 1) & 1]  # the others may still read what they wrote last
        e_first = find_entry(place, start[f], start[f + 1], row_begin)
        e_last = find_entry(place, e_first, start[f + 1], row_end)
        e = e_first
        for block in range(first, last):
            begin, end = block * BLOCK, min((block + 1) * BLOCK, n_rows)
            e_end = e
            while e_end < e_last and place[e_end] < end:
                e_end += 1
            _sum_stored(place, values, e, e_end, begin, end, gradient, hessian, own[block])
            e = e_end
        wait_for_all(sync, n_threads)
        slope, curvature = add_blocks(own)
        step = learning_rate * find_coordinate_step(slope, curvature, old[f + 1], l1, l2)
        if thread == 0:
            coefficient[f + 1] = old[f + 1] + step
        if step != 0.0:
            for e in range(e_first, e_last):
                row = place[e]
                gradient[row] += hessian[row] * values[e] * step


@kernel
def add_stored_scores(thread, n_threads, sync, stored, coefficient, out):
    """Add coefficients times values to ``out``, as ``dense.add_linear_scores`` does.

    ``stored`` has the entries by row, in the order of the features.
    """
    start, place, values = stored.start, stored.place, stored.values
    n_rows, n_outputs = out.shape
    begin, end = share(n_rows, thread, n_threads)
    for row in range(begin, end):
        for k in range(n_outputs):
            total = out[row, k]
            for e in range(start[row], start[row + 1]):
                factor, value = coefficient[k, place[e]], np.float64(values[e])
                if factor != 0.0 and not np.isnan(value):
                    total += factor * value
            out[row, k] = total
