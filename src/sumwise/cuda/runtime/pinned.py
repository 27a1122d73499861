"""Pinned memory of the host, which GPUs read and write by themselves, at the speed of the bus.

It is slow to allocate, so it is kept until the process ends and lent to one queue after the other:

- :class:`Staging` carries large copies. Two buffers take turns: while a GPU copies one of them, the
  host fills or empties the other one, with a few threads, since one does not keep up with the bus.
  Who makes large arrays only to send them writes them to the buffers directly.
- :class:`Ring` carries small arrays to a GPU without waiting for it.
- :class:`Pool` lends buffers to copies that are under way to the host.
"""

import contextlib
import ctypes
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sumwise.cuda.runtime.bindings import call
from sumwise.cuda.runtime.device import Slot
from sumwise.cuda.runtime.gpu import Gpu

PIECE = 16 << 20  # bytes of a staging buffer
SMALL = 64 << 10  # most bytes of a small array
_RING = 1 << 20
_KEPT = 16 << 20  # larger buffers are not kept
_SMALLEST = 4 << 10
_PORTABLE = 1
_SHARE = 1 << 20  # bytes that are worth a thread
_MOST_THREADS = 8


class Buffer(NamedTuple):
    """Pinned memory; all GPUs of the process can use it."""

    address: int
    n_bytes: int


class Pool:
    """Pinned buffers whose sizes are powers of two."""

    def __init__(self) -> None:
        self._free: dict[int, list[Buffer]] = {}

    def take(self, gpu: Gpu, n_bytes: int) -> Buffer:
        """Return a buffer of at least so many bytes."""
        size = max(_SMALLEST, 1 << max(n_bytes - 1, 0).bit_length())
        try:
            return self._free.setdefault(size, []).pop()
        except IndexError:
            return Buffer(call(gpu.cuda.cuMemHostAlloc, size, _PORTABLE), size)

    def give(self, gpu: Gpu, buffer: Buffer) -> None:
        """Take a buffer back that no copy uses any more."""
        if buffer.n_bytes <= _KEPT:
            self._free[buffer.n_bytes].append(buffer)
        else:
            call(gpu.cuda.cuMemFreeHost, buffer.address)


