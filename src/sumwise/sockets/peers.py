"""Processes that train one model together, connected by TCP sockets."""

import ssl
import time
import weakref
import zlib
from collections.abc import Sequence
from types import TracebackType
from typing import Self

import numpy as np

from sumwise.errors import PeersError
from sumwise.sockets.exchange import Exchange
from sumwise.sockets.handshake import identify
from sumwise.sockets.links import Link
from sumwise.sockets.listener import Address, Listener
from sumwise.sockets.mesh import PURPOSES, Mesh
from sumwise.sockets.messages import Head, Kind, describe_form, view_bytes
from sumwise.sockets.reduce import Numbers, choose_sum, find_largest, order_others
from sumwise.sockets.watch import Failure, Watch


class SocketPeers:
    """One of several processes that are all connected with each other.

    Made by ``SocketPeers.connect``. All calls but ``abort`` and ``close`` are made by all processes
    in the same order. When one of them is lost, all others get a ``PeersError`` that names it, in
    the current call or the next; every later call raises it again.

    Attributes
    ----------
    rank : int
        The number of this process, from 0 on.
    size : int
        How many processes there are.
    lost : int or None
        The rank that was lost, if one was.
    n_exchanges : int
        How many sums, maxima and gathered arrays there have been.
    bytes_sent, bytes_received : int
        What they took, without the signs of life.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.sockets import Listener, SocketPeers
    >>> listener = Listener.open("127.0.0.1")
    >>> with SocketPeers.connect(0, listener, [listener.address], token=b"secret") as peers:
    ...     peers.gather(np.arange(3))
    [array([0, 1, 2])]
    """

    def __init__(self, rank: int, links: dict[int, Link], watch: Watch) -> None:
        self.rank, self.size = rank, len(links) + 1
        self.n_exchanges = self.bytes_sent = self.bytes_received = 0
        self._links, self._watch = links, watch
        self._checksum = 0
        self._close = weakref.finalize(self, _close, watch, list(links.values()))

    @classmethod
    def connect(
        cls,
        rank: int,
        listener: Listener,
        addresses: Sequence[Address],
        token: bytes,
        *,
        server_tls: ssl.SSLContext | None = None,
        client_tls: ssl.SSLContext | None = None,
        timeout: float = 60,
        silence: float = 30,
    ) -> Self:
        """Connect this process with all others; each of them makes this call.

        Parameters
        ----------
        rank : int
            The number of this process, from 0 on.
        listener : Listener
            The open port of this process. It is closed at the end, in any case.
        addresses : sequence of (str, int)
            Host and port of the listeners of all processes, by rank.
        token : bytes
            A secret that only the processes of this fit know: ``secrets.token_bytes(32)``.
            Connections of others are refused.
        server_tls, client_tls : ssl.SSLContext, optional
            Encrypt the connections that this process accepts and those that it opens.
        timeout : float, default=60
            Seconds until all processes have to be connected.
        silence : float, default=30
            Seconds without a sign of life after which a process is lost.

        Returns
        -------
        peers : SocketPeers

        Raises
        ------
        PeersError
            If a process is missing, or has another version of sumwise.
        """
        if not 0 <= rank < len(addresses):
            listener.close()
            raise ValueError(f"rank {rank} has no address: there are {len(addresses)}")
        mesh = Mesh(
            identify(rank, len(addresses)),
            addresses,
            token,
            server_tls,
            client_tls,
            time.monotonic() + timeout,
        )
        with listener:
            connected = mesh.build(listener)
        ranks = order_others(rank, len(addresses))
        data, life = ({k: connected[k, purpose] for k in ranks} for purpose in PURPOSES)
        watch = Watch(rank, addresses, life, silence)
        return cls(rank, {k: Link(sock) for k, sock in data.items()}, watch)

    @property
    def lost(self) -> int | None:
        """The rank that was lost, if one was."""
        failure = self._watch.failure
        return None if failure is None else failure.lost

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
        exchange = self._begin(Kind.ADD, 8 * numbers.size)
        if self.size > 1:
            add = choose_sum(8 * numbers.size, self.size)
            with exchange:
                add(exchange.trade, numbers, self.rank, self.size)
        for array, summed in zip(arrays, dense, strict=True):
            if summed is not array:
                array[...] = summed
        self._end(exchange, dense)

    def largest(self, values: np.ndarray) -> np.ndarray:
        """Return the largest of all peers' values, item by item; nan is an error."""
        values = np.asarray(values)
        if values.dtype.kind not in "fiub":
            raise TypeError(f"numbers are expected, not {values.dtype}")
        if values.dtype.kind == "f" and np.isnan(values).any():
            raise ValueError("nan has no place among the largest values")
        rows = self._gather(Kind.LARGEST, values)
        for rank, row in enumerate(rows):
            if (row.dtype, row.shape) != (values.dtype, values.shape):
                raise self._fail(
                    Failure(
                        f"ranks {self.rank} and {rank} disagree about the values of a maximum: "
                        f"{values.dtype} {values.shape} and {row.dtype} {row.shape}"
                    )
                )
        return find_largest(rows)

    def gather(self, array: np.ndarray) -> list[np.ndarray]:
        """Return the arrays of all peers by rank; shapes and dtypes may differ."""
        array = np.asarray(array)
        if array.dtype.hasobject:
            raise TypeError(f"arrays of objects cannot be sent: {array.dtype}")
        return self._gather(Kind.GATHER, array)

    def abort(self, reason: str) -> None:
        """End the fit for all: the current or next call of every peer raises PeersError.

        This process can make no further exchanges either.
        """
        self._watch.report(Failure(f"rank {self.rank} has given up: {reason}"))

    def close(self) -> None:
        """Leave the other processes; a second time does nothing."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is not None:
            self.abort(f"{type(error).__name__}: {error}")
        self.close()

    def _gather(self, kind: Kind, array: np.ndarray) -> list[np.ndarray]:
        own = np.asarray(array, order="C")
        form = np.frombuffer(describe_form(own.dtype, own.shape), dtype=np.uint8)
        exchange = self._begin(kind, form.size + own.nbytes, form.size)
        others = order_others(self.rank, self.size)
        with exchange:
            exchange.trade(0, dict.fromkeys(others, (form, own)), dict.fromkeys(others))
        arrays = [
            own if rank == self.rank else exchange.read_array(rank) for rank in range(self.size)
        ]
        self._end(exchange, arrays)
        return arrays

    def _begin(self, kind: Kind, size: int, form_size: int = 0) -> Exchange:
        self._watch.check()
        if not self._close.alive:
            raise PeersError(f"rank {self.rank} has left the fit")
        step = self.n_exchanges & 0xFFFFFFFF
        head = Head(kind, 0, step, self._checksum, form_size, size)
        return Exchange(self.rank, self._links, self._watch, head)

    def _end(self, exchange: Exchange, results: Sequence[np.ndarray]) -> None:
        for array in results:
            for view in view_bytes(array):
                self._checksum = zlib.crc32(view, self._checksum)
        self.n_exchanges += 1
        self.bytes_sent += exchange.bytes_sent
        self.bytes_received += exchange.bytes_received

    def _fail(self, failure: Failure) -> PeersError:
        return PeersError(self._watch.report(failure).text)


def _close(watch: Watch, links: list[Link]) -> None:
    watch.close()
    for link in links:
        link.close()
