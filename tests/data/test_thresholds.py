"""Thresholds between neighboring values."""

import itertools

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sumwise.data.thresholds import DistinctValues, find_runs, threshold_between
from sumwise.kernels.predict.coding import round_down
from sumwise.kernels.runtime.threads import Team
from sumwise.peers import ALONE
from tests.naive import binning as naive
from tests.threaded_peers import run_together

INF, LARGEST = np.inf, np.finfo(np.float64).max
NUMBERS = [
    *(-INF, -LARGEST, -1e300, -1.5, -1.0, -1e-300, -5e-324, 0.0, 5e-324, 1e-323, 1.0),
    *(np.nextafter(1, 2), 1 + 2.0**-51, 1.5, 2.0**53, 2.0**53 + 2, 1e300, LARGEST, INF),
]


def test_threshold_between_equals_twin():
    for low, high in itertools.combinations(map(float, NUMBERS), 2):
        found = threshold_between(np.array([low]), np.array([high]))
        assert found.tolist() == [naive.threshold_between(low, high)]
        assert low <= found[0] < high


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighbors_in_their_type_are_separated(dtype):
    rng = np.random.default_rng(0)
    low = np.concatenate([rng.normal(size=500), 10.0 ** rng.uniform(-30, 30, 500), [0.0, 1.0]])
    low = np.concatenate([low, -low]).astype(dtype)
    high = np.nextafter(low, dtype(INF))
    threshold = threshold_between(low, high)
    assert threshold.dtype == np.float64
    assert np.all(low <= threshold)
    assert np.all(threshold < high)
    if dtype is np.float32:  # float64 has room between them
        assert np.all(threshold > low)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([], []),
        ([7], [(0, 1)]),
        ([7, 7, 7, 7], [(0, 3), (3, 4)]),
        ([1, 2, 2, 1], [(0, 1), (1, 3), (3, 4)]),
    ],
)
def test_runs_of_equal_values(values, expected):
    assert list(find_runs(np.array(values), 3)) == expected


@settings(derandomize=True, deadline=None, max_examples=300)
@given(st.floats(allow_nan=False))
@example(LARGEST)
@example(-LARGEST)
@example(-1e-60)
@example(1e-60)
@example(-0.0)
@example(float(np.nextafter(np.float32(1), np.float32(2))))
def test_thresholds_are_rounded_down(threshold):
    rounded = round_down(np.array([threshold]), np.dtype(np.float32))
    assert rounded.dtype == np.float32
    assert float(rounded[0]) <= threshold
    if threshold < INF:
        with np.errstate(over="ignore"):
            assert float(np.nextafter(rounded[0], np.float32(INF))) > threshold
    assert round_down(np.array([threshold]), np.dtype(np.float64)).tolist() == [threshold]


@settings(derandomize=True, deadline=None, max_examples=50)
@given(
    st.lists(
        st.lists(
            st.tuples(
                st.sampled_from([*range(6), -0.0, -INF, INF, np.nan]), st.floats(-5, 5, width=16)
            ),
            max_size=12,
        ),
        min_size=1,
        max_size=4,
    ),
    st.sampled_from([np.float32, np.float64]),
    st.integers(1, 3),
)
def test_distinct_values_of_all_peers(parts, dtype, n_threads):
    """Up to one more than bins, whichever: then quantiles place the thresholds."""
    arrays = [np.array(part, dtype=dtype).reshape(-1, 2) for part in parts]

    def work(peers):
        own = arrays[peers.rank]
        with Team(n_threads) as team:
            values = DistinctValues.allocate(2, 4, dtype, team)
            values.add(own, np.arange(len(own), dtype=np.uint32), team)
            if values.is_full:
                values = values.drop_tables()
            assert values.unite(ALONE) is values
            return values.unite(peers)

    for found in run_together(len(arrays), work):
        for f in range(2):
            expected = set(np.concatenate(arrays)[:, f].tolist())
            expected = {value for value in expected if value == value}
            n, own = found.n_values[0, f], found.values[0, f]
            assert n == min(len(expected), 5)
            assert len(set(own[:n].tolist())) == n
            assert set(own[:n].tolist()) <= expected
            assert np.isnan(own[n:]).all()
        assert found.is_full == (found.n_values[0] == 5).all()
