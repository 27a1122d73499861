"""The processes of an MPI communicator as peers."""

import struct
import sys
import traceback
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from types import TracebackType
from typing import Any, NamedTuple, Self

import numpy as np

from sumwise.errors import PeersError
from sumwise.sockets.messages import describe_form, parse_form, view_bytes
from sumwise.sockets.reduce import Numbers, find_largest

# Bytes that all processes send at the beginning of every exchange: they take hardly longer than a
# few bytes do. Among many processes they are fewer, because each receives them from all.
_MOST_BYTES, _FEWEST_BYTES, _BYTES_OF_ALL = 1024, 256, 1 << 15
_HEAD = struct.Struct("<BBxxIIIQ")
_ALIGNMENT = 16
# Bytes at the beginning of a result that its checksum covers: all would take as long as the sum.
_CHECKED_BYTES = 1 << 16
# MPI counts in 32 bits; its libraries may take as much memory again as a message is long.
_MOST_NUMBERS = 1 << 27


class _Kind(IntEnum):
    """What the processes do together."""

    ADD = 1
    LARGEST = 2
    GATHER = 3
    LEAVE = 4


_NAMES = {
    _Kind.ADD: "sends a sum",
    _Kind.LARGEST: "sends a maximum",
    _Kind.GATHER: "sends gathered arrays",
    _Kind.LEAVE: "has ended its fit",
}


class _Head(NamedTuple):
    """Where a process is: those that are in step agree on kind, step, and results so far.

    Attributes
    ----------
    kind : int
    has_nan : int
        Whether there is a nan among the values of a maximum.
    step : int
        Number of the exchange.
    checksum : int
        CRC-32 of how the results of all exchanges so far begin.
    form_size : int
        Bytes of the description of an array that precedes it.
    size : int
        Bytes that this process sends.
    """

    kind: int
    has_nan: int
    step: int
    checksum: int
    form_size: int
    size: int

    def describe(self, rank: int) -> str:
        shown = f"rank {rank} {_NAMES[_Kind(self.kind)]}"
        return f"{shown} of {self.size:,} bytes" if self.kind == _Kind.ADD else shown


