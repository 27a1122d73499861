"""Peers that are threads of one process, for tests."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


class ThreadedPeers:
    """One of several peers; each runs in a thread of its own."""

    def __init__(self, rank: int, slots: list[Any], barrier: threading.Barrier) -> None:
        self.rank, self.size = rank, len(slots)
        self._slots, self._barrier = slots, barrier
        self.n_messages = 0

    def _exchange(self, own: Any) -> list[Any]:
        self.n_messages += 1
        self._slots[self.rank] = own
        self._barrier.wait()
        every = list(self._slots)
        self._barrier.wait()
        return every

    def add(self, *arrays: np.ndarray) -> None:
        assert all(array.dtype == np.int64 for array in arrays)
        every = self._exchange([array.copy() for array in arrays])
        for array, given in zip(arrays, zip(*every, strict=True), strict=True):
            assert len({own.shape for own in given}) == 1
            array[...] = sum(given)

    def largest(self, values: np.ndarray) -> np.ndarray:
        return np.max(self._exchange(np.array(values)), axis=0)

    def gather(self, array: np.ndarray) -> list[np.ndarray]:
        return self._exchange(np.array(array))


def run_together(n: int, work: Callable[[ThreadedPeers], Any]) -> list[Any]:
    """Return what ``work`` returns for each of ``n`` peers; raise what the first of them raises."""
    barrier, slots = threading.Barrier(n, timeout=60), [None] * n
    results: list[Any] = [None] * n
    errors: list[tuple[int, BaseException]] = []

    def run(rank: int) -> None:
        try:
            results[rank] = work(ThreadedPeers(rank, slots, barrier))
        except threading.BrokenBarrierError:
            pass
        except BaseException as error:
            errors.append((rank, error))
            barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise min(errors, key=lambda pair: pair[0])[1]
    assert not barrier.broken
    return results


def deal(n_items: int, owners: Sequence[int], n_peers: int) -> list[list[int]]:
    """Return which of some items each peer has, given their owners."""
    return [[i for i in range(n_items) if owners[i] == rank] for rank in range(n_peers)]
