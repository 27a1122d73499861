"""Target statistics as the article writes them: a sum over rows j for every row k."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray


def statistic(
    k_category: int,
    members: Sequence[int],
    categories: Sequence[int],
    targets: Sequence[float],
    weights: Sequence[float],
    prior_weight: float,
    prior: float,
) -> float:
    """The formula: over the rows of D_k that have the category of row k."""
    total, count = 0.0, 0.0
    for j in members:
        if categories[j] == k_category:
            total += weights[j] * targets[j]
            count += weights[j]
    return (total + prior_weight * prior) / (count + prior_weight)


def greedy_rows(k: int, n_rows: int) -> list[int]:
    """D_k = D."""
    return list(range(n_rows))


def leave_one_out_rows(k: int, n_rows: int) -> list[int]:
    """D_k = D without x_k."""
    return [j for j in range(n_rows) if j != k]


def holdout_rows(held: Sequence[int]) -> Callable[[int, int], list[int]]:
    """D_k = D_0, the rows that do not train."""
    return lambda k, n_rows: list(held)


def ordered_rows(order: Sequence[int]) -> Callable[[int, int], list[int]]:
    """D_k = {x_j: sigma(j) < sigma(k)}, the rows before k in the order."""
    sigma = {row: place for place, row in enumerate(order)}
    return lambda k, n_rows: [j for j in sigma if sigma[j] < sigma[k]]


def statistics(
    rows_of: Callable[[int, int], list[int]],
    rows: Sequence[int],
    categories: Sequence[int],
    targets: Sequence[float],
    weights: Sequence[float],
    prior_weight: float,
    prior: float,
) -> NDArray[np.float64]:
    """The statistic of each of ``rows``."""
    options = (categories, targets, weights, prior_weight, prior)
    n_rows = len(categories)
    return np.array([statistic(categories[k], rows_of(k, n_rows), *options) for k in rows])
