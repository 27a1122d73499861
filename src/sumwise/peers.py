"""Peers: processes that train one model together, each on rows of its own.

All peers run the same training loop and decide alike, because they decide by the same sums. What
they exchange are sums of integers and maxima, which depend neither on the number of peers nor on
the order in which they arrive: so the model has the same bytes on any number of them.
"""

from typing import Protocol

import numpy as np


class Peers(Protocol):
    """What training asks of the other processes; each call is made by all of them, in step."""

    @property
    def rank(self) -> int:
        """The number of this process, from 0 on."""

    @property
    def size(self) -> int:
        """How many processes there are."""

    def add(self, *arrays: np.ndarray) -> None:
        """Replace each int64 array by the sum of all peers' arrays; any other dtype is an error."""

    def largest(self, values: np.ndarray) -> np.ndarray:
        """Return the largest of all peers' values, item by item; none may be nan."""

    def gather(self, array: np.ndarray) -> list[np.ndarray]:
        """Return the arrays of all peers by rank; their lengths may differ."""


class Alone:
    """A single process, which has all the rows: there is nothing to exchange.

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.peers import Alone
    >>> Alone().size
    1
    >>> Alone().gather(np.arange(3))
    [array([0, 1, 2])]
    """

    rank = 0
    size = 1

    def add(self, *arrays: np.ndarray) -> None:
        """Leave the arrays as they are."""

    def largest(self, values: np.ndarray) -> np.ndarray:
        """Return the values."""
        return values

    def gather(self, array: np.ndarray) -> list[np.ndarray]:
        """Return the array as the only one."""
        return [array]
