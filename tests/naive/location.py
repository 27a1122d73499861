"""Weighted quantiles and robust locations, by sorting; and the leaves refitted to them."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def weigh_in_units(weights: Floats) -> list[int]:
    """Weights as integers, of at most 50 bits and so that n of them stay below 2**62."""
    limit = 2.0 ** min(50, 62 - math.ceil(math.log2(len(weights))))
    scale = 2.0 ** math.floor(math.log2(limit / max(weights)))
    return [max(round(w * scale), 1 if w > 0 else 0) for w in weights]


def quantile(values: Floats, units: list[int] | None, level: float) -> float:
    """The lowest value with a weight of at least level * total up to it.

    If it is exactly that much, half way from there to the next value.
    """
    units = [1] * len(values) if units is None else units
    order = np.argsort(values, kind="stable")
    goal = level * float(sum(units))
    distinct: list[tuple[float, int]] = []  # with the weight up to it
    total = 0
    for i in order:
        total += units[i]
        if distinct and distinct[-1][0] == values[i]:
            distinct.pop()
        distinct.append((float(values[i]) + 0.0, total))
    for k, (value, weight) in enumerate(distinct):
        if float(weight) == goal:
            return 0.5 * value + 0.5 * distinct[k + 1][0]
        if weight > goal:
            return value
    raise AssertionError("a level is below 1")


def influence(x: float, kind: int, bound: float) -> float:
    """0: the error clipped to a bound; 1: that of the fair loss; 2: the hyperbolic tangent."""
    if kind == 1:
        return x / (1 + abs(x) / bound)
    return math.tanh(x) if kind == 2 else min(max(x, -bound), bound)


def robust_location(
    values: Floats, units: list[int] | None, level: float, bound: float, kind: int = 0
) -> float:
    """The quantile, and on by the mean influence of the distances from it."""
    center = quantile(values, units, level)
    if bound == math.inf:
        return center
    units = [1] * len(values) if units is None else units
    unit = 2.0 ** math.floor(math.log2(1 / max(units)))
    limit = 2.0 ** min(50, 62 - math.ceil(math.log2(len(values))))
    scale = 2.0 ** math.floor(math.log2(limit / bound))
    steps = [
        round(influence(value - center, kind, bound) * (unit * own) * scale)
        for value, own in zip(values, units, strict=True)
    ]
    return center + sum(steps) / scale / (unit * sum(units))
