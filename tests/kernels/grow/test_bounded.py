"""Gains under constraints against the naive twin, bit for bit."""

import itertools

import numpy as np
import pytest

from sumwise.kernels.grow import gradients
from sumwise.kernels.grow.bounded import (
    BoundedGradients,
    best_packed_split,
    best_split,
    child_value,
    fill_gains,
    node_score,
    split_gain,
)
from sumwise.kernels.grow.gradients import Gradients
from sumwise.kernels.grow.packed import pack_sums
from sumwise.kernels.runtime.jit import kernel
from tests.naive import split as naive
from tests.naive.constraints import Bounds
from tests.naive.quantize import Quantized

UNITS = (2.0**-12, 2.0**-13)
QUANTIZED = Quantized(None, None, 1 / UNITS[0], 1 / UNITS[1])
OPTIONS = [
    naive.SplitOptions(l1=l1, l2=l2, max_delta_step=step, min_child_weight=1.0)
    for l1, l2, step in [(0.0, 0.0, 0.0), (0.75, 1.3, 0.0), (0.0, 1.0, 0.2), (0.5, 0.0, 0.1)]
]
BOUNDS = [Bounds(), Bounds(upper=0.05), Bounds(-0.1, 0.02), Bounds(lower=0.0), Bounds(0.3, 0.3)]


@kernel
def run_gain(payload, left, totals, min_rows):
    return split_gain(payload, left, totals, min_rows)


@kernel
def run_fill(payload, bins, n, both_ways, totals, min_rows, prefix, right, left):
    fill_gains(payload, bins, n, both_ways, totals, min_rows, prefix, right, left)


@kernel
def run_free_fill(payload, bins, n, both_ways, totals, min_rows, prefix, right, left):
    gradients.fill_gains(payload, bins, n, both_ways, totals, min_rows, prefix, right, left)


@kernel
def run_best(payload, bins, n, both_ways, totals, min_rows, prefix, gains):
    return best_split(payload, bins, n, both_ways, totals, min_rows, prefix, gains)


@kernel
def run_best_packed(payload, bins, n, both_ways, totals, min_rows, prefix, gains):
    return best_packed_split(payload, bins, n, both_ways, totals, min_rows, prefix, gains)


@kernel
def run_node(payload, totals):
    return node_score(payload, totals), child_value(payload, totals)


@kernel
def run_pack(gradient, hessian, count):
    return pack_sums(gradient, hessian, count)


def make_payload(options, bounds, direction):
    none, integers = np.empty(0), np.empty(0, dtype=np.int64)
    inner = Gradients(
        *(none, none, integers, integers, np.zeros((1, 8)), np.zeros((1, 8), dtype=np.int64)),
        *(np.array([*UNITS, 1.0, 1.0]), 0, options.l1, options.l2, options.max_delta_step),
        *(options.min_child_weight, 0.1),
    )
    return BoundedGradients(inner, bounds.lower, bounds.upper, direction)


def make_histogram(rng, n_value_bins, missing):
    count = rng.integers(0, 5, n_value_bins + 1) * np.append(missing, np.ones(n_value_bins, int))
    g = rng.integers(-9000, 9000, count.size) * (count > 0)
    h = rng.integers(0, 9000, count.size) * (count > 0)
    return np.stack([g, h, count], axis=1)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: f"{o.l1}-{o.l2}-{o.max_delta_step}")
@pytest.mark.parametrize("direction", [-1, 0, 1])
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_gains_equal_twin(options, bounds, direction):
    rng = np.random.default_rng(0)
    payload = make_payload(options, bounds, direction)
    prefix, gains = np.empty((3, 256), dtype=np.int64), np.empty((4, 256))
    for n_value_bins, missing in itertools.product((2, 3, 17, 100), (0, 1)):
        histogram = make_histogram(rng, n_value_bins, missing)
        both_ways = bool(histogram[0, 2] > 0)
        candidates = list(naive.list_candidates(n_value_bins, both_ways))
        n = n_value_bins if both_ways else n_value_bins - 1
        bins, totals = histogram.T.ravel(), histogram.sum(axis=0)
        left = naive.sum_left(histogram, candidates)
        # The split of missing from values has no order to keep.
        order = np.array([0 if b == n_value_bins else direction for b, _ in candidates])
        expected = naive.split_gain(left, totals - left, QUANTIZED, options, bounds, order)
        expected = np.where(np.isnan(expected), -np.inf, expected)
        run_fill(payload, bins, n, both_ways, totals, 1, prefix, gains[0], gains[1])
        found = gains[:2, :n].T.ravel() if both_ways else gains[0, :n]
        assert found.tolist() == expected.tolist()
        for i, (split_bin, _) in enumerate(candidates):
            if split_bin < n_value_bins:
                assert run_gain(payload, left[i], totals, 1) == expected[i]
        best = run_best(payload, bins, n, both_ways, totals, 1, prefix, gains)
        assert best[0] == expected.max()
        if best[0] > -np.inf:
            assert best[1:] == candidates[int(np.argmax(expected))]
        words = bins.copy()
        words[: n_value_bins + 1] = [run_pack(*map(int, sums)) for sums in histogram]
        packed = run_best_packed(payload, words, n, both_ways, totals, 1, prefix, gains)
        assert packed[0] == best[0]
        assert packed == best or best[0] == -np.inf


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: f"{o.l1}-{o.l2}-{o.max_delta_step}")
@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_scores_and_values_equal_twin(options, bounds):
    rng = np.random.default_rng(1)
    payload = make_payload(options, bounds, 1)
    for totals in rng.integers(1, 10**5, (30, 3)) * [rng.choice([-1, 1]), 1, 1]:
        score, value = run_node(payload, totals)
        assert score == naive.score_sums(totals, QUANTIZED, options, bounds)
        assert value == naive.value_sums(totals, QUANTIZED, options, bounds)[0]
        assert bounds.lower <= value <= bounds.upper


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: f"{o.l1}-{o.l2}-{o.max_delta_step}")
def test_bounds_that_do_not_bind_change_no_bit(options):
    rng = np.random.default_rng(2)
    histogram = make_histogram(rng, 50, 1)
    bins, totals = histogram.T.ravel(), histogram.sum(axis=0)
    prefix = np.empty((3, 256), dtype=np.int64)
    wide = make_payload(options, Bounds(-1e9, 1e9), 0)
    found, expected = np.empty((2, 256)), np.empty((2, 256))
    run_fill(wide, bins, 50, True, totals, 1, prefix, found[0], found[1])
    run_free_fill(wide.gradients, bins, 50, True, totals, 1, prefix, expected[0], expected[1])
    assert found[:, :50].tolist() == expected[:, :50].tolist()
