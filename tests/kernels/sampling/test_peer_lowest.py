"""Rows with the lowest hashes among peers: those that one process draws from all rows."""

from itertools import chain
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.sampling import peer_lowest
from sumwise.kernels.sampling.lowest_hashes import draw_lowest, draw_strata, expect_window
from sumwise.kernels.sampling.peer_lowest import draw_lowest_among, draw_strata_among
from sumwise.peers import ALONE, Shards
from tests.naive import random as naive
from tests.threaded_peers import deal, run_together

examples = settings(derandomize=True, deadline=None, max_examples=60)
KEY = random.make_key(0, random.ROWS, 3)


class Cluster(NamedTuple):
    """Shards of some rows, the rows that are candidates, and which shards each peer has."""

    sizes: list[int]
    is_candidate: np.ndarray
    dealt: list[list[int]]

    @property
    def rows(self):
        return np.flatnonzero(self.is_candidate).astype(np.uint32)

    def list_own(self, rank):
        """The rows of a peer, by their numbers in the whole data."""
        starts = np.cumsum([0, *self.sizes])
        own = [np.arange(starts[k], starts[k + 1]) for k in self.dealt[rank]]
        return np.concatenate([np.empty(0, dtype=np.int64), *own])

    def draw(self, draw, n_threads=1):
        """Return what all peers draw together, by the numbers of rows in the whole data."""

        def work(peers):
            own = self.list_own(peers.rank)
            numbers = self.dealt[peers.rank]
            shards = Shards.of_sizes(peers, numbers, [self.sizes[k] for k in numbers])
            local = np.flatnonzero(self.is_candidate[own]).astype(np.uint32)
            with Team(n_threads) as team:
                found = draw(own[local], local, shards, team)
            assert all(part.dtype == np.uint32 for part in found)
            assert all((np.diff(part.astype(np.int64)) > 0).all() for part in found)
            return [own[part].tolist() for part in found]

        drawn, others = zip(*run_together(len(self.dealt), work), strict=True)
        return sorted(chain(*drawn)), sorted(chain(*others))


@st.composite
def clusters(draw):
    sizes = draw(st.lists(st.integers(0, 120), min_size=1, max_size=7))
    n_peers = draw(st.integers(1, 4))
    owners = draw(st.lists(st.integers(0, n_peers - 1), min_size=len(sizes), max_size=len(sizes)))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    is_candidate = rng.random(sum(sizes)) < draw(st.sampled_from([0.3, 1.0]))
    return Cluster(sizes, is_candidate, deal(len(sizes), owners, n_peers))


def missing_window(n_drawn, n_rows):
    """A window that never contains the bound of a small draw."""
    return np.uint64(5), np.uint64(3)


@examples
@given(clusters(), st.integers(0, 2**64 - 1), st.floats(0, 1), st.integers(1, 3), st.booleans())
def test_peers_draw_as_one_process(cluster, key, rate, n_threads, misses):
    key, rows = np.uint64(key), cluster.rows
    n_drawn = round(rate * rows.size)
    expected = naive.draw_lowest(int(key), rows.tolist(), n_drawn)

    def draw(_, local, shards, team):
        return draw_lowest_among(key, local, n_drawn, shards, team)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(peer_lowest, "expect_window", missing_window if misses else expect_window)
        drawn, others = cluster.draw(draw, n_threads)
    assert drawn == expected
    assert others == np.setdiff1d(rows, expected).tolist()


