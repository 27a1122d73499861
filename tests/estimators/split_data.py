"""Data for the tests of ways to find splits."""

import numpy as np

N_ROWS = 900
GROWTHS = ["leaf", "depth", "symmetric"]


def make_data(n_rows=N_ROWS, seed=0):
    """Many values, some missing; few values; a target that depends on both."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    X[:, 1] = rng.integers(0, 9, n_rows)
    X[rng.random(n_rows) < 0.1, 2] = np.nan
    X[rng.random(n_rows) < 0.5, 3] = 0.0
    signal = np.sin(2 * X[:, 0]) + X[:, 1] / 9 + np.nan_to_num(X[:, 2]) * X[:, 3]
    return X, signal + 0.3 * rng.normal(size=n_rows)
