"""The port on which a process waits for its peers."""

import socket
from types import TracebackType
from typing import Self

Address = tuple[str, int]

_BACKLOG = 512  # connections that wait while a process is not ready to accept them


class Listener:
    """An open port, whose address a launcher tells to the peers.

    ``SocketPeers.connect`` takes the listener and closes it. One that is not needed after all is
    closed with ``close``.

    Attributes
    ----------
    address : tuple of (str, int)
        Host and port under which the peers reach it.

    Examples
    --------
    >>> from sumwise.sockets import Listener
    >>> with Listener.open("127.0.0.1") as listener:
    ...     host, port = listener.address
    >>> host, port > 0
    ('127.0.0.1', True)
    """

    def __init__(self, opened: socket.socket, address: Address) -> None:
        self.socket = opened
        self.address = address

    @classmethod
    def open(cls, host: str, port: int = 0) -> Self:
        """Open a port of the network interface that ``host`` names; 0 stands for any free port."""
        family, kind, protocol, _, bound = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        opened = socket.socket(family, kind, protocol)
        try:
            opened.bind(bound)
            opened.listen(_BACKLOG)
            opened.setblocking(False)
        except OSError:
            opened.close()
            raise
        return cls(opened, (host, opened.getsockname()[1]))

    def close(self) -> None:
        """Close the port; a second time does nothing."""
        self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def show_address(address: Address) -> str:
    """Return the address as text, ``host:port``."""
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
