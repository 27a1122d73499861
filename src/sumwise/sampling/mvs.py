"""Minimal variance sampling: rows with larger gradients are drawn more often."""

import numpy as np

from sumwise.errors import ParameterError
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.reduce import exact_sum
from sumwise.kernels.sampling.by_gradient import draw_uniform
from sumwise.parts import check_number, check_rate
from sumwise.sampling.rows import DrawnRows, RowSampler, RowSource


class Mvs(RowSampler):
    """Draw rows with probabilities that keep the variance of the sums low.

    A row is drawn with probability p = min(1, s / c), where s = sqrt(g^2 + reg h^2), with squares
    summed over the classes; c is chosen so that the probabilities sum to ``rate * n``. The gradient
    and hessian of a drawn row are multiplied by 1 / p, so that sums are unbiased (Ibragimov and
    Gusev, 2019).

    Parameters
    ----------
    rate : float, default=0.8
        Share of the rows that are drawn on average, in (0, 1].
    reg : float or None, default=None
        Weight of the hessian. None: in each round the square of (sum of absolute g) / (sum of h),
        the typical size of a step.

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
        """Return the size of each row: sqrt(g^2 + reg h^2), over all outputs."""
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
    """Return min(1, size / c), where c makes the mean equal to ``rate``; ``rate`` if all are zero.

    If the k largest rows are always drawn, c = (sum of the others) / (rate n - k). k is the
    smallest number for which no other size exceeds c.
    """
    n = size.size
    ascending = np.sort(size)
    sums = np.cumsum(ascending)  # sums[i] is the sum of the i + 1 smallest
    if not np.isfinite(sums[-1]):
        return np.full(n, rate)  # the grower raises an error for such gradients
    n_wanted = rate * n - np.arange(n - 1, -1, -1)  # from the i + 1 smallest
    fits = (n_wanted > 0) & (ascending * n_wanted <= sums)
    if not sums[-1] > 0 or not fits.any():
        return np.full(n, rate)
    last = int(np.flatnonzero(fits)[-1])
    bound = sums[last] / n_wanted[last]
    if not bound > 0:  # more rows are wanted than have a positive size
        return np.where(size > 0, 1.0, n_wanted[last] / (last + 1))
    return np.minimum(1.0, size / bound)
