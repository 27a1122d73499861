"""Algorithm 2 of the LightGBM paper, line by line."""

from __future__ import annotations

import numpy as np

from tests.naive import random


def sample_goss(
    gradient: np.ndarray, rows: np.ndarray, top_rate: float, other_rate: float, key: int
) -> dict[int, float]:
    """Return the rows that are used, and their weights.

    The places of rows with the lowest random numbers are those that RandomPick returns.
    """
    factor = (1 - top_rate) / other_rate
    n_top, n_random = round(top_rate * len(rows)), round(other_rate * len(rows))
    size = [sum(abs(g[row]) for g in gradient) for row in rows]
    order = sorted(range(len(rows)), key=lambda place: (-size[place], place))
    top_set, others = order[:n_top], order[n_top:]
    random_set = sorted(others, key=lambda place: (random.extend(key, place) >> 6, place))
    weights = {int(rows[place]): 1.0 for place in top_set}
    weights.update({int(rows[place]): factor for place in random_set[:n_random]})
    return weights
