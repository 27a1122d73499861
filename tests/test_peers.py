"""Processes that train together, and a process without peers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sumwise.peers import ALONE, Alone, Peers, Shards, add_up, gather_objects
from tests.partitions import partitions
from tests.threaded_peers import deal, run_together


def test_alone_changes_nothing():
    peers: Peers = Alone()
    assert (peers.rank, peers.size) == (0, 1)
    sums, values = np.arange(3), np.array([1.5, -2.0])
    peers.add(sums, sums)
    assert sums.tolist() == [0, 1, 2]
    assert peers.largest(values).tolist() == [1.5, -2.0]
    assert [own.tolist() for own in peers.gather(sums)] == [[0, 1, 2]]


def test_add_up_and_gather():
    def work(peers):
        return add_up(peers, 1, peers.rank), gather_objects(peers, {"rank": peers.rank})

    expected = [3, 3], [{"rank": 0}, {"rank": 1}, {"rank": 2}]
    assert run_together(3, work) == [expected] * 3
    assert gather_objects(ALONE, "own") == ["own"]


@given(
    sizes=st.lists(st.integers(0, 5), min_size=1, max_size=7),
    n_peers=st.integers(1, 3),
    d=st.data(),
)
def test_rows_have_the_same_numbers_wherever_they_are(sizes, n_peers, d):
    owners = [d.draw(st.integers(0, n_peers - 1)) for _ in sizes]
    chosen = np.array(d.draw(st.lists(st.booleans(), min_size=sum(sizes), max_size=sum(sizes))))
    numbers = np.cumsum(chosen) - 1  # of the chosen rows
    starts = np.cumsum([0, *sizes])
    dealt = deal(len(sizes), owners, n_peers)

    def work(peers):
        own = dealt[peers.rank]
        shards = Shards.of_sizes(peers, own, [sizes[k] for k in own])
        every = [np.arange(starts[k], starts[k + 1]) for k in own]
        rows = np.concatenate([np.empty(0, dtype=np.int64), *every])  # in the whole data
        is_chosen = chosen[rows]
        local = np.flatnonzero(is_chosen).astype(np.uint32)
        found = [
            (int(rows[row]), first + i)
            for where, first in shards.place(local)
            for i, row in enumerate(local[where])
        ]
        return found, shards.count(local)

    results = run_together(n_peers, work)
    found = sorted(pair for own, _ in results for pair in own)
    assert found == [(row, numbers[row]) for row in np.flatnonzero(chosen)]
    assert {count for _, count in results} == {np.count_nonzero(chosen)}


@given(partitions())
def test_rows_know_their_numbers_in_the_whole_data(partition):
    def work(shards, own):
        sizes = np.diff(shards.ends, prepend=0)
        assert own.tolist() == (np.arange(own.size) + shards.find_offsets().repeat(sizes)).tolist()

    partition.run(work)


def test_an_error_of_one_peer_ends_all():
    def work(peers):
        if peers.rank == 1:
            raise ValueError("bad")
        peers.gather(np.zeros(1))

    with pytest.raises(ValueError, match="bad"):
        run_together(2, work)
