"""Reading the argument ``rounds`` of predictions."""

from numbers import Integral
from typing import Any

from sumwise.errors import ParameterError
from sumwise.parts import is_number


def read_rounds(rounds: Any, n_rounds: int) -> tuple[int, int]:
    """Return the first round and the one after the last, counted from 0.

    Parameters
    ----------
    rounds : int, pair of int or slice
        The number of first rounds; the first round and the one after the last; or a slice, in which
        negative numbers count from the end.
    n_rounds : int
        Rounds of the model.
    """
    first, last, step = 0, rounds, 1
    if isinstance(rounds, slice):
        first, last, step = rounds.indices(n_rounds)
    elif isinstance(rounds, (tuple, list)) and len(rounds) == 2:
        first, last = rounds
    if not all(is_number(end, Integral) for end in (first, last)) or step != 1:
        raise ParameterError(
            f"rounds={rounds!r}; must be a number of rounds, a pair (first, last) or a slice "
            "without a step"
        )
    if not 0 <= first < last <= n_rounds:
        raise ParameterError(
            f"rounds={rounds!r}: the range from {first} up to {last} is empty or goes beyond the "
            f"model, which has rounds 0 to {n_rounds - 1}"
        )
    return int(first), int(last)