@examples
@given(clusters(), st.integers(0, 2**64 - 1), st.integers(1, 5), st.integers(1, 3), st.data())
def test_peers_draw_strata_as_one_process(cluster, key, n_strata, n_threads, data):
    key, rows = np.uint64(key), cluster.rows
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    of_row = rng.integers(0, n_strata, cluster.is_candidate.size)
    counts = np.bincount(of_row[rows], minlength=n_strata)
    n_drawn = np.array([rng.integers(0, n + 1) for n in counts])
    expected = naive.draw_strata(int(key), rows.tolist(), of_row[rows].tolist(), n_drawn.tolist())

    def draw(numbers, local, shards, team):
        return draw_strata_among(key, local, of_row[numbers], n_drawn, shards, team)

    with pytest.MonkeyPatch.context() as patch:
        if data.draw(st.booleans()):
            patch.setattr(peer_lowest, "expect_window", missing_window)
        drawn, others = cluster.draw(draw, n_threads)
    assert drawn == expected
    assert others == np.setdiff1d(rows, expected).tolist()


@pytest.mark.parametrize("n_drawn", [1, 3000, 39_999, 40_000])
def test_many_rows_of_shards_that_are_no_neighbors(n_drawn):
    """So many that windows are narrow; compared with the draw of one process."""
    sizes = [10_000, 0, 15_000, 5000, 10_000]
    cluster = Cluster(sizes, np.ones(40_000, dtype=bool), [[0, 3, 4], [], [1, 2]])
    expected = draw_lowest(KEY, cluster.rows, n_drawn)
    strata = cluster.rows % 3
    own_drawn = np.array([n_drawn // 4, 0, n_drawn // 3])
    of_strata = draw_strata(KEY, cluster.rows, strata, own_drawn)
    sent = []

    def draw(_, local, shards, team):
        found = draw_lowest_among(KEY, local, n_drawn, shards, team)
        sent.append(shards.peers.n_messages)
        return found

    def draw_by_strata(numbers, local, shards, team):
        return draw_strata_among(KEY, local, strata[numbers], own_drawn, shards, team)

    assert cluster.draw(draw, 2) == tuple(part.tolist() for part in expected)
    assert cluster.draw(draw_by_strata, 2) == tuple(part.tolist() for part in of_strata)
    assert sent == [3, 3, 3]


def test_hashes_of_few_rows_are_sent():
    n_rows, n_drawn, sizes = 40_000, 4000, []

    class Counting:
        rank, size, add = 0, 1, staticmethod(ALONE.add)

        def gather(self, array):
            sizes.append(array.nbytes)
            return [array]

    shards = Shards.of_sizes(Counting(), [0], [n_rows])
    rows = np.arange(n_rows, dtype=np.uint32)
    found = draw_lowest_among(KEY, rows, n_drawn, shards, Team(1))
    assert found.rows.size == n_drawn
    assert sum(sizes) < 100 * np.sqrt(n_drawn)


def test_nothing_is_drawn_without_a_message():
    rows = np.arange(4, dtype=np.uint32)

    def work(peers):
        shards = Shards.of_sizes(peers, [peers.rank], [4])
        none = draw_lowest_among(KEY, rows, 0, shards, Team(1))
        of_strata = draw_strata_among(KEY, rows, rows, np.zeros(4, int), shards, Team(1))
        return peers.n_messages, *(part.tolist() for part in (*none, *of_strata))

    assert run_together(2, work) == [(0, [], [0, 1, 2, 3], [], [0, 1, 2, 3])] * 2


def test_more_rows_than_there_are_cannot_be_drawn():
    rows, shards = np.arange(4, dtype=np.uint32), Shards.of_sizes(ALONE, [0], [4])
    with pytest.raises(ValueError, match="5 of 4 rows"):
        draw_lowest_among(KEY, rows, 5, shards, Team(1))
    with pytest.raises(ValueError, match="3 of 2 rows"):
        draw_strata_among(KEY, rows, rows % 2, np.array([2, 3]), shards, Team(1))


def test_windows_grow_until_they_hold_everything():
    window, widths = (np.uint64(2**64 - 2), np.uint64(0)), []
    while int(window[1]) < 2**64 - 1:
        window = peer_lowest._widen(window)
        widths.append(int(window[1]))
        assert 0 <= int(window[0]) <= int(window[0]) + widths[-1] < 2**64
    assert widths == sorted(set(widths))
    assert len(widths) < 70
    assert int(window[0]) == 0
