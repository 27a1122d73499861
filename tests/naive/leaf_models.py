"""Linear models of leaves, by NumPy's solver."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def fit_leaf(
    x: Floats, g: Floats, h: Floats, l2: float, ridge: float
) -> tuple[float, Floats] | None:
    """Return constant and slopes of the Newton step over complete rows x (n_rows, n_features).

    They minimize sum g f + h f^2 / 2 + l2 c^2 / 2 + ridge |s b|^2 / 2 for f = c + (x - mean) b,
    with s the standard deviations of the features. None if there are too few rows.
    """
    if len(x) <= x.shape[1]:
        return None
    mean = (h @ x) / h.sum()
    centered = x - mean
    spread = np.sqrt(h @ centered**2 / h.sum())
    unit = centered / spread
    penalty = np.diag([l2] + [ridge] * x.shape[1])
    design = np.column_stack([np.ones(len(x)), unit])
    solution = np.linalg.solve(design.T @ (h[:, None] * design) + penalty, -design.T @ g)
    slopes = solution[1:] / spread
    return float(solution[0] - slopes @ mean), slopes
