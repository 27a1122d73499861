"""Linear models: a pass of coordinate descent, and the scores of rows.

Rows are summed in blocks of a fixed size, and the sums of the blocks are added in order. So no
result depends on the number of threads.
"""

import numpy as np

from sumwise.kernels.runtime.jit import inlined, kernel, routine
from sumwise.kernels.runtime.threads import share, wait_for_all

BLOCK = 4096
_ROWS = 256


@routine
def find_coordinate_step(gradient, hessian, coefficient, l1, l2):
    """The step of a coefficient that minimizes the second-order loss with its penalties."""
    if not hessian > 0.0:
        return 0.0
    slope, curvature = gradient + l2 * coefficient, hessian + l2
    if coefficient - slope / curvature >= 0.0:
        return max(-(slope + l1) / curvature, -coefficient)
    return min(-(slope - l1) / curvature, -coefficient)


@routine
def sum_products(values, gradient, hessian, out):
    """Write the sums of g x and of h x^2; four at a time, because float sums do not vectorize."""
    g0, g1, g2, g3 = 0.0, 0.0, 0.0, 0.0
    h0, h1, h2, h3 = 0.0, 0.0, 0.0, 0.0
    n = values.size // 4 * 4
    for i in range(0, n, 4):
        a, b, c, d = values[i], values[i + 1], values[i + 2], values[i + 3]
        g0 += gradient[i] * a
        g1 += gradient[i + 1] * b
        g2 += gradient[i + 2] * c
        g3 += gradient[i + 3] * d
        h0 += hessian[i] * (a * a)
        h1 += hessian[i + 1] * (b * b)
        h2 += hessian[i + 2] * (c * c)
        h3 += hessian[i + 3] * (d * d)
    for i in range(n, values.size):
        g0 += gradient[i] * values[i]
        h0 += hessian[i] * (values[i] * values[i])
    out[0] = (g0 + g1) + (g2 + g3)
    out[1] = (h0 + h1) + (h2 + h3)


@routine
def move_gradients(values, step, gradient, hessian):
    """Update the gradients of rows after a step of a coefficient."""
    for i in range(values.size):
        gradient[i] += hessian[i] * values[i] * step


@inlined
def add_blocks(sums):
    """The sums of all blocks, in order."""
    gradient, hessian = 0.0, 0.0
    for block in range(sums.shape[0]):
        gradient += sums[block, 0]
        hessian += sums[block, 1]
    return gradient, hessian


@kernel
def descend_coordinates(
    thread, n_threads, sync, columns, gradient, hessian, old, rule, sums, coefficient
):
    """Take a step in every coordinate, in their order: cyclic coordinate descent.

    ``columns`` (n_coordinates, n_rows) begins with ones for the intercept, which has no penalty.
    ``old`` has the coefficients so far, and the new ones are written to ``coefficient``. ``rule``
    is (learning rate, l1, l2). Gradients are overwritten.
    """
    learning_rate, l1, l2 = rule
    n_coordinates, n_rows = columns.shape
    n_blocks = sums.shape[1]
    first, last = share(n_blocks, thread, n_threads)
    step = 0.0
    for f in range(n_coordinates):
        own = sums[f & 1]  # the others may still read what they wrote last
        for block in range(first, last):
            begin, end = block * BLOCK, min((block + 1) * BLOCK, n_rows)
            g, h = gradient[begin:end], hessian[begin:end]
            if step != 0.0:
                move_gradients(columns[f - 1, begin:end], step, g, h)
            sum_products(columns[f, begin:end], g, h, own[block])
        wait_for_all(sync, n_threads)
        slope, curvature = add_blocks(own)
        is_free = f == 0
        step = learning_rate * find_coordinate_step(
            slope, curvature, old[f], 0.0 if is_free else l1, 0.0 if is_free else l2
        )
        if thread == 0:
            coefficient[f] = old[f] + step


@kernel
def add_linear_scores(thread, n_threads, sync, matrix, coefficient, out):
    """Add coefficients (n_outputs, n_features) times values to ``out`` (n_rows, n_outputs).

    Terms are added in the order of the features. A missing value adds nothing.
    """
    n_outputs, n_features = coefficient.shape
    begin, end = share(matrix.n_rows, thread, n_threads)
    values, row_stride, column_stride = matrix.values, matrix.row_stride, matrix.column_stride
    for first in range(begin, end, _ROWS):
        last = min(first + _ROWS, end)
        for k in range(n_outputs):
            for f in range(n_features):
                factor = coefficient[k, f]
                if factor != 0.0:
                    for i in range(first, last):
                        value = np.float64(values[i * row_stride + f * column_stride])
                        out[i, k] += 0.0 if np.isnan(value) else factor * value
