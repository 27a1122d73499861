"""The Bayesian bootstrap: every row is kept, with a random weight."""

import numpy as np

from sumwise.kernels.runtime import random
from sumwise.kernels.sampling.by_gradient import draw_bayesian_weights
from sumwise.parts import check_number
from sumwise.sampling.peer_draws import number_rows
from sumwise.sampling.rows import DrawnRows, RowSampler, RowSource

# -log(u) is at most 37. Its power, and sums of many powers, must be finite.
_HOTTEST = 100.0


class BayesianBootstrap(RowSampler):
    """Give each row a random weight: (-log(u)) ** temperature, u uniform.

    Boosting draws new weights in every round, bagging and forests for every member. The weights of
    a member multiply the sample weights and have the same sum (the number of rows without sample
    weights). No row is left out, so there are no out-of-bag rows.

    With a temperature of 1, weights are exponential, as in Rubin's Bayesian bootstrap; with 0 they
    are all 1 (CatBoost's ``bagging_temperature``).

    Parameters
    ----------
    temperature : float, default=1.0
        How much weights vary, from 0 to 100. Larger values would overflow float64.

    Examples
    --------
    >>> from sumwise import BayesianBootstrap, GradientBoostingRegressor
    >>> model = GradientBoostingRegressor(sampler=BayesianBootstrap(temperature=0.5))
    """

    has_factors = True
    gives_counts = False
    leaves_rows_out = False
    works_among_peers = True

    def __init__(self, temperature: float = 1.0) -> None:
        self.temperature = temperature

    def check(self) -> None:
        check_number(self, "temperature", 0.0, _HOTTEST)

    def draw(self, source: RowSource) -> DrawnRows:
        numbers = source.rows if source.shards is None else number_rows(source, source.shards)
        return DrawnRows(source.rows, self.draw_weights(numbers, source.seed, source.number))

    def draw_weights(self, rows: np.ndarray, seed: int, number: int) -> np.ndarray:
        """Return one weight per row; it depends on the row's number in the whole data."""
        return self._draw(random.make_key(seed, random.ROWS, number), rows)

    def draw_member(
        self, seed: int, member: int, n_rows: int, sample_weight: np.ndarray | None = None
    ) -> np.ndarray:
        """Return a positive weight for every row of positive sample weight."""
        weights = np.ones(n_rows) if sample_weight is None else sample_weight
        key = random.make_key(seed, random.MEMBER_ROWS, member)
        drawn = weights * self._draw(key, np.arange(n_rows, dtype=np.uint32))
        total = drawn.sum()
        return drawn * (weights.sum() / total) if total > 0 else weights.copy()

    def _draw(self, key: np.uint64, rows: np.ndarray) -> np.ndarray:
        weights = np.empty(rows.size)
        draw_bayesian_weights(key, float(self.temperature), rows, weights)
        return weights
