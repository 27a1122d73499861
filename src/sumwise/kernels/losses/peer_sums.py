"""Parts of the exact sums of ``runtime/reduce.py``, whose rows several processes have.

The scale depends on all rows. So each process measures its own rows; they agree on a scale; then
each sums its rows under it. The integers of all add up to those of a single process.
"""

import numpy as np

from sumwise.kernels.losses.pointwise import weight_of
from sumwise.kernels.runtime.elementary import nearest_integer
from sumwise.kernels.runtime.fixed_point import exact_limit, power_scale
from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.threads import share


@kernel
def measure_products(thread, n_threads, sync, values, weight, largest):
    """Find the largest magnitude of values times weights, which are one if ``weight`` is empty.

    Parameters
    ----------
    values : uint8 or float64 array
    weight : float64 array
    largest : float64 array of shape (n_threads,), out
        That of each thread; inf if one of its products is not finite.
    """
    first, last = share(values.size, thread, n_threads)
    own, factors = values[first:last], weight[first:last]
    high, check = 0.0, 0.0
    for i in range(own.size):
        product = own[i] * weight_of(factors, i)
        high = max(high, abs(product))
        check += product * 0.0
    largest[thread] = high if check == 0.0 else np.inf


@kernel
def sum_products(thread, n_threads, sync, values, weight, scale, totals):
    """Sum values times weights as integers under a scale; ``totals`` has one item per thread."""
    first, last = share(values.size, thread, n_threads)
    own, factors = values[first:last], weight[first:last]
    total = 0
    for i in range(own.size):
        total += nearest_integer(own[i] * weight_of(factors, i) * scale)
    totals[thread] = total


@kernel
def measure_classes(classes, weight, largest):
    """Find the largest weight of each class, and of all; return zero if all are finite.

    Parameters
    ----------
    classes : uint8, int64 or float64 array
        The class of each row.
    weight : float64 array
        Empty if all weights are one.
    largest : float64 array of shape (n_classes + 1,), in and out
        The last is that of all classes.
    """
    check = 0.0
    for i in range(classes.size):
        k, own = np.int64(classes[i]), weight_of(weight, i)
        largest[k] = max(largest[k], abs(own))
        check += own * 0.0
    for k in range(largest.size - 1):
        largest[-1] = max(largest[-1], largest[k])
    return check


@kernel
def sum_classes(classes, weight, scales, totals):
    """Sum the weights of each class, and of all, as integers under scales of their own.

    ``scales`` and ``totals`` are as ``largest`` in :func:`measure_classes`.
    """
    total, scale = totals[-1], scales[-1]
    for i in range(classes.size):
        k, own = np.int64(classes[i]), weight_of(weight, i)
        totals[k] += nearest_integer(own * scales[k])
        total += nearest_integer(own * scale)
    totals[-1] = total


@kernel
def find_scale(largest, n_rows):
    """The scale of a sum over ``n_rows`` of all processes."""
    return power_scale(largest, exact_limit(n_rows))
