"""Statistics of categories for one tree, row by row as their definition says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

UNSEEN = 2


def find_statistic(
    row: int,
    half: Sequence[int],
    categories: Sequence[int],
    targets: Sequence[float],
    weights: Sequence[float],
    prior: float,
    prior_weight: float,
) -> float:
    """The shrunk mean of the row's category, over the rows that may tell the row its category.

    These are the rows of the other half; for a row that the tree does not see, those of both. The
    prior weighs as much less as these rows weigh less than all.
    """
    told = [
        j
        for j in range(len(half))
        if half[j] != UNSEEN and (half[row] == UNSEEN or half[j] != half[row])
    ]
    same = [j for j in told if categories[j] == categories[row] >= 0]
    count = sum(weights[j] for j in same)
    if count == 0:
        return prior
    a = prior_weight * sum(weights[j] for j in told) / sum(weights)
    return (sum(weights[j] * targets[j] for j in same) + a * prior) / (count + a)


def find_bin(thresholds: np.ndarray, value: float) -> int:
    """The first bin, counted from 1, whose threshold is at least the value."""
    return 1 + sum(1 for threshold in thresholds if threshold < value)
