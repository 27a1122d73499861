"""From the parameter ``learning_rate`` to the rate of each round."""

import math
from numbers import Real
from typing import Any

import numpy as np

from sumwise.errors import ParameterError
from sumwise.estimators.input.parameters import check_number


def check_learning_rate(estimator: Any) -> float:
    """Return the rate of the first round; refuse what is neither a rate nor a schedule."""
    if is_schedule(estimator.learning_rate):
        return float(_list_rates(estimator, 1)[0])
    return check_number(estimator, "learning_rate", 0.0, open_low=True)


def find_rates(estimator: Any) -> np.ndarray | None:
    """Return the rates of all rounds where they may differ, None where one number is for all.

    They depend on nothing but the number of the round, so a fit that goes on has those of a fit
    that never paused.
    """
    if not is_schedule(estimator.learning_rate):
        return None
    return _list_rates(estimator, int(estimator.n_estimators))


def is_schedule(rate: Any) -> bool:
    """Whether it is a function of the round, or a rate for every round."""
    return callable(rate) or isinstance(rate, (list, tuple, np.ndarray))


def _list_rates(estimator: Any, n_rounds: int) -> np.ndarray:
    rate: Any = estimator.learning_rate
    rates = [rate(k) for k in range(n_rounds)] if callable(rate) else list(rate)
    if len(rates) < n_rounds or not rates:
        raise ParameterError(
            f"{type(estimator).__name__}: learning_rate has {len(rates)} rates, and there are "
            f"n_estimators={n_rounds} rounds; give one for each"
        )
    for k, value in enumerate(rates):
        is_number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
        if not is_number or not 0 < value < math.inf:
            raise ParameterError(
                f"{type(estimator).__name__}: learning_rate of round {k} is {value!r}; must be a "
                "finite number above 0"
            )
    return np.array(rates[:n_rounds], dtype=np.float64)
