"""Rows that tell apart models that are nearly the same: at thresholds, next to them, and beyond."""

import numpy as np

_SINGLE = np.float32


def list_neighbors(thresholds):
    """Return thresholds, doubles and float32s next to them, and what is half way between."""
    doubles = np.asarray(thresholds, dtype=np.float64)
    doubles = doubles[np.isfinite(doubles)]
    singles = doubles.astype(_SINGLE)
    with np.errstate(over="ignore"):
        above = np.nextafter(singles, _SINGLE(np.inf))
        below = np.nextafter(singles, _SINGLE(-np.inf))
    half = (singles.astype(np.float64) + above) / 2
    lower_half = (singles.astype(np.float64) + below) / 2
    exact = np.concatenate([doubles, singles, above, below, half, lower_half])
    return np.concatenate([exact, np.nextafter(exact, np.inf), np.nextafter(exact, -np.inf)])


def draw_rows(thresholds, n_features, n_rows=400, *, missing=True, infinite=True, seed=0):
    """Draw rows: normal numbers, neighbors of thresholds, zeros, denormals, missing, infinite."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    near = rng.random(X.shape) < 0.5
    X[near] = rng.choice(list_neighbors(thresholds), near.sum())
    special = [0.0, -0.0, 5e-324, -5e-324, 1e-40, -1e-40, 1e-35, -1e-35, 1e30, -1e30]
    special += [np.nan] * 5 if missing else []
    special += [np.inf, -np.inf, 1e300, 3.5e38] if infinite else []
    odd = rng.random(X.shape) < 0.15
    X[odd] = rng.choice(special, odd.sum())
    return X
