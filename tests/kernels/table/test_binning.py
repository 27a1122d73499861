"""Distinct values, quantiles, bins and tiles against NumPy and the twin."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.data.matrix import FlatMatrix
from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.sort import N_DIGIT_VALUES
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table import binning as kernels
from sumwise.kernels.table.binning import GROUP, HASH_SIZE
from tests.naive import binning as naive

NAN, INF = np.nan, np.inf
THREADS = pytest.mark.parametrize("n_threads", [1, 2, 4])
TYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
SPECIAL = [0.0, -0.0, INF, -INF, NAN, -NAN, 1.0, -1.0, 1.5, 5e-324, -5e-324, 1e-45, -1e-45]
# few of them are distinct, so that there are equal ones among them
floats = st.one_of(st.sampled_from(SPECIAL), st.integers(-9, 9).map(float), st.floats())
many = settings(derandomize=True, deadline=None, max_examples=100)


def as_type(values, dtype):
    with np.errstate(over="ignore"):
        return np.array(values, dtype=np.float64).astype(dtype)


def flatten(X):
    """A matrix as kernels take it."""
    by_row = X.flags.c_contiguous
    values = X.reshape(-1) if by_row else X.T.reshape(-1)
    values.flags.writeable = False
    strides = (X.shape[1], 1) if by_row else (1, X.shape[0])
    return FlatMatrix(values, *strides, X.shape[0])


# Distinct values


def distinct(X, limit, rows=None, n_threads=1, n_calls=1):
    """The sorted distinct values of each column, None where there are more than ``limit``."""
    rows = np.arange(X.shape[0]) if rows is None else rows
    shape = (n_threads, X.shape[1])
    tables = np.full((*shape, HASH_SIZE), NAN, dtype=X.dtype)
    found = np.full((*shape, limit + 1), NAN, dtype=X.dtype)
    n_found = np.zeros(shape, dtype=np.int64)
    with Team(n_threads) as team:
        for part in np.array_split(np.arange(X.shape[0]), n_calls):
            first, end = (part[0], part[-1] + 1) if part.size else (0, 0)
            own = rows[(rows >= first) & (rows < end)].astype(np.uint32)
            values = flatten(np.array(X[first:end], order="F" if X.flags.f_contiguous else "C"))
            team.run(kernels.find_distinct, values, int(first), own, limit, tables, found, n_found)
    return [
        None if n > limit else np.sort(column[:n]).tolist()
        for column, n in zip(found[0], n_found[0], strict=True)
    ]


def expected_distinct(X, limit):
    columns = [np.unique(column[~np.isnan(column)]).tolist() for column in X.T]
    return [None if len(values) > limit else values for values in columns]


@TYPES
@THREADS
@pytest.mark.parametrize("n_calls", [1, 3])
@pytest.mark.parametrize("order", ["C", "F"])
def test_distinct_values_equal_numpy(dtype, n_threads, n_calls, order):
    rng = np.random.default_rng(0)
    sizes = [1, 2, 19, 20, 21, 30, 500]
    X = np.column_stack([rng.permutation(np.resize(rng.normal(size=n), 1000)) for n in sizes])
    X[rng.random(X.shape) < 0.1] = NAN
    X = np.asarray(X, dtype=dtype, order=order)
    found = distinct(X, 20, n_threads=n_threads, n_calls=n_calls)
    assert found == expected_distinct(X, 20)
    assert [values is None for values in found] == [False] * 4 + [True] * 3
    rows = np.flatnonzero(rng.random(1000) < 0.02)
    found = distinct(X, 20, rows, n_threads, n_calls)
    assert found == expected_distinct(X[rows], 20)


@many
@given(values=st.lists(floats, max_size=60), limit=st.integers(1, 30))
def test_distinct_values_of_odd_columns(values, limit):
    for dtype in (np.float32, np.float64):
        X = as_type(values, dtype).reshape(-1, 1)
        assert distinct(X, limit) == expected_distinct(X, limit)


def test_distinct_values_that_share_a_place():
    """Patterns of bits that a poor hash would map to few places; some share one in any case."""
    for values in (np.arange(255.0), 2.0 ** np.arange(-120, 120), 1 + np.arange(255) * 2.0**-52):
        X = np.repeat(values, 3).reshape(-1, 1)
        assert distinct(X, 255) == [values.tolist()]
        assert distinct(X, values.size - 1) == [None]


@pytest.mark.parametrize("shape", [(0, 2), (3, 0), (0, 0)])
def test_distinct_values_of_nothing(shape):
    assert distinct(np.empty(shape), 5) == [[]] * shape[1]


# Quantiles


@kernel
def run_merge(keys, weights, weighted):
    return kernels.merge_equal(keys, weights, weighted)


@kernel
def run_cut(weights, total, n_bins, ends):
    return kernels.cut_by_weight(weights, total, n_bins, ends)


@many
@given(values=st.lists(st.integers(0, 20), max_size=60), n_missing=st.integers(0, 3))
def test_equal_keys_are_merged(values, n_missing):
    missing = np.full(n_missing, 2**32 - 1)
    keys = np.concatenate([np.sort(np.array(values, dtype=int)), missing]).astype(np.uint32)
    expected, counts = np.unique(values, return_counts=True)
    own, weights = keys.copy(), np.full(keys.size, NAN)
    n, total = run_merge(own, weights, False)
    assert own[:n].tolist() == expected.tolist()
    assert weights[:n].tolist() == counts.tolist()
    assert total == len(values)
    own, weights = keys.copy(), 1.0 + np.arange(keys.size)
    n, total = run_merge(own, weights, True)
    assert own[:n].tolist() == expected.tolist()
    masses = np.bincount(keys[: len(values)], weights=1.0 + np.arange(len(values)), minlength=21)
    assert weights[:n].tolist() == masses[masses > 0].tolist()
    assert total == masses.sum()


def cut(weights, n_bins):
    """Return the weights of each bin."""
    weights = np.asarray(weights, dtype=np.float64)
    ends = np.full(n_bins - 1, 2**32 - 1, dtype=np.uint32)
    total = 0.0
    for weight in weights:
        total += weight
    n_ends = run_cut(weights, total, n_bins, ends)
    if weights.size > n_bins:
        assert ends[:n_ends].tolist() == naive.cut_by_weight(weights.tolist(), n_bins)
    return [part.tolist() for part in np.split(weights, ends[:n_ends].astype(int) + 1)]


@many
@given(
    weights=st.lists(st.one_of(st.integers(1, 3), st.floats(1e-9, 1e9)), max_size=80),
    n_bins=st.integers(2, 20),
)
def test_cuts_equal_twin(weights, n_bins):
    parts = cut(weights, n_bins)
    assert len(parts) <= n_bins
    if 0 < len(weights) <= n_bins:
        assert [len(part) for part in parts] == [1] * len(weights)


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


def cut_columns(X, weight, max_bins, n_threads=1, n_calls=1, features=None):
    """The pairs of values below and above each threshold, column by column."""
    features = np.arange(X.shape[1]) if features is None else features
    n_rows, bits = X.shape[0], np.uint32 if X.dtype == np.float32 else np.uint64
    keys = np.empty((features.size + 1, n_rows), dtype=bits)  # with one row of scratch too many
    neighbors = np.zeros((features.size, 2, max_bins - 1), dtype=bits)
    n_ends = np.full(features.size, -1)
    with Team(n_threads) as team:
        for rows in np.array_split(np.arange(n_rows), n_calls):
            begin = int(rows[0])
            values = flatten(np.array(X[rows], order="F" if X.flags.f_contiguous else "C"))
            team.run(
                kernels.gather_keys,
                values,
                begin,
                rows.astype(np.uint32),
                begin,
                features,
                keys,
            )
        team.run(
            kernels.cut_columns,
            keys,
            np.empty(0) if weight is None else weight,
            max_bins,
            np.empty((n_threads, n_rows), dtype=bits),
            np.empty((n_threads, 2, n_rows)),
            np.empty((n_threads, N_DIGIT_VALUES), dtype=np.uint32),
            neighbors,
            n_ends,
        )
    values = neighbors.view(X.dtype)
    return [values[k, :, :n].T.tolist() for k, n in enumerate(n_ends)]


def expected_cuts(column, weight, max_bins):
    """The neighbors of each of the twin's thresholds."""
    weight = np.ones(column.size) if weight is None else weight
    values = np.unique(column[~np.isnan(column)]) + column.dtype.type(0)
    ends = naive.cut_quantiles(column.tolist(), weight.tolist(), max_bins)
    place = np.searchsorted(values.astype(np.float64), ends, side="right")
    return np.column_stack([values[place - 1], values[place]]).tolist() if ends.size else []


