"""What callbacks of several libraries share: schedules of the learning rate."""

from collections.abc import Callable, Sequence
from typing import Any

from sumwise.errors import ParameterError


def make_schedule(given: Any, n_rounds: int) -> Callable[[int], float] | Sequence[float]:
    """Return learning rates as sumwise takes them: a function, or one per round."""
    if callable(given):
        return given
    rates = [float(rate) for rate in given]
    if len(rates) < n_rounds:
        raise ParameterError(
            f"the list of learning rates has {len(rates)} entries for {n_rounds} rounds"
        )
    return rates
