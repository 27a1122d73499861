"""A member's draws, one row at a time, in Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate

from tests.naive.random import draw_lowest, extend, uniform


def bootstrap(key: int, n_draws: int, weights: Sequence[float]) -> list[int]:
    """Count draws with replacement, in proportion to weights."""
    counts = [0] * len(weights)
    sums = list(accumulate(weights))
    for draw in range(n_draws):
        target = uniform(key, draw) * sums[-1]
        counts[next(row for row, reached in enumerate(sums) if reached > target)] += 1
    return counts


def pasting(key: int, n_draws: int, n_rows: int) -> list[int]:
    """Mark rows drawn without replacement."""
    chosen = draw_lowest(key, range(n_rows), n_draws)
    return [int(row in chosen) for row in range(n_rows)]


def poisson(key: int, mean: float) -> int:
    """Invert the distribution function at a uniform number; means up to 16."""
    target, count, reached = uniform(key, 0), 0, math.exp(-mean)
    while target >= reached:
        count += 1
        reached += math.exp(-mean) * mean**count / math.factorial(count)
    return count


def poisson_counts(key: int, n_draws: int, weights: Sequence[float]) -> list[int]:
    """Draw every row's count with a mean in proportion to its weight; never none at all."""
    each = n_draws / sum(weights)
    counts = [poisson(extend(key, row), w * each) for row, w in enumerate(weights)]
    return counts if any(counts) else bootstrap(key, 1, weights)
