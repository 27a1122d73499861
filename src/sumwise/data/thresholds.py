"""Where a bin ends: the number between two neighboring values."""

from collections.abc import Iterator

import numpy as np


def threshold_between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return t with low <= t < high for neighboring values, so that low goes left and high right.

    The midpoint, where there is one. Below +inf it is the largest finite number, so that every
    finite value goes left; above -inf it is -inf.
    """
    low, high = low.astype(np.float64), high.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        middle = (low + high) / 2
        middle = np.where(np.isfinite(middle), middle, low / 2 + high / 2)
    # Neighbors in float64 have no number between them: the lower one is the threshold.
    middle = np.where((low <= middle) & (middle < high), middle, low)
    middle = np.where(np.isneginf(low), low, middle)
    return np.where(np.isposinf(high), np.finfo(np.float64).max, middle)


def find_runs(values: np.ndarray, longest: int) -> Iterator[tuple[int, int]]:
    """Yield runs of equal neighbors as (first, last), none of more than ``longest`` items."""
    start = 0
    for end in [*(np.flatnonzero(np.diff(values)) + 1).tolist(), values.size]:
        for first in range(start, end, longest):
            yield first, min(first + longest, end)
        start = end