class MpiPeers:
    """The processes of an MPI communicator.

    All of them make every call in the same order; if they do not, all raise ``PeersError``. As a
    context manager, it tells the others of an error in this process: they raise ``PeersError``,
    and nobody waits. Only where an error interrupts a message, it ends the processes of all.

    Parameters
    ----------
    comm : mpi4py.MPI.Intracomm, optional
        The default is ``MPI.COMM_WORLD``. Messages go through a duplicate of it, so those of others
        do not get in between. All processes of ``comm`` have to make this call.

    Attributes
    ----------
    rank : int
        The number of this process, from 0 on.
    size : int
        How many processes there are.
    neighbors : list of int
        The ranks on the same machine, this one included.
    n_exchanges : int
        How many sums, maxima and gathered arrays there have been.

    Examples
    --------
    ::

        with MpiPeers() as peers:
            counts = np.bincount(labels, minlength=3)
            peers.add(counts)
    """

    def __init__(self, comm: Any = None) -> None:
        mpi = import_mpi()
        given = mpi.COMM_WORLD if comm is None else comm
        if not isinstance(given, mpi.Intracomm):
            raise TypeError(f"comm={comm!r} must be an intracommunicator of mpi4py, or None")
        self._mpi, self._comm = mpi, given.Dup()
        self.rank, self.size = int(self._comm.rank), int(self._comm.size)
        node = self._comm.Split_type(mpi.COMM_TYPE_SHARED)
        self.neighbors = node.allgather(self.rank)
        node.Free()
        self.n_exchanges = 0
        self._checksum = 0
        self._failure: str | None = None
        n_bytes = max(_FEWEST_BYTES, min(_MOST_BYTES, _BYTES_OF_ALL // self.size))
        self._block = np.zeros(n_bytes - n_bytes % 8, dtype=np.uint8)
        self._room = self._block.size - _HEAD.size

    def add(self, *arrays: np.ndarray) -> None:
        """Replace each int64 array by the sum of all peers' arrays."""
        for array in arrays:
            if not isinstance(array, np.ndarray) or array.dtype != np.int64:
                raise TypeError(
                    f"only arrays of int64 can be added, not {getattr(array, 'dtype', type(array))}"
                )
            if not array.flags.writeable:
                raise ValueError("the array cannot be written, so it cannot take the sum")
        dense = [array if array.flags.c_contiguous else array.copy("C") for array in arrays]
        numbers = Numbers(dense)
        own = numbers.cut(0, numbers.size)
        with self._exchange():
            _, blocks = self._meet(_Kind.ADD, own)
            n_bytes = 8 * numbers.size
            if n_bytes <= self._room:
                rows = blocks[:, _HEAD.size : _HEAD.size + n_bytes].view(np.int64)
                flat = rows.sum(axis=0)
            else:
                flat = own[0] if len(own) == 1 else np.concatenate(own)
                for first in range(0, flat.size, _MOST_NUMBERS):
                    piece = flat[first : first + _MOST_NUMBERS]
                    self._comm.Allreduce(self._mpi.IN_PLACE, piece, self._mpi.SUM)
            first = 0
            for piece in own:
                if piece is not flat:
                    piece[...] = flat[first : first + piece.size]
                first += piece.size
            self._end([flat])
        for array, summed in zip(arrays, dense, strict=True):
            if summed is not array:
                array[...] = summed

    def largest(self, values: np.ndarray) -> np.ndarray:
        """Return the largest of all peers' values, item by item; nan is an error on all peers."""
        values = np.asarray(values)
        if values.dtype.kind not in "fiub":
            raise TypeError(f"numbers are expected, not {values.dtype}")
        has_nan = values.dtype.kind == "f" and bool(np.isnan(values).any())
        with self._exchange():
            heads, rows = self._gather(_Kind.LARGEST, values, has_nan)
            for rank, row in enumerate(rows):
                if (row.dtype, row.shape) != (rows[0].dtype, rows[0].shape):
                    raise self._fail(
                        f"ranks 0 and {rank} disagree about the values of a maximum: "
                        f"{rows[0].dtype} {rows[0].shape} and {row.dtype} {row.shape}"
                    )
        bad = [rank for rank, head in enumerate(heads) if head.has_nan]
        if bad:
            raise ValueError(f"nan has no place among the largest values; rank {bad[0]} has one")
        return find_largest(rows)

    def gather(self, array: np.ndarray) -> list[np.ndarray]:
        """Return the arrays of all peers by rank; shapes and dtypes may differ."""
        array = np.asarray(array)
        if array.dtype.hasobject:
            raise TypeError(f"arrays of objects cannot be sent: {array.dtype}")
        with self._exchange():
            return self._gather(_Kind.GATHER, array)[1]

    def close(self) -> None:
        """Leave the others, who do so at the same time; a second time does nothing."""
        self._leave("")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._leave("" if error is None else f"{type(error).__name__}: {error}".rstrip(": "))
        except PeersError:
            if error is None:
                raise

    # --- exchanges ---

    @contextmanager
    def _exchange(self) -> Iterator[None]:
        """Check that there can be an exchange; end all processes if something interrupts it.

        Afterwards the others would wait for the rest of it. A PeersError is raised by all alike.
        """
        if self._failure is not None:
            raise PeersError(self._failure)
        try:
            yield
        except PeersError:
            raise
        except BaseException:
            if self.size == 1:
                raise
            sys.stderr.write(
                f"rank {self.rank} was interrupted while it exchanged numbers with the other "
                f"processes of its fit, which are ended:\n{traceback.format_exc()}"
            )
            sys.stderr.flush()
            self._comm.Abort(1)
            raise

    def _meet(
        self, kind: _Kind, pieces: Sequence[np.ndarray], form_size: int = 0, has_nan: bool = False
    ) -> tuple[list[_Head], np.ndarray]:
        """Exchange heads, followed by the pieces if they fit into the same message.

        All messages have one size, whatever the processes are about to do: so they meet even if
        they disagree, which then is the same error on all of them.
        """
        views = [view for piece in pieces for view in view_bytes(piece)]
        size = sum(view.nbytes for view in views)
        step = self.n_exchanges & 0xFFFFFFFF
        head = _Head(kind, has_nan, step, self._checksum, form_size, size)
        own = self._block.data
        _HEAD.pack_into(own, 0, *head)
        if size <= self._room:
            first = _HEAD.size
            for view in views:
                own[first : first + view.nbytes] = view
                first += view.nbytes
        blocks = np.empty((self.size, self._block.size), dtype=np.uint8)
        self._comm.Allgather(self._block, blocks)
        heads = [_Head(*_HEAD.unpack_from(block.data)) for block in blocks]
        problem = _find_problem(heads, blocks)
        if problem is not None:
            raise self._fail(problem)
        return heads, blocks

    def _gather(
        self, kind: _Kind, array: np.ndarray, has_nan: bool = False
    ) -> tuple[list[_Head], list[np.ndarray]]:
        array = np.asarray(array, order="C")
        form = np.frombuffer(describe_form(array.dtype, array.shape), dtype=np.uint8)
        heads, blocks = self._meet(kind, [form, array], form.size, has_nan)
        sizes = [head.size if head.size > self._room else 0 for head in heads]
        large = self._gather_bytes([form, array], sizes) if any(sizes) else {}
        arrays = []
        for rank, head in enumerate(heads):
            data = large.get(rank)
            if data is None:  # a copy, because the block has no room for alignment
                data = _find_payload(blocks[rank], head).copy()
            dtype, shape = parse_form(data[: head.form_size].tobytes())
            arrays.append(np.ndarray(shape, dtype, buffer=data, offset=head.form_size))
        self._end(arrays)
        return heads, arrays

    def _gather_bytes(
        self, pieces: Sequence[np.ndarray], sizes: Sequence[int]
    ) -> dict[int, np.ndarray]:
        """Return the bytes that ranks have sent; those of size 0 send nothing."""
        own = np.empty(sizes[self.rank], dtype=np.uint8)
        if own.size:
            np.concatenate(
                [np.frombuffer(v, np.uint8) for p in pieces for v in view_bytes(p)], out=own
            )
        if sum(sizes) <= _MOST_NUMBERS:
            aligned = [size + -size % _ALIGNMENT for size in sizes]
            firsts = [sum(aligned[:k]) for k in range(self.size)]
            data = np.empty(sum(aligned), dtype=np.uint8)
            self._comm.Allgatherv(own, [data, (sizes, firsts)])
            return {k: data[firsts[k] : firsts[k] + size] for k, size in enumerate(sizes) if size}
        found = {}
        for rank, size in enumerate(sizes):
            if size:
                found[rank] = own if rank == self.rank else np.empty(size, dtype=np.uint8)
                for first in range(0, size, _MOST_NUMBERS):
                    self._comm.Bcast(found[rank][first : first + _MOST_NUMBERS], rank)
        return found

    def _end(self, results: Sequence[np.ndarray]) -> None:
        for array in results:
            for view in view_bytes(array):
                self._checksum = zlib.crc32(view[:_CHECKED_BYTES], self._checksum)
        self.n_exchanges += 1

    def _leave(self, problem: str) -> None:
        """Tell the others that this process makes no further exchanges, and why."""
        if self._comm == self._mpi.COMM_NULL:
            return
        try:
            if self._failure is None:
                text = problem.encode()[: self._room]
                with self._exchange():
                    self._meet(_Kind.LEAVE, [np.frombuffer(text, dtype=np.uint8)])
        finally:
            # All are here, or about to be: each knows of the other's end.
            self._failure = self._failure or f"rank {self.rank} has left the fit"
            self._comm.Free()

    def _fail(self, problem: str) -> PeersError:
        self._failure = problem
        return PeersError(problem)


def import_mpi() -> Any:
    """Return ``mpi4py.MPI``, or say what to install."""
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise ImportError(
            f"fits by mpiexec need mpi4py ({error}); pip install 'sumwise[mpi]'"
        ) from None
    except RuntimeError as error:  # mpi4py is there, and the library is not
        raise ImportError(
            f"mpi4py finds no MPI library ({error}); pip install 'sumwise[mpi]' on Linux"
        ) from None
    return MPI


def _find_payload(block: np.ndarray, head: _Head) -> np.ndarray:
    """Return what follows the head of a message."""
    return block[_HEAD.size : _HEAD.size + head.size]


def _find_problem(heads: Sequence[_Head], blocks: np.ndarray) -> str | None:
    """Return why the processes cannot go on, the same text on all of them."""
    for rank, head in enumerate(heads):
        if head.kind == _Kind.LEAVE and head.size:
            text = _find_payload(blocks[rank], head).tobytes()
            return f"rank {rank} has failed: {text.decode(errors='ignore')}"
    first = heads[0]
    for rank, head in enumerate(heads):
        if (head.step, head.checksum) != (first.step, first.checksum):
            return (
                f"ranks 0 and {rank} disagree: they have come to different results before exchange "
                f"{min(first.step, head.step)}"
            )
        if head.kind != first.kind or (head.kind == _Kind.ADD and head.size != first.size):
            return f"ranks 0 and {rank} disagree: {first.describe(0)}, {head.describe(rank)}"
    return None
