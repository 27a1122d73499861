"""Gains and leaf values of boosting against the naive twin, bit for bit."""

import itertools

import numpy as np
import pytest

from sumwise.kernels.grow.gradients import (
    Gradients,
    fill_gains,
    leaf_weight,
    node_score,
    set_value,
    split_gain,
    sum_rows,
)
from sumwise.kernels.grow.split import best_candidate, sum_left
from sumwise.kernels.runtime.jit import kernel
from tests.naive import split as naive
from tests.naive.quantize import Quantized

OPTIONS = [
    naive.SplitOptions(l1=l1, l2=l2, max_delta_step=step, min_samples_leaf=n, min_child_weight=w)
    for l1, l2, step, (n, w) in itertools.product(
        [0.0, 0.75], [0.0, 1.3], [0.0, 0.2], [(1, 0.0), (4, 0.0), (1, 3.0)]
    )
]
UNITS = (2.0**-12, 2.0**-13)


@kernel
def run_fill(payload, bins, n_candidates, both_ways, totals, min_rows, prefix, right, left):
    fill_gains(payload, bins, n_candidates, both_ways, totals, min_rows, prefix, right, left)


@kernel
def run_gain(payload, left, totals, min_rows):
    return split_gain(payload, left, totals, min_rows)


@kernel
def run_score(payload, totals):
    return node_score(payload, totals)


@kernel
def run_weight(gradient, hessian, l1, l2, max_step):
    return leaf_weight(gradient, hessian, l1, l2, max_step)


@kernel
def run_value(payload, sums, value):
    return set_value(payload, sums, value)


@kernel
def run_sum(payload, rows, leaf, sums):
    sum_rows(payload, rows, leaf, sums)


@kernel
def run_best(n_candidates, both_ways, right, left):
    return best_candidate(n_candidates, both_ways, right, left)


@kernel
def run_sum_left(bins, n_stats, split_bin, missing_left, left):
    sum_left(bins, n_stats, split_bin, missing_left, left)


def make_payload(options, exact=((), ()), learning_rate=1.0):
    gradient, hessian = (np.array(values, dtype=np.int64) for values in exact)
    return Gradients(
        *(gradient * 2.0**-40, hessian * 2.0**-41, gradient, hessian),
        *(np.zeros((1, 8)), np.zeros((1, 8), dtype=np.int64)),
        np.array([*UNITS, 2.0**-40, 2.0**-41]),
        0,
        options.l1,
        options.l2,
        options.max_delta_step,
        options.min_child_weight,
        learning_rate,
    )


def make_histogram(rng, n_value_bins, missing):
    count = rng.integers(0, 5, n_value_bins + 1)
    if not missing:
        count[0] = 0
    g = rng.integers(-9000, 9000, count.size) * (count > 0)
    h = rng.integers(0, 9000, count.size) * (count > 0)
    return np.stack([g, h, count], axis=1)


def twin_gains(histogram, candidates, options):
    """Gains in the order of the candidates, -inf where a child is too small."""
    quantized = Quantized(None, None, 1 / UNITS[0], 1 / UNITS[1])
    left = naive.sum_left(histogram, candidates)
    gains = naive.split_gain(left, histogram.sum(axis=0) - left, quantized, options)
    return np.where(np.isnan(gains), -np.inf, gains)


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(map(str, vars(o).values())))
@pytest.mark.parametrize("missing", [False, True])
def test_gains_equal_twin(options, missing):
    rng = np.random.default_rng(0)
    payload = make_payload(options)
    for n_value_bins in (1, 2, 3, 17, 255):
        histogram = make_histogram(rng, n_value_bins, missing)
        both_ways = bool(histogram[0, 2] > 0)
        candidates = list(naive.list_candidates(n_value_bins, both_ways))
        n = n_value_bins if both_ways else n_value_bins - 1
        right, left = np.full(256, 7.0), np.full(256, 7.0)
        prefix = np.empty((3, 256), dtype=np.int64)
        bins, totals = histogram.T.ravel(), histogram.sum(axis=0)
        run_fill(payload, bins, n, both_ways, totals, options.min_rows, prefix, right, left)
        assert np.all(right[n:] == 7)
        if not candidates:
            continue
        expected = twin_gains(histogram, candidates, options)
        if both_ways:
            assert right[:n].tolist() == expected[::2].tolist()
            assert left[:n].tolist() == expected[1::2].tolist()
        else:
            assert right[:n].tolist() == expected.tolist()
            assert np.all(left == 7)  # not asked for
        # one candidate alone gains the same
        for (split_bin, missing_left), gain in zip(candidates, expected, strict=True):
            sums = np.empty(3, dtype=np.int64)
            run_sum_left(bins, 3, split_bin, missing_left, sums)
            assert (
                sums.tolist() == naive.sum_left(histogram, [(split_bin, missing_left)])[0].tolist()
            )
            assert run_gain(payload, sums, totals, options.min_rows) == gain
        # and the best of them is the first with the highest gain
        gain, split_bin, missing_left = run_best(n, both_ways, right, left)
        assert gain == expected.max()
        if gain > -np.inf:
            assert (split_bin, missing_left) == candidates[int(np.argmax(expected))]


@pytest.mark.parametrize("options", OPTIONS[::3], ids=lambda o: f"{o.l1}-{o.l2}-{o.max_delta_step}")
def test_scores_and_weights_equal_twin(options):
    rng = np.random.default_rng(1)
    payload = make_payload(options)
    quantized = Quantized(None, None, 1 / UNITS[0], 1 / UNITS[1])
    sums = [(0, 0, 0), (5, 0, 1), (-5, 0, 1), (0, 5, 1), (2**40, 2**40, 9)]
    sums += [(int(rng.integers(-(10**6), 10**6)), int(rng.integers(10**6)), 5) for _ in range(50)]
    for totals in sums:
        totals = np.array(totals)
        assert run_score(payload, totals) == naive.score_sums(totals, quantized, options)
        g, h = naive.to_floats(totals, quantized)
        found = run_weight(float(g), float(h), options.l1, options.l2, options.max_delta_step)
        assert found == naive.leaf_weight(g, h, options)


def test_exact_sums_and_values():
    options = naive.SplitOptions(l1=0.5, l2=1.0)
    g, h = [2**41, -(2**42), 2**39, 7], [2**41, 2**42, 2**41, 9]
    payload = make_payload(options, (g, h), learning_rate=0.1)
    leaf = np.array([1, 1, 1, 0], dtype=np.uint16)
    sums = np.ones((2, 3), dtype=np.int64)
    run_sum(payload, np.array([0, 1, 2, 3], dtype=np.uint32), leaf, sums)
    assert sums.tolist() == [[8, 10, 1], [1 + sum(g[:3]), 1 + sum(h[:3]), 1]]
    value = np.empty(1)
    sums -= 1
    # G = 2 - 4 + 0.5, H = 1 + 2 + 1
    assert run_value(payload, sums[1], value) == 4.0
    assert value[0] == 0.1 * ((1.5 - 0.5) / (4.0 + 1.0))


@pytest.mark.parametrize("gradient", [5.0, -5.0])
def test_no_curvature_means_no_weight(gradient):
    for step in (0.0, 1.0):
        assert run_weight(gradient, 0.0, 0.0, 0.0, step) == 0.0
