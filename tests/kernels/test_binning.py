"""Distinct values, cuts by weight, bins and tiles against NumPy and the twin."""

import numpy as np
import pytest

from sumwise.kernels.binning import cut_by_weight, find_distinct, map_to_bins
from sumwise.kernels.threads import Team
from tests.naive.binning import map_to_bins as naive_bins

NAN, INF = np.nan, np.inf


def distinct(values, limit):
    out = np.full(limit, -777.0, dtype=values.dtype)
    n = find_distinct(values, limit, out)
    return None if n == limit + 1 else out[:n].tolist()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_distinct", [1, 2, 19, 20, 21, 500])
def test_distinct_values_equal_numpy(dtype, n_distinct):
    rng = np.random.default_rng(n_distinct)
    values = rng.permutation(np.tile(rng.normal(size=n_distinct), 3)).astype(dtype)
    expected = np.unique(values).tolist()
    assert distinct(values, 20) == (expected if n_distinct <= 20 else None)


def test_distinct_values_of_odd_columns():
    assert distinct(np.array([NAN, NAN]), 5) == []
    assert distinct(np.empty(0), 5) == []
    assert distinct(np.array([INF, NAN, -INF, 1.0, INF]), 5) == [-INF, 1.0, INF]
    assert distinct(np.array([0.0, -0.0]), 5) == [0.0]
    assert distinct(np.array([2.0, 1.0, NAN, 3.0]), 3) == [1.0, 2.0, 3.0]
    assert distinct(np.array([2.0, 1.0, NAN, 3.0]), 2) is None


def cut(weights, n_bins):
    """Return the weight of each bin, and whether it holds a single value."""
    weights = np.asarray(weights, dtype=np.float64)
    is_heavy, is_last = np.empty(weights.size, np.bool_), np.full(weights.size, True)
    n_cuts = cut_by_weight(weights, n_bins, is_heavy, is_last)
    ends = np.flatnonzero(is_last)
    assert n_cuts == ends.size <= n_bins - 1
    assert not is_last[-1]  # the last bin ends by itself
    return [part.tolist() for part in np.split(weights, ends + 1)]


@pytest.mark.parametrize("n_bins", [2, 3, 10, 255])
def test_equal_weights_are_shared_evenly(n_bins):
    for n in (256, 300, 1000, 5000):
        sizes = [len(part) for part in cut(np.ones(n), n_bins)]
        assert len(sizes) == n_bins
        assert max(sizes) - min(sizes) <= 1


def test_all_bins_are_used_and_none_is_overfull():
    rng = np.random.default_rng(0)
    for _ in range(50):
        weights = rng.exponential(size=2000)
        n_bins = int(rng.integers(2, 200))
        parts = cut(weights, n_bins)
        assert len(parts) >= 0.9 * n_bins
        share = weights.sum() / n_bins
        assert all(sum(part) <= 2 * share for part in parts)


def test_a_heavy_value_has_a_bin_of_its_own():
    weights = np.ones(1000)
    weights[[0, 400, 999]] = 500
    parts = cut(weights, 20)
    assert sum(part == [500.0] for part in parts) == 3
    rest = [len(part) for part in parts if part != [500.0]]
    # 997 values for 17 bins
    assert len(rest) >= 16
    assert max(rest) <= 70


def test_nearly_empty_bins_before_a_heavy_value_join_it():
    weights = np.ones(1000)
    weights[2] = 500
    parts = cut(weights, 10)
    assert parts[0] == [1.0, 1.0, 500.0]


def test_all_weight_on_few_values():
    weights = np.full(300, 1e-9)
    weights[[10, 20, 30]] = 1.0
    parts = cut(weights, 8)
    heavy = [part for part in parts if max(part) == 1.0]
    assert len(heavy) == 3


def run_map(X, thresholds, first, columns, n_threads=1):
    order = "C" if X.flags.c_contiguous else "F"
    values = X.ravel(order="K")
    values.flags.writeable = False
    strides = (X.shape[1], 1) if order == "C" else (1, X.shape[0])
    padded = np.full((X.shape[1], 255), INF)
    for f, ends in enumerate(thresholds):
        padded[f, : ends.size] = ends
    with Team(n_threads) as team:
        team.run(map_to_bins, values, *strides, padded, first, columns)


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_bins_equal_twin(dtype, order, n_threads):
    rng = np.random.default_rng(0)
    n_rows, n_features = 2500, 3  # more than two blocks
    X = rng.normal(size=(n_rows, n_features)).astype(dtype)
    X[rng.random(X.shape) < 0.1] = NAN
    X[:3, 0] = [INF, -INF, 0.0]
    thresholds = [np.sort(rng.normal(size=n)) for n in (0, 1, 254)]
    thresholds[1][0] = X[5, 1] = 0.25  # equal to a threshold
    columns = np.full((n_features, n_rows + 10), 99, dtype=np.uint8)
    run_map(np.asarray(X, order=order), thresholds, 7, columns, n_threads)
    for f in range(n_features):
        expected = naive_bins(X[:, f], thresholds[f])
        assert np.array_equal(columns[f, 7 : 7 + n_rows], expected)
    assert columns[1, 12] == 1  # equal to the threshold: the lower bin
    assert np.all(columns[:, :7] == 99)
    assert np.all(columns[:, 7 + n_rows :] == 99)


@pytest.mark.parametrize("n_thresholds", [*range(20), 63, 64, 127, 128, 129, 253, 254])
def test_bins_at_beside_and_beyond_thresholds(n_thresholds):
    ends = np.arange(n_thresholds) / 3
    if n_thresholds > 2:
        ends[0], ends[-1] = -INF, np.finfo(np.float64).max  # as beside infinite values
    beside = [np.nextafter(ends[:-1], INF), np.nextafter(ends, -INF)]
    values = np.concatenate([ends, *beside, [INF, -INF, NAN, 0.0, -0.0, 1e308, -1e308]])
    columns = np.empty((1, values.size), dtype=np.uint8)
    run_map(values.reshape(-1, 1), [ends], 0, columns)
    assert columns[0].tolist() == naive_bins(values, ends).tolist()
