"""Gains and leaf values against the naive twin, bit for bit."""

import itertools

import numpy as np
import pytest

from sumwise.kernels.grow.gain import (
    Limits,
    best_packed_split,
    best_split,
    child_value,
    fill_gains,
    leaf_value,
    node_score,
    split_gain,
)
from sumwise.kernels.grow.packed import pack_sums
from sumwise.kernels.grow.split import sum_left
from sumwise.kernels.runtime.jit import kernel
from tests.naive import split as naive
from tests.naive.constraints import Bounds
from tests.naive.quantize import Quantized

OPTIONS = [
    naive.SplitOptions(l1=l1, l2=l2, max_delta_step=step, min_samples_leaf=n, min_child_weight=w)
    for l1, l2, step, (n, w) in itertools.product(
        [0.0, 0.75], [0.0, 1.3], [0.0, 0.2], [(1, 0.0), (4, 0.0), (1, 3.0)]
    )
]
BOUNDS = [Bounds(), Bounds(upper=0.05), Bounds(-0.1, 0.02), Bounds(lower=0.0), Bounds(0.3, 0.3)]
UNITS = (2.0**-12, 2.0**-13)
QUANTIZED = Quantized(None, None, 1 / UNITS[0], 1 / UNITS[1])


@kernel
def run_fill(limits, bins, n_candidates, both_ways, totals, prefix, right, left):
    fill_gains(limits, bins, n_candidates, both_ways, totals, prefix, right, left)


@kernel
def run_gain(limits, left, totals):
    return split_gain(limits, left, totals)


@kernel
def run_best(limits, bins, n, both_ways, totals, prefix, gains):
    return best_split(limits, bins, n, both_ways, totals, prefix, gains)


@kernel
def run_best_packed(limits, bins, n, both_ways, totals, prefix, gains):
    return best_packed_split(limits, bins, n, both_ways, totals, prefix, gains)


@kernel
def run_node(limits, totals):
    return node_score(limits, totals), child_value(limits, totals)


@kernel
def run_value(gradient, hessian, l1, l2, max_step):
    return leaf_value(gradient, hessian, l1, l2, max_step)


@kernel
def run_pack(gradient, hessian, count):
    return pack_sums(gradient, hessian, count)


@kernel
def run_sum_left(bins, n_stats, split_bin, missing_left, left):
    sum_left(bins, n_stats, split_bin, missing_left, left)


def make_limits(options, bounds=BOUNDS[0], direction=0):
    penalties = (options.l1, options.l2, options.max_delta_step, options.min_child_weight)
    smoothing = (0.0, 0.0)
    rules = (float(bounds.lower), float(bounds.upper), float(direction))
    return Limits(*UNITS, *map(float, penalties), options.min_rows, *smoothing, *rules)


def make_histogram(rng, n_value_bins, missing):
    count = rng.integers(0, 5, n_value_bins + 1)
    if not missing:
        count[0] = 0
    g = rng.integers(-9000, 9000, count.size) * (count > 0)
    h = rng.integers(0, 9000, count.size) * (count > 0)
    return np.stack([g, h, count], axis=1)


