"""Bin thresholds of one feature, and the bin of each value."""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

MISSING_BIN = 0


def find_thresholds(
    values: Iterable[float],
    weights: Iterable[float] | None = None,
    max_bins: int = 255,
) -> NDArray[np.float64]:
    """Return one threshold between each pair of neighboring distinct values.

    Only the exact case has a twin: at most `max_bins` distinct values. Weights
    move no threshold there, so they are accepted and ignored.
    """
    distinct = sorted({float(value) for value in values if not math.isnan(value)})
    if len(distinct) > max_bins:
        raise ValueError(f"{len(distinct)} distinct values need more than {max_bins} bins")
    thresholds = [threshold_between(a, b) for a, b in itertools.pairwise(distinct)]
    return np.array(thresholds, dtype=np.float64)


def threshold_between(a: float, b: float) -> float:
    """Return a threshold with a <= threshold < b, the midpoint where there is one."""
    if b == math.inf:
        return sys.float_info.max
    if a == -math.inf:
        return -math.inf
    middle = a / 2 + b / 2 if math.isinf(a + b) else (a + b) / 2
    # Neighboring doubles have no midpoint: rounding may give b.
    return middle if a <= middle < b else a


def map_to_bins(values: Iterable[float], thresholds: Iterable[float]) -> NDArray[np.uint8]:
    """Return the bin of each value: 0 is missing, value bins start at 1.

    Thresholds [1.5, 2.5] put 1 in bin 1, 1.5 in bin 1, 2 in bin 2, 9 in bin 3.
    """
    limits = list(thresholds)
    bins = [
        MISSING_BIN if math.isnan(value) else 1 + sum(limit < value for limit in limits)
        for value in values
    ]
    return np.array(bins, dtype=np.uint8)
