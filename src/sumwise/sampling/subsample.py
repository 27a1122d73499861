"""Row sampling without replacement: stochastic gradient boosting."""

from typing import Protocol, runtime_checkable

import numpy as np

from sumwise.kernels import random
from sumwise.parts import Part, check_rate


@runtime_checkable
class RowSampler(Protocol):
    """Chooses the rows of a round."""

    def check(self) -> None:
        """Raise ParameterError if a parameter cannot be used."""

    def sample(self, rows: np.ndarray, seed: int, round_idx: int) -> np.ndarray:
        """Return the rows of a round, in ascending order."""


class Subsample(Part):
    """Grow each round's trees on a random share of the rows, drawn without replacement.

    Parameters
    ----------
    rate : float, default=0.8
        Share of the rows, in (0, 1].

    Examples
    --------
    >>> from sumwise import GradientBoostingRegressor, Subsample
    >>> GradientBoostingRegressor(sampler=Subsample(rate=0.5)).get_params()["sampler__rate"]
    0.5
    """

    def __init__(self, rate: float = 0.8) -> None:
        self.rate = rate

    def check(self) -> None:
        check_rate(self, "rate")

    def sample(self, rows: np.ndarray, seed: int, round_idx: int) -> np.ndarray:
        chosen = np.empty(max(1, round(self.rate * rows.size)), dtype=np.uint32)
        random.choose_rows(random.make_key(seed, random.ROWS, round_idx), rows, chosen)
        return chosen
