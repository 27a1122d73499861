"""Peers: processes that train one model together, each on rows of its own.

All peers run the same training loop and decide alike, because they decide by the same sums. What
they exchange are sums of integers and maxima, which depend neither on the number of peers nor on
the order in which they arrive: so the model has the same bytes on any number of them.
"""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np


class Peers(Protocol):
    """What training asks of the other processes; each call is made by all of them, in step."""

    @property
    def rank(self) -> int:
        """The number of this process, from 0 on."""

    @property
    def size(self) -> int:
        """How many processes there are."""

    def add(self, *arrays: np.ndarray) -> None:
        """Replace each int64 array by the sum of all peers' arrays; any other dtype is an error."""

    def largest(self, values: np.ndarray) -> np.ndarray:
        """Return the largest of all peers' values, item by item; none may be nan."""

    def gather(self, array: np.ndarray) -> list[np.ndarray]:
        """Return the arrays of all peers by rank; their lengths may differ."""


class Alone:
    """A single process, which has all the rows: there is nothing to exchange.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.peers import Alone
    >>> Alone().size
    1
    >>> Alone().gather(np.arange(3))
    [array([0, 1, 2])]
    """

    rank = 0
    size = 1

    def add(self, *arrays: np.ndarray) -> None:
        """Leave the arrays as they are."""

    def largest(self, values: np.ndarray) -> np.ndarray:
        """Return the values."""
        return values

    def gather(self, array: np.ndarray) -> list[np.ndarray]:
        """Return the array as the only one."""
        return [array]


ALONE = Alone()


def add_up(peers: Peers, *numbers: int) -> list[int]:
    """Return the sums of all peers' numbers."""
    totals = np.array(numbers, dtype=np.int64)
    peers.add(totals)
    return totals.tolist()


def gather_objects(peers: Peers, value: Any) -> list[Any]:
    """Return what all peers have, by rank: small objects, such as the categories of a column.

    They travel as pickles, which a process must accept only from peers that it trusts.
    """
    if peers.size == 1:
        return [value]
    own = np.frombuffer(pickle.dumps(value, protocol=5), dtype=np.uint8)
    return [pickle.loads(data.tobytes()) for data in peers.gather(own)]


@dataclass(frozen=True)
class Shards:
    """Where the training rows of this process are among those of all peers.

    The whole data is a sequence of shards, numbered in its order. Any process may have any of them;
    it has its own shards in their order, one after the other. So rows have the same numbers, and
    are drawn alike, wherever they are.

    Attributes
    ----------
    peers : Peers
    numbers : ndarray of int64
        The numbers of this process's shards, ascending.
    ends : ndarray of int64
        For each of them, the number of rows of this process up to its end.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.peers import ALONE, Shards
    >>> shards = Shards(ALONE, np.array([0, 1]), np.array([3, 5]))
    >>> shards.count(np.array([1, 2, 4])), shards.place(np.array([1, 2, 4]))
    (3, [(slice(0, 2, None), 0), (slice(2, 3, None), 2)])
    """

    peers: Peers
    numbers: np.ndarray
    ends: np.ndarray

    @classmethod
    def of_sizes(cls, peers: Peers, numbers: Sequence[int], sizes: Sequence[int]) -> "Shards":
        """Return shards of these numbers of rows."""
        ends = np.cumsum(np.asarray(sizes, dtype=np.int64))
        return cls(peers, np.asarray(numbers, dtype=np.int64), ends)

    def count(self, rows: np.ndarray) -> int:
        """Return the number of all peers' ``rows``."""
        return add_up(self.peers, rows.size)[0]

    def place(self, rows: np.ndarray) -> list[tuple[slice, int]]:
        """Number all peers' ``rows`` in the order of the whole data.

        ``rows`` are row numbers of this process, which ascend. Return for each shard of this
        process the slice of ``rows`` in it, and the number of the first of them among those of all
        peers; the numbers of the others follow.
        """
        ends = np.searchsorted(rows, self.ends.astype(rows.dtype))
        sizes = np.diff(ends, prepend=0)
        begins, numbers = ends - sizes, self._count_before(sizes)
        return [
            (slice(int(begin), int(end)), int(number))
            for begin, end, number in zip(begins, ends, numbers, strict=True)
        ]

    def find_offsets(self) -> np.ndarray:
        """Return for each shard of this process by how much its row numbers are too low.

        A row number of this process plus the offset of its shard is the number in the whole data.
        """
        sizes = np.diff(self.ends, prepend=0)
        return self._count_before(sizes) - (self.ends - sizes)

    def _count_before(self, sizes: np.ndarray) -> np.ndarray:
        """Return how much is before each shard of this process, given how much is in each."""
        known = np.concatenate(self.peers.gather(np.stack([self.numbers, sizes], axis=1)))
        known = known[np.argsort(known[:, 0], kind="stable")]
        before = known[:, 1].cumsum() - known[:, 1]
        return before[np.searchsorted(known[:, 0], self.numbers)]