class Ring:
    """Pinned memory for the small arrays that one queue gets, used over and over.

    Each half is used again when the copies from it are done: an event marks the end of the last.
    """

    def __init__(self, gpu: Gpu, stream: Any, pool: Pool) -> None:
        self._gpu, self._stream, self._pool = gpu, stream, pool
        self._buffer = pool.take(gpu, _RING)
        self._events = [gpu.take_event(), gpu.take_event()]
        self._is_pending = [False, False]
        self._half, self._position = 0, 0

    def place(self, source: int, n_bytes: int) -> int:
        """Copy an array into the ring; return its address there, to be read by the queue."""
        if self._position + n_bytes > _RING // 2:
            self._turn()
        address = self._buffer.address + self._half * (_RING // 2) + self._position
        ctypes.memmove(address, source, n_bytes)
        self._position += -(-n_bytes // 64) * 64
        return address

    def _turn(self) -> None:
        cuda = self._gpu.cuda
        call(cuda.cuEventRecord, self._events[self._half], self._stream)
        self._is_pending[self._half] = True
        self._half, self._position = 1 - self._half, 0
        if self._is_pending[self._half]:
            call(cuda.cuEventSynchronize, self._events[self._half])

    def close(self) -> None:
        """Give the memory back; all copies must be done."""
        self._pool.give(self._gpu, self._buffer)
        for event in self._events:
            self._gpu.give_event(event)


class PinnedSlot(Slot):
    """A staging buffer, and the copies that use it."""

    def __init__(self, buffer: Buffer) -> None:
        self.address = buffer.address
        items = (ctypes.c_uint8 * buffer.n_bytes).from_address(buffer.address)
        super().__init__(np.ctypeslib.as_array(items))
        self._copies: list[tuple[Gpu, Any]] = []

    def mark(self, gpu: Gpu, stream: Any) -> None:
        """The slot is in use until the queue has come here."""
        event = gpu.take_event()
        self._copies.append((gpu, event))
        call(gpu.cuda.cuEventRecord, event, stream)

    def wait(self) -> None:
        while self._copies:
            gpu, event = self._copies.pop()
            call(gpu.cuda.cuEventSynchronize, event)
            gpu.give_event(event)


class Staging:
    """Pairs of buffers for large copies; each is used by one thread at a time."""

    def __init__(self) -> None:
        self._unused: list[Sequence[PinnedSlot]] = []

    @contextlib.contextmanager
    def lend(self, gpu: Gpu) -> Iterator[Sequence[PinnedSlot]]:
        """Lend two buffers of ``PIECE`` bytes; the copies of those who had them may not be done."""
        try:
            slots = self._unused.pop()
        except IndexError:
            slots = [_allocate_slot(gpu), _allocate_slot(gpu)]
        try:
            yield slots
        finally:
            self._unused.append(slots)

    def upload(self, gpu: Gpu, stream: Any, source: int, target: int, n_bytes: int) -> None:
        """Queue a copy from any memory of the host, which can be changed afterwards."""
        with self.lend(gpu) as slots:
            try:
                for idx, first in enumerate(range(0, n_bytes, PIECE)):
                    slot, size = slots[idx % 2], min(PIECE, n_bytes - first)
                    slot.wait()
                    copy_on_host(slot.address, source + first, size)
                    call(gpu.cuda.cuMemcpyHtoDAsync, target + first, slot.address, size, stream)
                    slot.mark(gpu, stream)
            except BaseException:
                gpu.cuda.cuStreamSynchronize(stream)
                raise

    def download(self, gpu: Gpu, stream: Any, source: int, target: int, n_bytes: int) -> None:
        """Copy to any memory of the host, after all work queued before."""

        def queue(idx: int) -> None:
            first = idx * PIECE
            size = min(PIECE, n_bytes - first)
            call(gpu.cuda.cuMemcpyDtoHAsync, slots[idx % 2].address, source + first, size, stream)
            slots[idx % 2].mark(gpu, stream)

        n_pieces = -(-n_bytes // PIECE)
        with self.lend(gpu) as slots:
            try:
                for slot in slots:
                    slot.wait()
                for idx in range(min(2, n_pieces)):
                    queue(idx)
                for idx in range(n_pieces):
                    slot, first = slots[idx % 2], idx * PIECE
                    slot.wait()
                    copy_on_host(target + first, slot.address, min(PIECE, n_bytes - first))
                    if idx + 2 < n_pieces:
                        queue(idx + 2)
            except BaseException:
                gpu.cuda.cuStreamSynchronize(stream)
                raise


def _allocate_slot(gpu: Gpu) -> PinnedSlot:
    return PinnedSlot(Buffer(call(gpu.cuda.cuMemHostAlloc, PIECE, _PORTABLE), PIECE))


def copy_on_host(target: int, source: int, n_bytes: int) -> None:
    """Copy memory, a lot of it with a few threads."""
    n_shares = min(_count_threads(), max(1, n_bytes // _SHARE))
    share = -(-n_bytes // n_shares)
    others = [
        _find_helpers().submit(
            ctypes.memmove, target + first, source + first, min(share, n_bytes - first)
        )
        for first in range(share, n_bytes, share)
    ]
    try:
        ctypes.memmove(target, source, min(share, n_bytes))
    finally:
        wait(others)  # they use memory of the caller


@cache
def _count_threads() -> int:
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return min(_MOST_THREADS, usable or 1)


@cache
def _find_helpers() -> Executor:
    return ThreadPoolExecutor(_MOST_THREADS - 1, thread_name_prefix="sumwise-copy")


# What the devices of a process share.
pool = Pool()
staging = Staging()
