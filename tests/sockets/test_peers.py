"""Sums, maxima and arrays of peers that are connected by sockets."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.peers import Peers
from tests.sockets.clusters import run_threads

LENGTHS = st.lists(st.sampled_from([0, 1, 2, 3, 7, 100, 5000]), max_size=3)


@settings(max_examples=25, deadline=None)
@given(n=st.integers(1, 5), lengths=LENGTHS, seed=st.integers(0, 99))
def test_sums_maxima_and_arrays_are_those_of_all(n, lengths, seed):
    random = np.random.default_rng(seed)
    every = [[random.integers(-(2**63), 2**63 - 1, size) for size in lengths] for _ in range(n)]
    floats = random.normal(size=(n, 4))
    several = [random.normal(size=(random.integers(0, 4), 2)).astype("f4") for _ in range(n)]

    def work(peers: Peers):
        own = [array.copy() for array in every[peers.rank]]
        peers.add(*own)
        return own, peers.largest(floats[peers.rank]), peers.gather(several[peers.rank])

    for sums, largest, arrays in run_threads(n, work):
        for sum_, parts in zip(sums, zip(*every, strict=True), strict=True):
            np.testing.assert_array_equal(sum_, np.add.reduce(parts))
        np.testing.assert_array_equal(largest, floats.max(axis=0))
        for array, expected in zip(arrays, several, strict=True):
            assert array.dtype == np.float32
            np.testing.assert_array_equal(array, expected)


def test_messages_larger_than_any_buffer_do_not_block():
    def work(peers):
        numbers = np.full(3_000_000, peers.rank + 1)
        peers.add(numbers)
        return numbers.min(), numbers.max(), peers.gather(numbers)[0].size

    assert run_threads(3, work) == [(6, 6, 3_000_000)] * 3
    assert run_threads(2, work) == [(3, 3, 3_000_000)] * 2
