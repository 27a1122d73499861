"""Exact sums and values of leaves, on numbers that can be checked by hand."""

import numpy as np

from sumwise.kernels.grow.layout import Gradients
from sumwise.kernels.grow.values import set_value, sum_rows
from sumwise.kernels.runtime.jit import kernel


@kernel
def run_value(payload, sums, value):
    return set_value(payload, sums, value)


@kernel
def run_sum(payload, rows, leaf, sums):
    sum_rows(payload, rows, leaf, sums)


def test_exact_sums_and_values():
    g, h = np.array([2**41, -(2**42), 2**39, 7]), np.array([2**41, 2**42, 2**41, 9])
    ranges, sums_of_threads = np.zeros((1, 8)), np.zeros((1, 8), dtype=np.int64)
    units, rules = np.array([1.0, 1.0, 2.0**-40, 2.0**-41]), (0, 0.5, 1.0, 0.0, 0.0, 0.1, 0.0)
    payload = Gradients(
        *(g * 2.0**-40, h * 2.0**-41, g, h), ranges, sums_of_threads, units, *rules, np.empty(0)
    )
    sums = np.ones((2, 3), dtype=np.int64)
    leaf = np.array([1, 1, 1, 0], dtype=np.uint32)
    run_sum(payload, np.array([0, 1, 2, 3], dtype=np.uint32), leaf, sums)
    assert sums.tolist() == [[8, 10, 1], [1 + sum(g[:3]), 1 + sum(h[:3]), 1]]
    value = np.empty(1)
    sums -= 1
    # G = 2 - 4 + 0.5, H = 1 + 2 + 1
    assert run_value(payload, sums[1], value) == 4.0
    assert value[0] == 0.1 * ((1.5 - 0.5) / (4.0 + 1.0))
