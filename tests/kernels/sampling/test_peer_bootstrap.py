"""The bootstrap among peers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.sampling.bootstrap import BOOTSTRAP, fill_counts
from sumwise.kernels.sampling.peer_bootstrap import count_own_draws
from sumwise.kernels.sampling.peer_runs import Runs
from tests.naive import random as naive
from tests.partitions import Partition, partitions

examples = settings(derandomize=True, deadline=None, max_examples=40)
KEY = random.make_key(0, random.ROWS, 3)


def count_together(partition, n_threads):
    def work(shards, own):
        runs = Runs.find(np.arange(own.size, dtype=np.uint32), shards)
        with Team(n_threads) as team:
            before = shards.peers.n_messages
            counts = count_own_draws(KEY, partition.n_rows, runs, team)
            assert shards.peers.n_messages == before
        assert counts.size == own.size
        return own, counts

    found = np.zeros(partition.n_rows, dtype=np.int64)
    for own, counts in partition.run(work):
        found[own] = counts
    return found


@examples
@given(partitions(), st.integers(1, 3))
def test_rows_are_drawn_as_often_as_by_one_process(partition, n_threads):
    n = partition.n_rows
    draws = [int(naive.uniform(int(KEY), draw) * n) for draw in range(n)]
    assert count_together(partition, n_threads).tolist() == np.bincount(draws, minlength=n).tolist()


@pytest.mark.parametrize("n_threads", [1, 3])
def test_many_rows(n_threads):
    partition = Partition([20_000, 0, 30_000, 10_000], [[0, 3], [2], [1]])
    expected = np.empty(60_000, dtype=np.uint32)
    fill_counts(BOOTSTRAP, KEY, 60_000, np.empty(0), expected)
    assert np.array_equal(count_together(partition, n_threads), expected)
