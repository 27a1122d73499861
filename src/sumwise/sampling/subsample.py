"""Row sampling without replacement, as in stochastic gradient boosting."""

import numpy as np

from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.sampling.lowest_hashes import Drawn, draw_lowest
from sumwise.kernels.sampling.peer_lowest import draw_lowest_among
from sumwise.parts import check_rate
from sumwise.sampling.peer_draws import count_candidates
from sumwise.sampling.rows import DrawnRows, RowSampler, RowSource


class Subsample(RowSampler):
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

    leaves_out_alike = True
    works_among_peers = True

    def __init__(self, rate: float = 0.8) -> None:
        self.rate = rate

    def check(self) -> None:
        check_rate(self, "rate")

    def draw(self, source: RowSource) -> DrawnRows:
        if source.shards is None:
            rows, left_out = self._split(source.rows, source.seed, source.number, source.team)
        else:
            key = random.make_key(source.seed, random.ROWS, source.number)
            n_drawn = self.count_drawn(count_candidates(source, source.shards))
            own = (source.rows, n_drawn, source.shards, source.team)
            rows, left_out = draw_lowest_among(key, *own)
        return DrawnRows(rows, left_out=left_out)

    def sample(self, rows: np.ndarray, seed: int, round_idx: int) -> np.ndarray:
        """Return a random share of rows, in their order."""
        return self._split(rows, seed, round_idx).rows

    def count_drawn(self, n_rows: int) -> int:
        """Return how many of some rows are drawn."""
        return max(1, round(self.rate * n_rows))

    def _split(self, rows: np.ndarray, seed: int, number: int, team: Team | None = None) -> Drawn:
        key, n_drawn = random.make_key(seed, random.ROWS, number), self.count_drawn(rows.size)
        return draw_lowest(key, rows, n_drawn, team)
