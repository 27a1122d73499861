"""Schedules of the learning rate, as callbacks of other libraries have them."""

from typing import Any

from sumwise.errors import ParameterError


def make_schedule(given: Any, n_rounds: int) -> list[float]:
    """Return the learning rate of each round, from a function of the round or a sequence."""
    rates = [float(rate) for rate in (map(given, range(n_rounds)) if callable(given) else given)]
    if len(rates) < n_rounds:
        raise ParameterError(
            f"the list of learning rates has {len(rates)} entries for {n_rounds} rounds"
        )
    return rates
