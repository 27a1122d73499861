"""Thresholds for programs that compare in single precision."""

import numpy as np


def round_down(thresholds: np.ndarray) -> np.ndarray:
    """Return the largest float32 number up to each threshold.

    Every float32 value ``x`` is then on the same side: ``x <= t`` holds if and only if ``x`` is at
    most the rounded ``t``. Rounding to nearest would move a value between the two to the left.
    """
    with np.errstate(over="ignore", under="ignore"):
        nearest = np.asarray(thresholds, dtype=np.float64).astype(np.float32)
    below = np.nextafter(nearest, np.float32(-np.inf))
    return np.where(nearest.astype(np.float64) > thresholds, below, nearest)
