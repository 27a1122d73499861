"""Exact sums by a team of threads: the bits of ``reduce.exact_sum``, without arrays of products."""

import numpy as np

from sumwise.kernels.runtime.elementary import nearest_integer
from sumwise.kernels.runtime.fixed_point import exact_limit, power_scale
from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.threads import Team, share, wait_for_all

# Loops without a branch, which vectorize.


@routine
def _measure(values):
    largest, check = 0.0, 0.0
    for i in range(values.size):
        value = np.float64(values[i])
        largest = max(largest, abs(value))
        check += value * 0.0
    return largest, check


@routine
def _measure_products(values, weight):
    largest, check = 0.0, 0.0
    for i in range(values.size):
        value = values[i] * weight[i]
        largest = max(largest, abs(value))
        check += value * 0.0
    return largest, check


@routine
def _sum(values, scale):
    total = 0
    for i in range(values.size):
        total += nearest_integer(values[i] * scale)
    return total


@routine
def _sum_products(values, weight, scale):
    total = 0
    for i in range(values.size):
        total += nearest_integer(values[i] * weight[i] * scale)
    return total


@kernel
def sum_shares(thread, n_threads, sync, values, weight, found, totals, scales):
    """Sum values times weights, which are one if ``weight`` is empty, as integers under a scale.

    Parameters
    ----------
    values : uint8 or float64 array
    weight : float64 array
    found : float64 array of shape (n_threads, 2), out
        The largest magnitude of each thread's products, and a sum that is zero if all are finite.
    totals : int64 array of shape (n_threads,), out
    scales : float64 array of shape (n_threads,), out
        The scale, once for each thread.
    """
    first, last = share(values.size, thread, n_threads)
    own, factors = values[first:last], weight[first:last]
    largest, check = _measure(own) if weight.size == 0 else _measure_products(own, factors)
    found[thread, 0] = largest
    found[thread, 1] = check
    wait_for_all(sync, n_threads)
    for other in range(n_threads):
        largest = max(largest, found[other, 0])
    scale = power_scale(largest, exact_limit(values.size))
    total = _sum(own, scale) if weight.size == 0 else _sum_products(own, factors, scale)
    totals[thread] = total
    scales[thread] = scale


def sum_exactly(values: np.ndarray, weight: np.ndarray, team: Team) -> float:
    """Return the sum of values times weights (all one if empty); nan if one is not finite."""
    found, totals = np.empty((team.n_threads, 2)), np.empty(team.n_threads, dtype=np.int64)
    scales = np.empty(team.n_threads)
    team.run(sum_shares, values, weight, found, totals, scales)
    if not found[:, 1].sum() == 0.0:
        return np.nan
    return float(totals.sum()) / float(scales[0])
