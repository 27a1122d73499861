"""Connects all processes of a fit with each other."""

import queue
import socket
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from sumwise.errors import PeersError
from sumwise.sockets.handshake import Identity, confirm, greet, welcome
from sumwise.sockets.links import wait_for
from sumwise.sockets.listener import Address, Listener, show_address

PURPOSES = ("data", "signs of life")

_LONGEST_ATTEMPT = 5.0  # seconds until a host that does not answer is tried again
_LONGEST_GREETING = 10.0  # seconds that a stranger may take
_GRACE = 2.0  # seconds for further handshakes once one was refused

Key = tuple[int, str]  # rank and purpose of a connection


class Mesh:
    """The connections of one process while they are made.

    A process connects to those of lower rank and accepts those of higher rank, twice each. Every
    handshake has a thread of its own, so that a stranger who says nothing delays nobody.
    """

    def __init__(
        self,
        own: Identity,
        addresses: Sequence[Address],
        token: bytes,
        server_tls: ssl.SSLContext | None,
        client_tls: ssl.SSLContext | None,
        deadline: float,
    ) -> None:
        self._own, self._addresses, self._token = own, addresses, token
        self._server_tls, self._client_tls = server_tls, client_tls
        self._deadline = deadline
        self._found: dict[Key, socket.socket] = {}
        self._refused: dict[Key, PeersError] = {}
        self._reasons: dict[int, str] = {}  # why there is no connection yet
        self._news: queue.SimpleQueue[tuple[Key, socket.socket | PeersError]] = queue.SimpleQueue()
        self._accepted: set[Key] = set()
        self._lock = threading.Lock()
        self._is_over = False
        self._unfinished: set[socket.socket] = set()
        self._threads: list[threading.Thread] = []
        self._bell, self._button = socket.socketpair()

    def build(self, listener: Listener) -> dict[tuple[int, str], socket.socket]:
        """Return the connection to each other rank for each purpose."""
        wanted = [
            (rank, purpose)
            for rank in range(self._own.size)
            if rank != self._own.rank
            for purpose in PURPOSES
        ]
        try:
            for rank, purpose in wanted:
                if rank < self._own.rank:
                    self._start(self._connect, rank, purpose)
            while len(self._found) + len(self._refused) < len(wanted):
                self._accept_and_collect(listener, wanted)
            if self._refused:
                raise next(iter(self._refused.values()))
        except BaseException:
            self._finish()
            for sock in self._found.values():
                sock.close()
            raise
        self._finish()
        return self._found

    def _accept_and_collect(self, listener: Listener, wanted: list[tuple[int, str]]) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise next(iter(self._refused.values()), PeersError(self._name_missing(wanted)))
        accepting = listener.socket.fileno()
        readable, _ = wait_for([accepting, self._bell.fileno()], [], left)
        if accepting in readable:
            # A connection may be gone again before it is accepted.
            with suppress(OSError):
                accepted, _ = listener.socket.accept()
                if sum(thread.is_alive() for thread in self._threads) > 4 * self._own.size + 64:
                    accepted.close()  # a crowd of strangers; peers try again
                else:
                    self._start(self._welcome, accepted)
        if self._bell.fileno() in readable:
            self._bell.recv(1)
            key, result = self._news.get()
            if isinstance(result, PeersError):
                # The others should learn of it too, in handshakes of their own.
                self._refused[key] = result
                self._deadline = min(self._deadline, time.monotonic() + _GRACE)
            else:
                self._found[key] = result

    def _name_missing(self, wanted: list[tuple[int, str]]) -> str:
        missing = sorted({rank for rank, purpose in wanted if (rank, purpose) not in self._found})
        named = [
            f"rank {rank} at {show_address(self._addresses[rank])}"
            + (f" ({self._reasons[rank]})" if rank in self._reasons else "")
            for rank in missing
        ]
        return f"rank {self._own.rank} has not been joined in time by {', '.join(named)}"

    def _start(self, work: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=work, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _connect(self, rank: int, purpose: str) -> None:
        """Connect to a rank, again and again until it is there."""
        pause = 0.02
        while not self._is_over:
            try:
                sock = self._open(rank)
                try:
                    greet(sock, self._own, rank, purpose, self._token)
                    self._tell((rank, purpose), sock)
                    return
                except BaseException:
                    self._forget(sock)
                    raise
            except PeersError as error:
                self._tell((rank, purpose), error)
                return
            except OSError as error:
                self._reasons[rank] = error.strerror or str(error) or type(error).__name__
            time.sleep(max(0.0, min(pause, self._deadline - time.monotonic())))
            pause = min(2 * pause, 0.5)

    def _open(self, rank: int) -> socket.socket:
        address = self._addresses[rank]
        left = max(self._deadline - time.monotonic(), 0.01)
        sock = socket.create_connection(address, timeout=min(left, _LONGEST_ATTEMPT))
        sock.settimeout(left)
        if self._client_tls is None:
            return self._remember(sock)
        return self._remember(
            self._client_tls.wrap_socket(
                sock, server_hostname=address[0], do_handshake_on_connect=False
            )
        )

    def _welcome(self, sock: socket.socket) -> None:
        """Find out who has connected; a stranger is forgotten."""
        try:
            left = max(self._deadline - time.monotonic(), 0.01)
            sock.settimeout(min(left, _LONGEST_GREETING))
            if self._server_tls is not None:
                sock = self._server_tls.wrap_socket(
                    sock, server_side=True, do_handshake_on_connect=False
                )
            self._remember(sock)
            key = welcome(sock, self._own, self._token)
            with self._lock:
                is_known = key in self._accepted
                self._accepted.add(key)
            if is_known:
                confirm(sock, f"two processes say that they are rank {key[0]}")
                self._forget(sock)
            else:
                confirm(sock)
                self._tell(key, sock)
        except PeersError as error:
            self._forget(sock)
            self._tell((-1, f"refusal {id(sock)}"), error)
        except OSError:
            self._forget(sock)

    def _remember(self, sock: socket.socket) -> socket.socket:
        """Note a connection whose handshake is not finished, to interrupt it at the end."""
        with self._lock:
            self._unfinished.add(sock)
            is_over = self._is_over
        if is_over:
            self._forget(sock)
            raise ConnectionAbortedError("the attempt is over")
        if isinstance(sock, ssl.SSLSocket):
            sock.do_handshake()
        return sock

    def _forget(self, sock: socket.socket) -> None:
        with self._lock:
            self._unfinished.discard(sock)
        sock.close()

    def _tell(self, key: Key, result: socket.socket | PeersError) -> None:
        with self._lock:
            if isinstance(result, socket.socket):
                self._unfinished.discard(result)
                if self._is_over:
                    result.close()
            if not self._is_over:
                self._news.put((key, result))
                self._button.send(b"!")

    def _finish(self) -> None:
        """End all handshakes that go on, and their threads."""
        with self._lock:
            self._is_over = True
            unfinished = list(self._unfinished)
        for sock in unfinished:
            with suppress(OSError):
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(2 * _LONGEST_ATTEMPT)
        while not self._news.empty():
            _, result = self._news.get()
            if isinstance(result, socket.socket):
                result.close()
        self._bell.close()
        self._button.close()
