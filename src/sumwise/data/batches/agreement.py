"""What peers find in their own rows, brought together; an error of one is an error of all."""

import pickle
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeVar

from sumwise.errors import TrainingError
from sumwise.peers import Peers, gather_objects

Found = TypeVar("Found")


def agree(peers: Peers, work: Callable[[], Found]) -> list[Found]:
    """Return what ``work`` returns on all peers, by rank; it must be small.

    If it raises an error on some of them, all raise that of the first: nobody waits for a peer that
    has given up. ``work`` must not exchange anything.
    """
    if peers.size == 1:
        return [work()]
    found, error = _try(work)
    every = gather_objects(peers, (found, error))
    for _, other in every:
        if other is not None:
            raise other
    return [found for found, _ in every]


def do_alike(peers: Peers, work: Callable[[], Found]) -> Found:
    """Return what ``work`` returns here; if it raises an error on some peers, all raise it."""
    if peers.size == 1:
        return work()
    found, error = _try(work)
    for other in gather_objects(peers, error):
        if other is not None:
            raise other
    result: Any = found
    return result


def _try(work: Callable[[], Found]) -> tuple[Found | None, Exception | None]:
    """Return what ``work`` returns, or an error that can be sent."""
    try:
        return work(), None
    except Exception as error:
        return None, _pack(error)


def _pack(error: Exception) -> Exception:
    """Return an error that can be sent: itself, a plain copy, or at least its text."""
    if _can_be_sent(error):
        return error
    with suppress(Exception):
        copy = type(error)(*error.args)
        if _can_be_sent(copy):
            return copy
    return TrainingError(f"{type(error).__name__}: {error}")


def _can_be_sent(error: Exception) -> bool:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return False
    return True
