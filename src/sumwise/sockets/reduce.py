"""Sums of all peers' arrays, to the same result on all.

Every function takes ``trade(stage, outgoing, incoming)``, which sends and receives pieces of arrays
by rank at the same time. Sums of int64 wrap around and are the same in any order.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

Pieces = Sequence[np.ndarray]
Trade = Callable[[int, Mapping[int, Pieces], Mapping[int, Pieces]], None]
Sum = Callable[[Trade, "Numbers", int, int], None]

_SMALL = 32_768  # bytes up to which the number of messages counts more than their size
_FEW = 8  # processes that send small messages to all at once


class Numbers:
    """Several contiguous arrays of int64 as one sequence."""

    def __init__(self, arrays: Sequence[np.ndarray]) -> None:
        self._arrays = [array.reshape(-1) for array in arrays if array.size]
        self.size = sum(array.size for array in self._arrays)

    def cut(self, begin: int, end: int) -> list[np.ndarray]:
        """Return the pieces of the arrays from one place of the sequence to another."""
        pieces, first = [], 0
        for array in self._arrays:
            piece = array[max(begin - first, 0) : max(end - first, 0)]
            if piece.size:
                pieces.append(piece)
            first += array.size
        return pieces


def choose_sum(n_bytes: int, size: int) -> Sum:
    """Return the function that is fastest for messages of this size."""
    if size == 2:
        return sum_at_once
    if n_bytes > _SMALL:
        return sum_by_segments
    return sum_at_once if size <= _FEW else sum_by_doubling


def sum_at_once(trade: Trade, numbers: Numbers, rank: int, size: int) -> None:
    """Send everything to everybody: a single stage."""
    others = order_others(rank, size)
    own = numbers.cut(0, numbers.size)
    received = np.empty((size - 1, numbers.size), dtype=np.int64)
    trade(0, dict.fromkeys(others, own), {k: [received[i]] for i, k in enumerate(others)})
    for row in received:
        _add(own, row)


def sum_by_doubling(trade: Trade, numbers: Numbers, rank: int, size: int) -> None:
    """Exchange sums with partners at distance 1, 2, 4, ...: stages grow with the logarithm.

    Processes beyond a power of two hand in their numbers before, and get the sums afterwards.
    """
    n_doubling = 1 << (size.bit_length() - 1)
    n_stages = n_doubling.bit_length() - 1
    own = numbers.cut(0, numbers.size)
    if rank >= n_doubling:
        trade(0, {rank - n_doubling: own}, {})
        trade(n_stages + 1, {}, {rank - n_doubling: own})
        return
    received = np.empty(numbers.size, dtype=np.int64)
    has_guest = rank + n_doubling < size
    if has_guest:
        trade(0, {}, {rank + n_doubling: [received]})
        _add(own, received)
    for stage in range(n_stages):
        partner = rank ^ (1 << stage)
        trade(stage + 1, {partner: own}, {partner: [received]})
        _add(own, received)
    if has_guest:
        trade(n_stages + 1, {rank + n_doubling: own}, {})


def sum_by_segments(trade: Trade, numbers: Numbers, rank: int, size: int) -> None:
    """Each process sums one segment for all: two stages, and the fewest bytes there can be.

    All processes are connected with each other, so segments go straight to where they are needed,
    whatever the number of processes.
    """
    others = order_others(rank, size)
    ends = [numbers.size * k // size for k in range(size + 1)]
    segments = [numbers.cut(ends[k], ends[k + 1]) for k in range(size)]
    received = np.empty((size - 1, ends[rank + 1] - ends[rank]), dtype=np.int64)
    trade(0, {k: segments[k] for k in others}, {k: [received[i]] for i, k in enumerate(others)})
    for row in received:
        _add(segments[rank], row)
    trade(1, dict.fromkeys(others, segments[rank]), {k: segments[k] for k in others})


def order_others(rank: int, size: int) -> list[int]:
    """Return the other ranks from the next one on, so that not all turn to the same at once."""
    return [(rank + k) % size for k in range(1, size)]


def find_largest(rows: Sequence[np.ndarray]) -> np.ndarray:
    """Return the largest of all rows, item by item; 0.0 is larger than -0.0."""
    largest = np.maximum.reduce(rows)
    if largest.dtype.kind == "f":
        is_negative = np.logical_and.reduce([np.signbit(row) for row in rows])
        largest = np.where(largest == 0, np.where(is_negative, -0.0, 0.0), largest).astype(
            largest.dtype
        )
    return largest


def _add(pieces: Pieces, numbers: np.ndarray) -> None:
    begin = 0
    for piece in pieces:
        piece += numbers[begin : begin + piece.size]
        begin += piece.size
