"""Random cuts between the centers of bins."""

import numpy as np
import pytest

from sumwise.kernels.forest.cuts import draw_value, find_bin, gather_bins, is_before, keep_if
from sumwise.kernels.runtime.jit import kernel
from tests.naive.random import uniform

CENTERS = np.array([0.0, 1.0, 2.0, 4.0, 8.0, 16.0])


@kernel
def run_draw(key, centers, low, high):
    value = draw_value(key, centers, low, high)
    return value, find_bin(centers, value, low, high)


@kernel
def run_sides(centers, codes, value, weight, out):
    for i in range(codes.size):
        out[i] = keep_if(is_before((centers, value, 1, 5), codes[i]), weight[i])


@kernel
def run_gather(bins, stride, feature, rows, first, last, codes):
    return gather_bins(bins, stride, feature, rows, first, last, codes)


def test_cuts_lie_between_the_centers():
    drawn = []
    for key in range(200):
        value, split_bin = run_draw(np.uint64(key), CENTERS, 2, 5)
        u = uniform(key, 0)
        assert value == CENTERS[2] * (1 - u) + CENTERS[5] * u
        assert CENTERS[split_bin] <= value < CENTERS[split_bin + 1]
        drawn.append(split_bin)
    # Most cuts are in the widest gap: they are drawn between values, not between bins.
    assert drawn.count(4) > drawn.count(3) > drawn.count(2) > 0


def test_cuts_that_are_rounded_stay_in_the_range():
    value, split_bin = run_draw(np.uint64(1), np.ones(4), 1, 3)
    assert (value, split_bin) == (1.0, 2)
    centers = np.array([0.0, 0.1, np.nextafter(0.1, 1.0), 0.2])
    for key in range(100):
        value, split_bin = run_draw(np.uint64(key), centers, 1, 2)
        assert (value, split_bin) == (0.1, 1)


@pytest.mark.parametrize("value", [1.0, 3.0, 4.0])
def test_sides_of_a_cut(value):
    codes = np.array([5, 1, 2, 3, 1, 4], dtype=np.uint8)
    weight, out = np.arange(1.0, 7.0), np.empty(6)
    run_sides(CENTERS, codes, value, weight, out)
    assert np.array_equal(out, np.where(CENTERS[codes] <= value, weight, 0.0))


def test_bins_of_rows():
    table = np.random.default_rng(0).integers(0, 256, (30, 4)).astype(np.uint8)
    rows, codes = np.arange(29, -1, -1, dtype=np.uint32), np.empty(30, dtype=np.uint8)
    low, high = run_gather(table.reshape(-1), np.uint64(4), np.uint64(2), rows, 5, 20, codes)
    own = table[rows[5:20], 2]
    assert np.array_equal(codes[:15], own)
    assert (low, high) == (own.min(), own.max())
