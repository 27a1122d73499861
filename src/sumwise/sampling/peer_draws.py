"""What samplers need to know of the rows of other processes.

It is the same for all draws of a fit, so it is found at the first one and kept in the buffers of
the :class:`~sumwise.sampling.rows.RowSource`.
"""

from collections.abc import Callable
from typing import TypeVar

import numpy as np

from sumwise.kernels.sampling.peer_runs import Runs
from sumwise.peers import Shards
from sumwise.sampling.rows import RowSource

Found = TypeVar("Found")


def count_candidates(source: RowSource, shards: Shards) -> int:
    """Return how many rows all processes draw from."""
    return _find_once(source, "number of candidates", lambda: shards.count(source.rows))


def find_runs(source: RowSource, shards: Shards) -> Runs:
    """Return the numbers of this process's rows among all that are drawn from."""
    return _find_once(source, "runs", lambda: Runs.find(source.rows, shards))


def number_rows(source: RowSource, shards: Shards) -> np.ndarray:
    """Return the numbers of the rows to draw from in the whole data.

    Unlike the numbers of candidates, they also count rows that are not drawn from.
    """
    offsets = _find_once(source, "offsets", shards.find_offsets)
    return source.rows + offsets[np.searchsorted(shards.ends, source.rows, side="right")]


def add_counts(source: RowSource, shards: Shards, counts: np.ndarray) -> np.ndarray:
    """Return the sums of all processes' numbers of rows per class."""

    def add() -> np.ndarray:
        totals = counts.astype(np.int64)
        shards.peers.add(totals)
        return totals

    return _find_once(source, "class counts", add)


def unite_groups(source: RowSource, shards: Shards, own: np.ndarray) -> np.ndarray:
    """Return the groups of all processes' rows, ascending, given those of this process's rows."""

    def unite() -> np.ndarray:
        return np.unique(np.concatenate(shards.peers.gather(np.unique(own))))

    return _find_once(source, "groups", unite)


def keep_keys(source: RowSource) -> np.ndarray:
    """Return an array that has room for a key of each row."""
    return _find_once(source, "keys", lambda: np.empty(source.rows.size, dtype=np.uint64))


def _find_once(source: RowSource, name: str, find: Callable[[], Found]) -> Found:
    """Return what was found for an earlier draw, or find it; all processes have to do so alike."""
    if name not in source.buffers:
        source.buffers[name] = find()
    found: Found = source.buffers[name]
    return found