@many
@given(
    values=st.lists(floats, min_size=1, max_size=80),
    max_bins=st.integers(2, 12),
    seed=st.none() | st.integers(0, 99),
)
def test_cuts_of_odd_columns_equal_twin(values, max_bins, seed):
    weight = None if seed is None else np.random.default_rng(seed).exponential(size=len(values))
    for dtype in (np.float32, np.float64):
        X = as_type(values, dtype).reshape(-1, 1)
        assert cut_columns(X, weight, max_bins) == [expected_cuts(X[:, 0], weight, max_bins)]


@TYPES
@THREADS
@pytest.mark.parametrize(("order", "n_calls"), [("C", 1), ("F", 1), ("C", 3)])
@pytest.mark.parametrize("weighted", [False, True])
def test_cuts_of_many_rows_equal_twin(dtype, n_threads, order, n_calls, weighted):
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [
            rng.normal(size=5000),
            rng.integers(0, 2000, 5000),
            np.full(5000, NAN),
            np.where(rng.random(5000) < 0.7, 0.0, rng.exponential(size=5000) ** 9),
            np.where(rng.random(5000) < 0.7, NAN, rng.normal(size=5000)),
            1.0 + rng.integers(0, 999, 5000) * np.finfo(dtype).eps,
        ]
    )
    X = np.asarray(X, dtype=dtype, order=order)
    weight = rng.exponential(size=5000) if weighted else None
    features = np.array([0, 1, 2, 3, 5])
    found = cut_columns(X, weight, 255, n_threads, n_calls, features)
    for pairs, f in zip(found, features, strict=True):
        assert pairs == expected_cuts(X[:, f], weight, 255)


