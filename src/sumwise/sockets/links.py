"""Connections that are read and written without waiting, and the wait for several of them."""

import math
import select
import socket
import ssl
from collections.abc import Collection
from contextlib import suppress

_MOST_VIEWS = 64  # buffers of one call; systems allow 1,024
_WOULD_BLOCK = (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError)


class Link:
    """A connection to a peer.

    ``send`` and ``receive`` move as many bytes as they can at once. They remove them from the front
    of the list of buffers and return their number.
    """

    def __init__(self, connected: socket.socket) -> None:
        connected.setblocking(False)
        # Small messages must not wait until they fill a packet.
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket = connected
        self.fd = connected.fileno()
        self.is_encrypted = isinstance(connected, ssl.SSLSocket)
        self._takes_lists = not self.is_encrypted and hasattr(connected, "sendmsg")

    def send(self, views: list[memoryview]) -> int:
        """Send from the views; 0 if the connection takes nothing now."""
        try:
            if self._takes_lists:
                size = self.socket.sendmsg(views[:_MOST_VIEWS])
            else:
                size = self.socket.send(views[0])
        except _WOULD_BLOCK:
            return 0
        advance(views, size)
        return size

    def receive(self, views: list[memoryview]) -> int:
        """Receive into the views; 0 if nothing is there. A closed connection is an error."""
        try:
            if self._takes_lists:
                size = self.socket.recvmsg_into(views[:_MOST_VIEWS])[0]
            else:
                size = self.socket.recv_into(views[0])
        except _WOULD_BLOCK:
            return 0
        if size == 0:
            raise ConnectionResetError("the connection was closed")
        advance(views, size)
        return size

    def close(self) -> None:
        """Close the connection once everything that was sent has arrived."""
        with suppress(OSError):
            # Not the method of TLS sockets: that forgets their state.
            socket.socket.shutdown(self.socket, socket.SHUT_WR)
        with suppress(OSError):
            self.socket.close()


def advance(views: list[memoryview], size: int) -> None:
    """Remove this number of bytes from the front of the views."""
    n_done = 0
    while n_done < len(views) and size >= len(views[n_done]):
        size -= len(views[n_done])
        n_done += 1
    del views[:n_done]
    if size:
        views[0] = views[0][size:]


def wait_for(
    readers: Collection[int], writers: Collection[int], timeout: float | None = None
) -> tuple[list[int], list[int]]:
    """Wait until one of the connections can be read or written; return those that can.

    Connections that have failed count as both.
    """
    if not hasattr(select, "poll"):  # Windows
        readable, writable, failed = select.select(readers, writers, writers, timeout)
        return readable, [*writable, *failed]
    poll = select.poll()
    for fd in readers:
        poll.register(fd, select.POLLIN)
    for fd in writers:
        poll.register(fd, select.POLLOUT | (select.POLLIN if fd in readers else 0))
    events = poll.poll(None if timeout is None else math.ceil(max(timeout, 0) * 1000))
    return (
        [fd for fd, event in events if event & ~select.POLLOUT],
        [fd for fd, event in events if event & ~select.POLLIN],
    )
