"""Ordered boosting as the article writes it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

Model = Callable[[int], float]
Gradient = Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.float64]]]
# From gradients and hessians of all rows, and the rows to learn from: what is added to scores.
LearnModel = Callable[[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]], Model]


def ordered_boosting(
    learn_model: LearnModel, gradient: Gradient, order: Sequence[int], n_rows: int, n_rounds: int
) -> NDArray[np.float64]:
    """Return the scores of M_n; ``order`` lists the rows that train, first to last.

    The residual of row i comes from M_{sigma(i) - 1}; M_0 stays 0. For a loss other than the
    squared error it is the negative gradient.
    """
    n = len(order)
    models: list[list[Model]] = [[] for _ in range(n + 1)]
    sigma = {row: place + 1 for place, row in enumerate(order)}

    def predict(model: list[Model], row: int) -> float:
        score = 0.0
        for step in model:
            score += step(row)
        return score

    for _ in range(n_rounds):
        scores = np.zeros(n_rows)
        for i in order:
            scores[i] = predict(models[sigma[i] - 1], i)
        g, h = gradient(scores)
        for i in range(1, n + 1):
            rows = np.array(sorted(j for j in order if sigma[j] <= i), dtype=np.int64)
            models[i].append(learn_model(g, h, rows))
    return np.array([predict(models[n], row) for row in range(n_rows)])
