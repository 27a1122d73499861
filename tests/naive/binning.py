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

    The exact case: at most `max_bins` distinct values. Weights move no threshold
    there, so they are accepted and ignored. For more values see `cut_quantiles`.
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


def cut_quantiles(
    values: Iterable[float],
    weights: Iterable[float],
    max_bins: int = 255,
) -> NDArray[np.float64]:
    """Return thresholds between bins of about equal weight."""
    mass: dict[float, float] = {}
    for value, weight in zip(values, weights, strict=True):
        if not math.isnan(value):
            mass[float(value)] = mass.get(float(value), 0.0) + weight
    distinct = sorted(mass)
    if len(distinct) <= max_bins:
        return find_thresholds(distinct, max_bins=max_bins)
    ends = cut_by_weight([mass[value] for value in distinct], max_bins)
    return np.array([threshold_between(distinct[i], distinct[i + 1]) for i in ends])


def cut_by_weight(weights: list[float], n_bins: int) -> list[int]:
    """Return which of many values are the last of their bin; the last bin ends by itself.

    Values with at least an equal share of the weight are heavy: they have a bin of
    their own, and the other bins share what is left of the weight.
    """
    total = 0.0
    for weight in weights:
        total += weight
    is_heavy = [weight >= total / n_bins for weight in weights]
    rest, bins_left = total, n_bins
    for weight, heavy in zip(weights, is_heavy, strict=True):
        if heavy:
            rest -= weight
            bins_left -= 1
    ends: list[int] = []
    running = 0.0
    for i in range(len(weights) - 1):
        if len(ends) == n_bins - 1:
            break
        if is_heavy[i]:
            ends.append(i)
            running = 0.0
            continue
        running += weights[i]
        share = rest / max(bins_left, 1)
        # A bin that is full ends, and one that is half full before a heavy value.
        if running >= share or (is_heavy[i + 1] and running >= 0.5 * share):
            ends.append(i)
            rest -= running
            bins_left -= 1
            running = 0.0
    return ends


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
