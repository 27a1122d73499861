"""Monotone and interaction constraints: bounds of values, leaves in order, features of a path."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product


@dataclass(frozen=True)
class Bounds:
    """What the value of a node may be."""

    lower: float = -math.inf
    upper: float = math.inf

    def clip(self, value: float) -> float:
        return min(max(value, self.lower), self.upper)


def bound_children(
    bounds: Bounds, direction: int, left: float, right: float
) -> tuple[Bounds, Bounds]:
    """Return the bounds of both children, whose values are in order."""
    if direction == 0:
        return bounds, bounds
    middle = bounds.clip(0.5 * left + 0.5 * right)
    below, above = Bounds(bounds.lower, middle), Bounds(middle, bounds.upper)
    return (below, above) if direction > 0 else (above, below)


def may_meet(
    feature: int, path: Iterable[int], groups: Sequence[Iterable[int]], most: int = 0
) -> bool:
    """Whether a feature may be split on below those of a path."""
    together = {feature, *path}
    if most:
        return len(together) <= most
    return not groups or any(together <= set(group) for group in groups)


# Leaves of a symmetric tree: a level is (feature, split bin), a leaf is a tuple of bits.

Leaf = tuple[int, ...]


def list_chains(
    levels: Sequence[tuple[int, int]], feature: int, n_value_bins: int
) -> list[list[Leaf]]:
    """Return the leaves that values of a feature reach, lowest first, for all other bits."""
    cells = sorted({1, *(b + 1 for f, b in levels if f == feature and b < n_value_bins)})
    others = [d for d, (f, _) in enumerate(levels) if f != feature]
    chains = []
    for bits in product((0, 1), repeat=len(others)):
        chain = []
        for value_bin in cells:
            leaf = [int(value_bin > split_bin) for _, split_bin in levels]
            for d, bit in zip(others, bits, strict=True):
                leaf[d] = bit
            chain.append(tuple(leaf))
        chains.append(chain)
    return chains if len(cells) > 1 else []


def pool_adjacent_violators(values: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Return the ascending values closest to these."""
    pools: list[tuple[float, float, int]] = []
    for value, weight in zip(values, weights, strict=True):
        pool = (value, weight, 1)
        while pools and pools[-1][0] > pool[0]:
            before = pools.pop()
            mass = before[1] + pool[1]
            mean = (before[1] * before[0] + pool[1] * pool[0]) / mass
            pool = (mean, mass, before[2] + pool[2])
        pools.append(pool)
    return [mean for mean, _, length in pools for _ in range(length)]


def project_leaves(
    levels: Sequence[tuple[int, int]],
    directions: Sequence[int],
    n_value_bins: Sequence[int],
    values: dict[Leaf, float],
    weights: dict[Leaf, float],
    total_weight: float,
) -> dict[Leaf, float]:
    """Return values in order, by Dykstra's algorithm and a running maximum."""
    features = list(dict.fromkeys(f for f, _ in levels if directions[f]))
    chains = {f: list_chains(levels, f, n_value_bins[f]) for f in features}
    features = [f for f in features if chains[f]]
    least = 1e-12 * total_weight if total_weight > 0 else 1.0
    weights = {leaf: max(weight, least) for leaf, weight in weights.items()}
    values = dict(values)
    largest = max(map(abs, values.values()))
    shifts = {f: dict.fromkeys(values, 0.0) for f in features}
    for _ in range(50 if len(features) > 1 else len(features)):
        change = 0.0
        for f in features:
            sign, shift = directions[f], shifts[f]
            for chain in chains[f]:
                start = [values[leaf] + shift[leaf] for leaf in chain]
                pooled = pool_adjacent_violators(
                    [sign * value for value in start], [weights[leaf] for leaf in chain]
                )
                for leaf, before, mean in zip(chain, start, pooled, strict=True):
                    change = max(change, abs(sign * mean - values[leaf]))
                    shift[leaf] = before - sign * mean
                    values[leaf] = sign * mean
        if change <= 1e-12 * largest:
            break
    for f in features:
        for chain in chains[f]:
            for before, leaf in pairwise(chain):
                if directions[f] * values[leaf] < directions[f] * values[before]:
                    values[leaf] = values[before]
    return values
