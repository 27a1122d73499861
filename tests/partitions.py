"""Rows that are shared out among peers, for tests."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st

from sumwise.peers import Shards
from tests.threaded_peers import ThreadedPeers, deal, run_together


class Partition(NamedTuple):
    """The sizes of shards of some rows, and which of the shards each peer has."""

    sizes: list[int]
    dealt: list[list[int]]

    @property
    def n_rows(self) -> int:
        return sum(self.sizes)

    @property
    def n_peers(self) -> int:
        return len(self.dealt)

    def list_own(self, rank: int) -> np.ndarray:
        """Return the rows of a peer, by their numbers in the whole data."""
        starts = np.cumsum([0, *self.sizes])
        own = [np.arange(starts[k], starts[k + 1]) for k in self.dealt[rank]]
        return np.concatenate([np.empty(0, dtype=np.int64), *own])

    def find_local(self, rank: int, rows: np.ndarray) -> np.ndarray:
        """Return those of some rows that a peer has, by their numbers there."""
        return np.flatnonzero(np.isin(self.list_own(rank), rows)).astype(np.uint32)

    def make_shards(self, peers: ThreadedPeers) -> Shards:
        own = self.dealt[peers.rank]
        return Shards.of_sizes(peers, own, [self.sizes[k] for k in own])

    def run(self, work: Callable[[Shards, np.ndarray], Any]) -> list[Any]:
        """Return what ``work`` returns for each peer, given its shards and its rows."""
        return run_together(
            self.n_peers, lambda peers: work(self.make_shards(peers), self.list_own(peers.rank))
        )


@st.composite
def partitions(draw: Any, max_size: int = 60, max_shards: int = 6) -> Partition:
    """Shards, some of them empty, of which each peer has any number."""
    sizes = draw(st.lists(st.integers(0, max_size), min_size=1, max_size=max_shards))
    n_peers = draw(st.integers(1, 4))
    owners = draw(st.lists(st.integers(0, n_peers - 1), min_size=len(sizes), max_size=len(sizes)))
    return Partition(sizes, deal(len(sizes), owners, n_peers))


# Neighbors apart, a shard and a process without rows.
SCATTERED = Partition([40, 70, 0, 30, 60], [[0, 3], [], [1, 2, 4]])
