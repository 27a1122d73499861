"""Minimal variance sampling: a row is drawn the more likely, the larger its gradient."""

import numpy as np

from sumwise.errors import ParameterError
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.reduce import exact_sum
from sumwise.kernels.sampling.by_gradient import draw_uniform
from sumwise.parts import check_number, check_rate
from sumwise.sampling.rows import DrawnRows, RowSampler, RowSource


class Mvs(RowSampler):
    """Draw rows with probabilities that keep the variance of the sums low.

    A row is drawn with probability p = min(1, s / c), where s = sqrt(g^2 + reg h^2), squares summed
    over the classes, and c is such that the probabilities add up to ``rate * m``. Gradient and
    hessian of a row that is drawn are multiplied by 1 / p, so that sums are right on average
    (Ibragimov and Gusev, 2019).

    Parameters
    ----------
    rate : float, default=0.8
        Share of the rows that is drawn on average, in (0, 1].
    reg : float or None, default=None
        Weight of the hessian. None: the square of (sum of absolute g) / (sum of h), the size of a
        step, anew each round.

    Examples
    --------
    >>> from sumwise import GradientBoostingRegressor, Mvs
    >>> model = GradientBoostingRegressor(sampler=Mvs(rate=0.3))
    """

    has_factors = True

    def __init__(self, rate: float = 0.8, reg: float | None = None) -> None:
        self.rate = rate
        self.reg = reg

    def check(self) -> None:
        check_rate(self, "rate")
        if self.reg is not None:
            try:
                check_number(self, "reg", 0.0)
            except ParameterError as error:
                raise ParameterError(f"{error} or None") from None

    def draw(self, source: RowSource) -> DrawnRows:
        rows = source.rows
        probability = find_probabilities(self._find_sizes(source), self.rate)
        chance = np.empty(rows.size)
        draw_uniform(random.make_key(source.seed, random.ROWS, source.number), rows, chance)
        is_drawn = chance < probability
        if not is_drawn.any():
            is_drawn[probability.argmax()] = True
        return DrawnRows(rows[is_drawn], 1.0 / probability[is_drawn])

    def _find_sizes(self, source: RowSource) -> np.ndarray:
        """The size of each row: sqrt(g^2 + reg h^2), over all outputs."""
        squares = np.zeros(source.rows.size)
        for gradient, hessian in zip(source.gradient, source.hessian, strict=True):
            g, h = gradient[source.rows], hessian[source.rows]
            reg = self.reg
            if reg is None:
                total = exact_sum(h)
                reg = (exact_sum(np.abs(g)) / total) ** 2 if total > 0 else 0.0
            squares += g * g + reg * (h * h)
        return np.sqrt(squares)


def find_probabilities(size: np.ndarray, rate: float) -> np.ndarray:
    """Return min(1, size / c) with c such that their mean is ``rate``; rate for sizes all zero.

    With the k largest taken for sure, c = (sum of the others) / (rate m - k); k is the lowest
    number for which none of the others is larger than c.
    """
    n = size.size
    ascending = np.sort(size)
    sums = np.cumsum(ascending)  # sums[i] is that of the i + 1 smallest
    if not np.isfinite(sums[-1]):
        return np.full(n, rate)  # the grower tells what is wrong with such gradients
    n_wanted = rate * n - np.arange(n - 1, -1, -1)  # of the i + 1 smallest, the others for sure
    fits = (n_wanted > 0) & (ascending * n_wanted <= sums)
    if not sums[-1] > 0 or not fits.any():
        return np.full(n, rate)
    last = int(np.flatnonzero(fits)[-1])
    bound = sums[last] / n_wanted[last]
    if not bound > 0:  # more rows are wanted than have a size
        return np.where(size > 0, 1.0, n_wanted[last] / (last + 1))
    return np.minimum(1.0, size / bound)
