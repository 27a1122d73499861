"""From the parameter ``learning_rate`` to the rate of each round."""

import math
from typing import Any

import numpy as np

from sumwise.errors import ParameterError
from sumwise.estimators.boosting.parameters import BoostingParameters
from sumwise.estimators.input.parameters import check_number
from sumwise.parts import is_number


def check_learning_rate(params: BoostingParameters) -> float:
    """Return the rate of the first round; refuse what is neither a rate nor a schedule."""
    if _is_schedule(params.learning_rate):
        return float(_list_rates(params, 1)[0])
    return check_number(params, "learning_rate", 0.0, open_low=True)


def find_rates(params: BoostingParameters) -> np.ndarray | None:
    """Return one rate per round for a schedule, None for a constant rate.

    Rates depend only on the number of the round, so a continued fit uses the same rates as an
    uninterrupted one.
    """
    if not _is_schedule(params.learning_rate):
        return None
    return _list_rates(params, int(params.n_estimators))


def _is_schedule(rate: Any) -> bool:
    """Whether it is a function of the round, or a sequence of rates."""
    return callable(rate) or isinstance(rate, (list, tuple, np.ndarray))


def _list_rates(params: BoostingParameters, n_rounds: int) -> np.ndarray:
    rate, name = params.learning_rate, type(params).__name__
    rates = [rate(k) for k in range(n_rounds)] if callable(rate) else list(rate)
    if len(rates) < n_rounds or not rates:
        raise ParameterError(
            f"{name}: learning_rate has {len(rates)} rates, and there are n_estimators={n_rounds} "
            "rounds; give one for each"
        )
    for k, value in enumerate(rates):
        if not is_number(value) or not 0 < value < math.inf:
            raise ParameterError(
                f"{name}: learning_rate of round {k} is {value!r}; must be a finite number above 0"
            )
    return np.array(rates[:n_rounds], dtype=np.float64)
