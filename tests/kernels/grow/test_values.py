"""Exact sums and values of leaves, on numbers that can be checked by hand."""

import numpy as np
import pytest

from sumwise.kernels.grow.layout import Gradients
from sumwise.kernels.grow.values import set_value, sum_rows
from sumwise.kernels.runtime.jit import kernel


@kernel
def run_value(payload, sums, value):
    return set_value(payload, sums, value)


@kernel
def run_sum(payload, rows, leaf, exact, sums):
    sum_rows(payload, rows, leaf, exact, sums)


def make_payload(g, h):
    """Gradients and hessians that are whole numbers in exact units."""
    ranges, sums_of_threads = np.zeros((1, 8)), np.zeros((1, 8), dtype=np.int64)
    units, rules = np.array([1.0, 1.0, 2.0**-40, 2.0**-41]), (0, 0.5, 1.0, 0.0, 0.0, 0.1, 0.0)
    return Gradients(
        *(g * 2.0**-40, h * 2.0**-41, g, h), ranges, sums_of_threads, units, *rules, np.empty(0)
    )


def test_exact_sums_and_values():
    g, h = np.array([2**41, -(2**42), 2**39, 7]), np.array([2**41, 2**42, 2**41, 9])
    payload, exact = make_payload(g, h), np.empty((2, 256), dtype=np.int64)
    sums = np.ones((2, 3), dtype=np.int64)
    leaf = np.array([1, 1, 1, 0], dtype=np.uint32)
    run_sum(payload, np.array([0, 1, 2, 3], dtype=np.uint32), leaf, exact, sums)
    assert sums.tolist() == [[8, 10, 1], [1 + sum(g[:3]), 1 + sum(h[:3]), 1]]
    value = np.empty(1)
    sums -= 1
    # G = 2 - 4 + 0.5, H = 1 + 2 + 1
    assert run_value(payload, sums[1], value) == 4.0
    assert value[0] == 0.1 * ((1.5 - 0.5) / (4.0 + 1.0))


@pytest.mark.parametrize("rows", [np.arange(3, 90), np.arange(0, 100, 3), np.arange(0)], ids=len)
def test_sums_of_rows_with_and_without_gaps(rows):
    rng = np.random.default_rng(0)
    g, h = rng.integers(-(2**45), 2**45, 100), rng.integers(0, 2**45, 100)
    leaf = rng.integers(0, 4, 100)
    sums, exact = np.zeros((4, 3), dtype=np.int64), np.empty((3, 16), dtype=np.int64)
    run_sum(make_payload(g, h), rows.astype(np.uint32), leaf.astype(np.uint32), exact, sums)
    of_leaf = [rows[leaf[rows] == k] for k in range(4)]
    assert sums.tolist() == [[g[own].sum(), h[own].sum(), 0] for own in of_leaf]
