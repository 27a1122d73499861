"""Counter-based random numbers: SplitMix64 in Python integers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

_MASK = (1 << 64) - 1


def extend(key: int, value: int) -> int:
    """Mix one more integer into a key."""
    z = (int(key) + 0x9E3779B97F4A7C15 * (int(value) + 1)) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def uniform(key: int, index: int) -> float:
    """Return the number of [0, 1) that belongs to an index."""
    return (extend(key, index) >> 12) / (1 << 52)


def choose(key: int, pool: Iterable[int], n_chosen: int) -> list[int]:
    """Draw from an ascending pool: take each with probability needed / remaining."""
    remaining = sorted(pool)
    needed = min(n_chosen, len(remaining))
    chosen = []
    for place, item in enumerate(remaining):
        if uniform(key, item) * (len(remaining) - place) < needed - len(chosen):
            chosen.append(item)
    return chosen


def choose_share(key: int, pool: Sequence[int], rate: float) -> list[int]:
    """Draw a share of a pool, rounded, but at least one item."""
    return list(pool) if rate == 1 else choose(key, pool, max(1, int(rate * len(pool) + 0.5)))
