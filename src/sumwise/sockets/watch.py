"""A thread that watches over the peers, on connections of its own.

It sends signs of life, so that a process that hangs or was stopped is told from one that computes
for long. It finds out that a peer is lost, and tells all others of it.
"""

import os
import socket
import struct
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from sumwise.errors import PeersError
from sumwise.sockets.links import Link, wait_for
from sumwise.sockets.listener import Address, show_address

_HEAD = struct.Struct("<BiI")  # what, the lost rank or -1, length of the text that follows
_ALIVE, _FAILED, _LEAVES = range(3)
_LONGEST_TEXT = 100_000
_FAREWELL = 2.0  # seconds for the last messages
_SIGNS_PER_SILENCE = 6  # so that some may be late


@dataclass(frozen=True)
class Failure:
    """Why the fit cannot go on."""

    text: str
    lost: int | None = None  # the rank that was lost


class _Wire:
    """A connection to the watch of a peer."""

    def __init__(self, connected: socket.socket) -> None:
        self.link = Link(connected)
        self.unsent: list[memoryview] = []
        self.received = bytearray()
        self.last_sign = time.monotonic()


class Watch:
    """Watches over the peers; ``alarm`` becomes readable when one has failed."""

    def __init__(
        self,
        rank: int,
        addresses: Sequence[Address],
        connected: dict[int, socket.socket],
        silence: float,
    ) -> None:
        self._rank, self._addresses, self._silence = rank, addresses, silence
        self._wires = {other: _Wire(sock) for other, sock in connected.items()}
        self.alarm, self._siren = socket.socketpair()
        self._bell, self._button = socket.socketpair()
        for end in (self._siren, self._bell, self._button):
            end.setblocking(False)
        self._changed = threading.Condition()
        self.failure: Failure | None = None
        self._left: set[int] = set()
        self._closes_at: float | None = None
        self._process = os.getpid()
        self._thread = threading.Thread(target=self._run, name="sumwise peers", daemon=True)
        self._thread.start()

    def report(self, failure: Failure) -> Failure:
        """Tell all peers that the fit has failed; return the failure that came first."""
        with self._changed:
            if self.failure is None and self._closes_at is None:
                self.failure = failure
                text = failure.text.encode()[:_LONGEST_TEXT]
                lost = -1 if failure.lost is None else failure.lost
                self._queue(_FAILED, lost, text)
                self._siren.send(b"!")
                self._changed.notify_all()
                self._wake()
            return self.failure or failure

    def check(self) -> None:
        """Raise the failure of the fit, if it has failed."""
        if self.failure is not None:
            raise PeersError(self.failure.text)

    def explain(self, rank: int, problem: str) -> Failure:
        """Return why the data connection to a rank is broken.

        Mostly the process at the other end has ended; the watch is about to learn it, or has
        already heard the reason.
        """
        with self._changed:
            self._changed.wait_for(lambda: self.failure or rank in self._left, _FAREWELL)
            if self.failure is None and rank in self._left:
                return self.report(Failure(f"{self._name(rank)} has left the fit", rank))
        return self.report(Failure(f"{self._name(rank)} was lost: {problem}", rank))

    def close(self) -> None:
        """Say goodbye and end the thread; a second time does nothing."""
        if os.getpid() != self._process:  # a fork, which has the sockets but not the thread
            self._close_sockets()
            return
        with self._changed:
            if self._closes_at is None:
                self._closes_at = time.monotonic() + _FAREWELL
                self._queue(_LEAVES)
                self._wake()
        if threading.current_thread() is not self._thread:  # it may be, by garbage collection
            self._thread.join()

    def _name(self, rank: int) -> str:
        return f"rank {rank} ({show_address(self._addresses[rank])})"

    def _queue(self, what: int, lost: int = -1, text: bytes = b"") -> None:
        message = memoryview(_HEAD.pack(what, lost, len(text)) + text)
        for wire in self._wires.values():
            wire.unsent.append(message)

    def _wake(self) -> None:
        with suppress(OSError):  # closed, or full of calls that were not heard yet
            self._button.send(b"!")

    def _run(self) -> None:
        try:
            self._watch()
        except BaseException as error:
            self.report(Failure(f"the watch of rank {self._rank} has failed: {error!r}"))
        finally:
            self._close_sockets()

    def _watch(self) -> None:
        pause = self._silence / _SIGNS_PER_SILENCE
        next_sign = time.monotonic()
        while True:
            now = time.monotonic()
            if now >= next_sign:
                self._give_sign()
                next_sign = now + pause
            self._send()
            if self._is_done(now):
                return
            until = next_sign if self._closes_at is None else min(next_sign, self._closes_at)
            self._receive(until - now)
            self._find_silent()

    def _give_sign(self) -> None:
        message = memoryview(_HEAD.pack(_ALIVE, -1, 0))
        with self._changed:
            for wire in self._wires.values():
                if not wire.unsent:
                    wire.unsent.append(message)

    def _send(self) -> None:
        for rank, wire in list(self._wires.items()):
            try:
                with self._changed:
                    while wire.unsent and wire.link.send(wire.unsent):
                        pass
            except OSError as error:
                self._lose(rank, str(error))

    def _is_done(self, now: float) -> bool:
        with self._changed:
            unsent = any(wire.unsent for wire in self._wires.values())
            return self._closes_at is not None and (not unsent or now >= self._closes_at)

    def _receive(self, timeout: float) -> None:
        bell = self._bell.fileno()
        ranks = {wire.link.fd: rank for rank, wire in self._wires.items()}
        writers = [wire.link.fd for wire in self._wires.values() if wire.unsent]
        readable, _ = wait_for([bell, *ranks], writers, timeout)
        if bell in readable:
            with suppress(BlockingIOError):
                self._bell.recv(4096)
        for fd in readable:
            if fd in ranks:
                self._listen(ranks[fd])

    def _listen(self, rank: int) -> None:
        wire = self._wires[rank]
        buffer = bytearray(4096)
        try:
            while size := wire.link.receive([memoryview(buffer)]):
                wire.received += buffer[:size]
        except OSError as error:
            self._understand(rank, wire)
            self._lose(rank, str(error))
        else:
            self._understand(rank, wire)

    def _understand(self, rank: int, wire: _Wire) -> None:
        """Act on the messages that have arrived completely."""
        while len(wire.received) >= _HEAD.size:
            what, lost, length = _HEAD.unpack_from(wire.received)
            if len(wire.received) < _HEAD.size + length:
                return
            text = bytes(wire.received[_HEAD.size : _HEAD.size + length])
            del wire.received[: _HEAD.size + length]
            wire.last_sign = time.monotonic()
            if what == _FAILED:
                reason = text.decode(errors="replace")
                self.report(Failure(reason, None if lost < 0 else lost))
            elif what == _LEAVES:
                with self._changed:
                    self._left.add(rank)
                    self._changed.notify_all()

    def _find_silent(self) -> None:
        # What has arrived was read before: a process that was stopped itself blames nobody.
        now = time.monotonic()
        for rank, wire in list(self._wires.items()):
            if now - wire.last_sign > self._silence and rank not in self._left:
                self._lose(rank, f"it has given no sign of life for {self._silence:g} seconds")

    def _lose(self, rank: int, problem: str) -> None:
        """Give up the connection to a rank; unless that has left, the fit has failed."""
        with self._changed:
            wire = self._wires.pop(rank)
            wire.link.close()
        if rank not in self._left:
            self.report(Failure(f"{self._name(rank)} was lost: {problem}", rank))

    def _close_sockets(self) -> None:
        for wire in self._wires.values():
            wire.link.close()
        for end in (self.alarm, self._siren, self._bell, self._button):
            end.close()