def check_gains(options, bounds, direction, n_value_bins, histogram):
    limits = make_limits(options, bounds, direction)
    both_ways = bool(histogram[0, 2] > 0)
    candidates = list(naive.list_candidates(n_value_bins, both_ways))
    n = n_value_bins if both_ways else n_value_bins - 1
    gains, prefix = np.full((4, 256), 7.0), np.empty((3, 256), dtype=np.int64)
    bins, totals = histogram.T.ravel(), histogram.sum(axis=0)
    run_fill(limits, bins, n, both_ways, totals, prefix, gains[0], gains[1])
    assert np.all(gains[0, n:] == 7)
    if not candidates:
        return
    left = naive.sum_left(histogram, candidates)
    # A split of all values against the missing ones has no order to keep.
    order = np.array([0 if b == n_value_bins else direction for b, _ in candidates])
    expected = naive.split_gain(left, totals - left, QUANTIZED, options, bounds, order)
    expected = np.where(np.isnan(expected), -np.inf, expected)
    found = gains[:2, :n].T.ravel() if both_ways else gains[0, :n]
    assert found.tolist() == expected.tolist()
    assert both_ways or np.all(gains[1] == 7)  # not asked for
    # one candidate alone gains the same
    for i, (split_bin, missing_left) in enumerate(candidates):
        sums = np.empty(3, dtype=np.int64)
        run_sum_left(bins, 3, split_bin, missing_left, sums)
        assert sums.tolist() == left[i].tolist()
        if split_bin < n_value_bins:
            assert run_gain(limits, sums, totals) == expected[i]
    # and the best of them is the first with the highest gain, packed or not
    best = run_best(limits, bins, n, both_ways, totals, prefix, gains)
    assert best[0] == expected.max()
    if best[0] > -np.inf:
        assert best[1:] == candidates[int(np.argmax(expected))]
    words = bins.copy()
    words[: n_value_bins + 1] = [run_pack(*map(int, sums)) for sums in histogram]
    packed = run_best_packed(limits, words, n, both_ways, totals, prefix, gains)
    assert packed == best or packed[0] == best[0] == -np.inf


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(map(str, vars(o).values())))
@pytest.mark.parametrize("missing", [False, True])
def test_gains_equal_twin(options, missing):
    rng = np.random.default_rng(0)
    for n_value_bins in (1, 2, 3, 17, 255):
        histogram = make_histogram(rng, n_value_bins, missing)
        check_gains(options, BOUNDS[0], 0, n_value_bins, histogram)


@pytest.mark.parametrize("options", OPTIONS[::5], ids=lambda o: f"{o.l1}-{o.l2}-{o.max_delta_step}")
@pytest.mark.parametrize("direction", [-1, 0, 1])
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_gains_under_constraints_equal_twin(options, bounds, direction):
    rng = np.random.default_rng(0)
    for n_value_bins, missing in itertools.product((2, 3, 17, 100), (False, True)):
        histogram = make_histogram(rng, n_value_bins, missing)
        check_gains(options, bounds, direction, n_value_bins, histogram)


@pytest.mark.parametrize("options", OPTIONS[::3], ids=lambda o: f"{o.l1}-{o.l2}-{o.max_delta_step}")
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_scores_and_values_equal_twin(options, bounds):
    rng = np.random.default_rng(1)
    limits = make_limits(options, bounds, 1)
    sums = [(0, 0, 0), (5, 0, 1), (-5, 0, 1), (0, 5, 1), (2**40, 2**40, 9)]
    sums += [(int(rng.integers(-(10**6), 10**6)), int(rng.integers(10**6)), 5) for _ in range(50)]
    for totals in map(np.array, sums):
        score, value = run_node(limits, totals)
        assert score == naive.score_sums(totals, QUANTIZED, options, bounds)
        assert value == naive.value_sums(totals, QUANTIZED, options, bounds)[0]
        assert bounds.lower <= value <= bounds.upper
        g, h = naive.to_floats(totals, QUANTIZED)
        found = run_value(float(g), float(h), options.l1, options.l2, options.max_delta_step)
        assert found == naive.leaf_weight(g, h, options)


@pytest.mark.parametrize("options", OPTIONS[::3], ids=lambda o: f"{o.l1}-{o.l2}-{o.max_delta_step}")
def test_bounds_that_do_not_bind_change_no_bit(options):
    histogram = make_histogram(np.random.default_rng(2), 50, True)
    bins, totals = histogram.T.ravel(), histogram.sum(axis=0)
    prefix, gains = np.empty((3, 256), dtype=np.int64), np.empty((2, 2, 256))
    for bounds, (right, left) in zip((BOUNDS[0], Bounds(-1e9, 1e9)), gains, strict=True):
        run_fill(make_limits(options, bounds), bins, 50, True, totals, prefix, right, left)
    assert gains[0, :, :50].tolist() == gains[1, :, :50].tolist()


@pytest.mark.parametrize("gradient", [5.0, -5.0])
def test_no_curvature_means_no_value(gradient):
    for step in (0.0, 1.0):
        assert run_value(gradient, 0.0, 0.0, 0.0, step) == 0.0
