"""Peers that are connected by TCP sockets, with or without TLS.

Any launcher may start the processes. Each opens a ``Listener``, tells its address to the others,
and calls ``SocketPeers.connect`` with the addresses of all.
"""

from sumwise.sockets.listener import Listener
from sumwise.sockets.peers import SocketPeers

__all__ = ["Listener", "SocketPeers"]
