"""The messages of one exchange: sent and received at the same time, however large they are."""

from collections.abc import Mapping
from types import TracebackType

import numpy as np

from sumwise.errors import PeersError
from sumwise.sockets.links import Link, wait_for
from sumwise.sockets.messages import HEAD_SIZE, Head, parse_form, view_bytes
from sumwise.sockets.reduce import Pieces
from sumwise.sockets.watch import Failure, Watch


class _BrokenLink(Exception):  # noqa: N818 - does not leave this module
    """A data connection has failed."""

    def __init__(self, rank: int, problem: OSError) -> None:
        super().__init__(problem)
        self.rank, self.problem = rank, str(problem)


class _Message:
    """What a peer sends, while it arrives.

    Without ``room``, memory is taken as soon as its size is known.
    """

    def __init__(self, rank: int, room: Pieces | None) -> None:
        self.rank = rank
        self.head = bytearray(HEAD_SIZE)
        self.n_missing = HEAD_SIZE  # bytes of the head
        self.needs_room = room is None
        self.views = [memoryview(self.head)]
        for piece in room or ():
            self.views += view_bytes(piece)


class Exchange:
    """The messages of one call, between this process and its peers.

    As a context manager, it turns whatever interrupts the messages into the failure of all: after
    a part of a message, the next one cannot be understood.
    """

    def __init__(self, rank: int, links: Mapping[int, Link], watch: Watch, head: Head) -> None:
        self._rank, self._links, self._watch, self._head = rank, links, watch, head
        self._arrays: dict[int, tuple[int, np.ndarray]] = {}
        self.bytes_sent = self.bytes_received = 0

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, _BrokenLink):
            raise PeersError(self._watch.explain(error.rank, error.problem).text) from None
        if error is not None and not isinstance(error, PeersError):
            reason = f"rank {self._rank} was interrupted by {type(error).__name__}: {error}"
            self._watch.report(Failure(reason.removesuffix(": ")))

    def trade(
        self, stage: int, outgoing: Mapping[int, Pieces], incoming: Mapping[int, Pieces | None]
    ) -> None:
        """Send arrays to ranks and receive others; None stands for an array of unknown size."""
        head = self._head.at_stage(stage)
        packed = head.pack()
        sending, receiving = {}, {}
        for rank, pieces in outgoing.items():
            views = [memoryview(packed)]
            for piece in pieces:
                views += view_bytes(piece)
            if not self._send(rank, views):
                sending[self._links[rank].fd] = rank, views
        for rank, room in incoming.items():
            message = _Message(rank, room)
            # What TLS has decrypted already would not be seen by waiting.
            is_there = self._links[rank].is_encrypted and self._receive(message, head, packed)
            if not is_there:
                receiving[self._links[rank].fd] = message
        alarm = self._watch.alarm.fileno()
        while sending or receiving:
            readable, writable = wait_for([alarm, *receiving], sending)
            if alarm in readable:
                self._watch.check()
            for fd in readable:
                if fd in receiving and self._receive(receiving[fd], head, packed):
                    del receiving[fd]
            for fd in writable:
                if fd in sending and self._send(*sending[fd]):
                    del sending[fd]

    def read_array(self, rank: int) -> np.ndarray:
        """Return the array that a rank has sent."""
        form_size, data = self._arrays[rank]
        dtype, shape = parse_form(data[:form_size].tobytes())
        return np.ndarray(shape, dtype, buffer=data, offset=form_size)

    def _send(self, rank: int, views: list[memoryview]) -> bool:
        """Send what can be sent at once; return whether that was all."""
        try:
            while views:
                size = self._links[rank].send(views)
                if size == 0:
                    return False
                self.bytes_sent += size
        except OSError as problem:
            raise _BrokenLink(rank, problem) from None
        return True

    def _receive(self, message: _Message, head: Head, packed: bytes) -> bool:
        """Receive what is there; return whether that was all."""
        try:
            while message.views:
                size = self._links[message.rank].receive(message.views)
                if size == 0:
                    return False
                self.bytes_received += size
                if message.n_missing > 0:
                    message.n_missing -= size
                    if message.n_missing <= 0:
                        self._read_head(message, head, packed)
        except OSError as problem:
            if isinstance(problem, PeersError):
                raise
            raise _BrokenLink(message.rank, problem) from None
        return True

    def _read_head(self, message: _Message, own: Head, packed: bytes) -> None:
        """Compare what the peer does with what this process does, before its numbers are used."""
        if message.head != packed:
            other = Head.unpack(message.head)
            if other is None or not own.agrees_with(other):
                raise PeersError(self._watch.report(self._disagree(message.rank, own, other)).text)
        if message.needs_room:
            other = Head.unpack(message.head)
            assert other is not None
            data = np.empty(other.size, dtype=np.uint8)
            self._arrays[message.rank] = other.form_size, data
            message.views += view_bytes(data)

    def _disagree(self, rank: int, own: Head, other: Head | None) -> Failure:
        (first, one), (second, two) = sorted(
            [(self._rank, own), (rank, other)], key=lambda pair: pair[0]
        )
        if other is not None and (own.step, own.checksum) != (other.step, other.checksum):
            problem = f"they have come to different results before exchange {own.step}"
        else:
            shown = [
                "something unknown" if head is None else head.describe() for head in (one, two)
            ]
            problem = f"rank {first} sends {shown[0]}, rank {second} {shown[1]}"
        return Failure(f"ranks {first} and {second} disagree: {problem}")