@many
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=60),
    max_bins=st.integers(1, 12),
    n_missing=st.integers(0, 3),
)
def test_runs_of_equal_values_are_cut_as_their_weights(sizes, max_bins, n_missing):
    column = np.append(np.repeat(np.arange(len(sizes), dtype=np.float32), sizes), [NAN] * n_missing)
    X = np.random.default_rng(0).permutation(column.astype(np.float32)).reshape(-1, 1)
    found = cut_columns(X, None, max_bins)
    assert found == cut_columns(X, np.ones(X.size), max_bins)
    assert found == [expected_cuts(X[:, 0], None, max_bins)]


# Bins


def run_map(X, thresholds, first, columns, n_threads=1):
    padded = np.full((X.shape[1], GROUP + GROUP**2), INF)
    for f, ends in enumerate(thresholds):
        padded[f, GROUP : GROUP + len(ends)] = ends
    padded[:, :GROUP] = padded[:, 2 * GROUP - 1 :: GROUP]
    with Team(n_threads) as team:
        team.run(kernels.map_to_bins, flatten(X), first, padded.astype(X.dtype), columns)


@THREADS
@TYPES
@pytest.mark.parametrize("order", ["C", "F"])
def test_bins_equal_twin(dtype, order, n_threads):
    rng = np.random.default_rng(0)
    n_rows, n_features = 2500, 3  # many blocks
    X = rng.normal(size=(n_rows, n_features)).astype(dtype)
    X[rng.random(X.shape) < 0.1] = NAN
    X[:3, 0] = [INF, -INF, 0.0]
    thresholds = [np.sort(rng.normal(size=n).astype(dtype)) for n in (0, 1, 254)]
    thresholds[1][0] = X[5, 1] = 0.25  # equal to a threshold
    columns = np.full((n_features, n_rows + 10), 99, dtype=np.uint8)
    run_map(np.asarray(X, order=order), thresholds, 7, columns, n_threads)
    for f in range(n_features):
        expected = naive.map_to_bins(X[:, f], thresholds[f])
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
    values = np.concatenate([ends, *beside, [INF, -INF, NAN, -NAN, 0.0, -0.0, 1e308, -1e308]])
    columns = np.empty((1, values.size), dtype=np.uint8)
    run_map(values.reshape(-1, 1), [ends], 0, columns)
    assert columns[0].tolist() == naive.map_to_bins(values, ends).tolist()


@many
@given(
    values=st.lists(floats, max_size=60),
    ends=st.lists(floats.filter(lambda x: x == x), max_size=40, unique=True),
)
def test_bins_of_odd_values_equal_twin(values, ends):
    for dtype in (np.float32, np.float64):
        thresholds = np.unique(as_type(ends, dtype))
        column = np.concatenate([as_type(values, dtype), thresholds])
        columns = np.empty((1, column.size), dtype=np.uint8)
        run_map(column.reshape(-1, 1), [thresholds], 0, columns)
        assert columns[0].tolist() == naive.map_to_bins(column, thresholds).tolist()


# Tiles
