"""The Bayesian bootstrap: every row is kept, with a random weight."""

import numpy as np

from sumwise.kernels import random
from sumwise.kernels.choose import draw_bayesian_weights
from sumwise.parts import check_number
from sumwise.sampling.rows import DrawnRows, RowSampler, RowSource


class BayesianBootstrap(RowSampler):
    """Give each row a random weight, anew each round: (-log(u)) ** temperature, u uniform.

    No row is left out. With a temperature of 1, weights are exponential and those of all rows
    together as in Rubin's Bayesian bootstrap; 0 makes all of them 1 (CatBoost's
    ``bagging_temperature``).

    Parameters
    ----------
    temperature : float, default=1.0
        How much weights differ; at least 0.

    Examples
    --------
    >>> from sumwise import BayesianBootstrap, GradientBoostingRegressor
    >>> model = GradientBoostingRegressor(sampler=BayesianBootstrap(temperature=0.5))
    """

    has_factors = True

    def __init__(self, temperature: float = 1.0) -> None:
        self.temperature = temperature

    def check(self) -> None:
        check_number(self, "temperature", 0.0)

    def draw(self, source: RowSource) -> DrawnRows:
        return DrawnRows(source.rows, self.draw_weights(source.rows, source.seed, source.number))

    def draw_weights(self, rows: np.ndarray, seed: int, number: int) -> np.ndarray:
        """Return a weight for each row."""
        weights = np.empty(rows.size)
        key = random.make_key(seed, random.ROWS, number)
        draw_bayesian_weights(key, float(self.temperature), rows, weights)
        return weights
