"""Counter-based random numbers: SplitMix64 in Python integers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sumwise.kernels.runtime.elementary import natural_log

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


def draw_lowest(key: int, rows: Sequence[int], n_drawn: int, first_number: int = 0) -> list[int]:
    """Draw those whose numbers have the lowest hashes; rows are numbered in their order."""
    order = sorted(range(len(rows)), key=lambda place: extend(key, first_number + place))
    return [rows[place] for place in sorted(order[:n_drawn])]


def draw_strata(
    key: int, rows: Sequence[int], strata: Sequence[int], n_drawn: Sequence[int]
) -> list[int]:
    """Draw from each stratum the rows with the lowest hashes."""
    places = sorted(range(len(rows)), key=lambda place: extend(key, place))
    drawn = []
    for stratum, n in enumerate(n_drawn):
        drawn += [place for place in places if strata[place] == stratum][:n]
    return [rows[place] for place in sorted(drawn)]


def choose_by_weight(
    key: int, pool: Iterable[int], n_chosen: int, weights: Mapping[int, float]
) -> list[int]:
    """Draw those that arrive first, each after an exponential time whose rate is its weight."""
    times = [
        (-natural_log(1.0 - uniform(key, item)) / weights[item], item)
        for item in pool
        if weights[item] > 0
    ]
    return sorted(item for _, item in sorted(times)[:n_chosen])


def choose_share(
    key: int, pool: Sequence[int], rate: float, weights: Mapping[int, float] | None = None
) -> list[int]:
    """Draw a share of a pool, rounded, but at least one item (of weight zero: none)."""
    n_chosen = len(pool) if rate == 1 else max(1, int(rate * len(pool) + 0.5))
    if weights is not None:
        return choose_by_weight(key, pool, n_chosen, weights)
    return list(pool) if rate == 1 else choose(key, pool, n_chosen)


def choose_between(key: int, index: int, low: int, n: int) -> int:
    """Draw one of low, ..., low + n - 1."""
    return low + int(uniform(key, index) * n)
