"""How two processes make sure, on a new connection, that they belong to the same fit.

Both prove that they know the token of the fit; the token itself is never sent. Only then do they
believe what the other says about itself.

    connector -> acceptor: greeting
    acceptor -> connector: greeting, proof
    connector -> acceptor: proof
    acceptor -> connector: verdict

All versions of sumwise must understand this exchange, so its format never changes. What follows it
may change with ``PROTOCOL``.
"""

import hmac
import json
import secrets
import socket
import sys
from dataclasses import dataclass
from typing import Any

from sumwise.errors import PeersError

PROTOCOL = 1

_MAGIC = b"sumwise\n"
_LONGEST = 65_536  # bytes of a greeting


class StrangerError(ConnectionError):
    """The other end is no peer of this fit."""


@dataclass(frozen=True)
class Identity:
    """What a process says about itself."""

    rank: int
    size: int
    version: str
    protocol: int

    def describe(self) -> str:
        return f"rank {self.rank} has sumwise {self.version} with protocol {self.protocol}"


def identify(rank: int, size: int) -> Identity:
    """Return the identity of this process."""
    return Identity(rank, size, sys.modules["sumwise"].__version__, PROTOCOL)


def greet(sock: socket.socket, own: Identity, rank: int, purpose: str, token: bytes) -> None:
    """Introduce this process to the one that accepts, which should be ``rank``."""
    words = {"to": rank, "purpose": purpose}
    sent = _send(sock, {**vars(own), **words, "nonce": secrets.token_hex(16)})
    answer, received = _receive(sock)
    _check_proof(sock, token, b"acceptor" + sent + received)
    sock.sendall(_prove(token, b"connector" + sent + received))
    other = _read_identity(answer)
    _compare(own, other)
    if other.rank != rank:
        raise PeersError(
            f"rank {own.rank} found rank {other.rank} at the address of rank {rank}: "
            "all processes need the same list of addresses"
        )
    verdict, _ = _receive(sock)
    if verdict.get("error"):
        raise PeersError(str(verdict["error"]))


def welcome(sock: socket.socket, own: Identity, token: bytes) -> tuple[int, str]:
    """Return the rank that has connected and what for; ``confirm`` has to follow."""
    words, received = _receive(sock)
    sent = _send(sock, {**vars(own), "nonce": secrets.token_hex(16)})
    sock.sendall(_prove(token, b"acceptor" + received + sent))
    _check_proof(sock, token, b"connector" + received + sent)
    other = _read_identity(words)
    _compare(own, other)
    if words.get("to") != own.rank or not own.rank < other.rank < own.size:
        raise PeersError(
            f"rank {other.rank} took rank {own.rank} for rank {words.get('to')}: "
            "all processes need the same list of addresses"
        )
    return other.rank, str(words.get("purpose"))


def confirm(sock: socket.socket, error: str | None = None) -> None:
    """Tell the process that has connected whether the connection is used."""
    _send(sock, {"error": error})


def _compare(own: Identity, other: Identity) -> None:
    first, second = sorted((own, other), key=lambda identity: identity.rank)
    if (own.version, own.protocol) != (other.version, other.protocol):
        raise PeersError(
            f"{first.describe()}, {second.describe()}: all processes need the same version"
        )
    if own.size != other.size:
        raise PeersError(
            f"rank {first.rank} was told of {first.size} processes, rank {second.rank} of "
            f"{second.size}: all need the same list of addresses"
        )


def _read_identity(words: dict[str, Any]) -> Identity:
    try:
        return Identity(
            int(words["rank"]), int(words["size"]), str(words["version"]), int(words["protocol"])
        )
    except (KeyError, TypeError, ValueError):
        raise StrangerError("the greeting cannot be read") from None


def _prove(token: bytes, greetings: bytes) -> bytes:
    return hmac.digest(token, greetings, "sha256")


def _check_proof(sock: socket.socket, token: bytes, greetings: bytes) -> None:
    expected = _prove(token, greetings)
    if not hmac.compare_digest(_receive_exactly(sock, len(expected)), expected):
        raise StrangerError("the other process has another token: it belongs to another fit")


def _send(sock: socket.socket, words: dict[str, Any]) -> bytes:
    text = json.dumps(words).encode()
    sock.sendall(_MAGIC + len(text).to_bytes(4, "little") + text)
    return text


def _receive(sock: socket.socket) -> tuple[dict[str, Any], bytes]:
    if _receive_exactly(sock, len(_MAGIC)) != _MAGIC:
        raise StrangerError("the other end is not sumwise")
    size = int.from_bytes(_receive_exactly(sock, 4), "little")
    if size > _LONGEST:
        raise StrangerError("the greeting is too long")
    text = _receive_exactly(sock, size)
    try:
        words = json.loads(text)
    except ValueError:
        raise StrangerError("the greeting cannot be read") from None
    if not isinstance(words, dict):
        raise StrangerError("the greeting cannot be read")
    return words, text


def _receive_exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        received = sock.recv(size - len(data))
        if not received:
            raise StrangerError("the connection was closed")
        data += received
    return data
