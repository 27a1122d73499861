"""What peers find in their own rows, brought together; an error of one is an error of all."""

from collections.abc import Callable
from typing import TypeVar

from sumwise.errors import SumwiseError
from sumwise.peers import Peers, gather_objects

Found = TypeVar("Found")


def agree(peers: Peers, work: Callable[[], Found]) -> list[Found]:
    """Return what ``work`` returns on all peers, by rank; it must be small.

    If it raises an error on some of them, all raise that of the first: nobody waits for a peer that
    has given up.
    """
    if peers.size == 1:
        return [work()]
    found, error = None, None
    try:
        found = work()
    except SumwiseError as own:
        error = own
    every = gather_objects(peers, (found, error))
    for _, other in every:
        if other is not None:
            raise other
    return [found for found, _ in every]
