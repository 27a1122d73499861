"""Runs: the rows of a process among those of all processes, as kernels read them."""

from typing import NamedTuple

import numpy as np

from sumwise.kernels.runtime.jit import routine
from sumwise.peers import Shards


class Runs(NamedTuple):
    """Rows of this process that are neighbors among those of all peers, one run after the other.

    Attributes
    ----------
    end : ndarray of int64
        Where each run ends in the rows of this process; the next one begins there.
    first : ndarray of int64
        The number of the first row of each run among the rows of all peers, ascending.
    """

    end: np.ndarray
    first: np.ndarray

    @classmethod
    def find(cls, rows: np.ndarray, shards: Shards) -> "Runs":
        """Return the runs of ``rows`` of this process, which ascend; all peers make this call."""
        ends: list[int] = []
        firsts: list[int] = []
        next_number = -1
        for where, number in shards.place(rows):
            if where.stop == where.start:
                continue
            if number == next_number:
                ends[-1] = where.stop
            else:
                ends.append(where.stop)
                firsts.append(number)
            next_number = number + where.stop - where.start
        return cls(np.array(ends, dtype=np.int64), np.array(firsts, dtype=np.int64))


@routine
def find_run(bounds, value):
    """Return the number of ascending ``bounds`` that are at most ``value``."""
    low, high = np.int64(0), np.int64(bounds.size)
    while low < high:
        middle = (low + high) >> 1
        if bounds[middle] <= value:
            low = middle + 1
        else:
            high = middle
    return low
