"""The trees of forests by definition: lists and loops, for small data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from operator import add
from typing import NamedTuple

import numpy as np

from tests.naive.random import extend, uniform

CHUNK = 2048


@dataclass(frozen=True)
class Plan:
    """What a tree is grown with; ``targets`` has a tuple of columns per row."""

    bins: np.ndarray
    n_bins: Sequence[int]
    targets: Sequence[tuple[float, ...]]
    weight: Sequence[float]
    n_drawn: int
    is_class: bool = False
    categories: frozenset[int] = frozenset()
    centers: np.ndarray | None = None
    min_rows: int = 1
    max_depth: int = 1 << 30
    min_rows_split: int = 2


@dataclass
class Node:
    """A node of the grown tree."""

    rows: list[int]
    depth: int
    value: tuple[float, ...]
    feature: int = -1
    split_bin: int = 0
    missing_left: int = 0
    chosen: frozenset[int] = frozenset()
    left: int = -1
    gain: float = 0.0


@dataclass
class _Best:
    gain: float = -np.inf
    feature: int = -1
    split_bin: int = 0
    missing: int | None = None
    chosen: frozenset[int] = field(default_factory=frozenset)
    is_perfect: bool = False


class Sums(NamedTuple):
    """Of some rows: how many, their weight, and weighted sums of the columns."""

    n_rows: int
    weight: Fraction | int
    columns: tuple[Fraction | int, ...]

    def __add__(self, other: Sums) -> Sums:  # type: ignore[override]
        columns = tuple(a + b for a, b in zip(self.columns, other.columns, strict=True))
        return Sums(self.n_rows + other.n_rows, self.weight + other.weight, columns)


def exact(x: float) -> Fraction | int:
    """Return a number that sums keep exact; whole numbers are faster."""
    return int(x) if x == int(x) else Fraction(x)


def sums(plan: Plan, rows: Sequence[int]) -> Sums:
    """The exact sums of some rows."""
    weights = [exact(plan.weight[r]) for r in rows]
    columns = tuple(
        sum(w * exact(y) for w, y in zip(weights, column, strict=True))
        for column in zip(*(plan.targets[r] for r in rows), strict=True)
    )
    return Sums(len(rows), sum(weights), columns)


def gain(plan: Plan, left: Sums, right: Sums, is_plain: bool) -> float:
    """How much a split lowers the weighted sum of squares.

    The sums are exact. The formula, and so the last bit, depends on whether all is plain: numeric
    features without missing values, and no limits.
    """
    (_, w, s), (_, v, t) = left, right
    whole = (left + right).columns
    if is_plain and len(s) == 1:
        apart = float(s[0] * (w + v) - whole[0] * w)
        return apart * apart / float(w * v) / float(w + v)
    of_whole = float(sum(x * x for x in whole)) / float(w + v)
    if is_plain and plan.centers is None:
        together = sum(x * x for x in s) * v + sum(x * x for x in t) * w
        return float(together) / float(w * v) - of_whole
    return (
        float(sum(x * x for x in s)) / float(w) + float(sum(x * x for x in t)) / float(v) - of_whole
    )


def look_at(
    plan: Plan, rows: Sequence[int], f: int, key: int, n_features: int
) -> tuple[int, _Best]:
    """Return the number of bins of the node's rows, and the best split on a feature."""
    by_bin: dict[int, list[int]] = {}
    for r in rows:
        by_bin.setdefault(int(plan.bins[r, f]), []).append(r)
    present = sorted(by_bin)
    best = _Best()
    if len(present) < 2:
        return len(present), best
    own_key = extend(key, n_features + f)
    is_plain = _is_plain(plan) and f not in plan.categories and len(rows) <= CHUNK
    is_plain = is_plain and not (plan.bins[:, f] == 0).any()
    of_bin = {b: sums(plan, own) for b, own in by_bin.items()}
    for left_bins, missing, split_bin in _candidates(plan, of_bin, present, f, own_key):
        sides = left_bins, [b for b in present if b not in left_bins]
        if not all(sides):
            continue
        left, right = (reduce(add, (of_bin[b] for b in side)) for side in sides)
        if min(left.n_rows, right.n_rows) < plan.min_rows:
            continue
        own = gain(plan, left, right, is_plain)
        if best.feature < 0 or own > best.gain:
            is_set = f in plan.categories
            pure = is_plain and all(
                len({plan.targets[r] for b in side for r in by_bin[b]}) == 1 for side in sides
            )
            best = _Best(
                own, f, split_bin, missing, frozenset(left_bins) if is_set else frozenset(), pure
            )
    return len(present), best


def _candidates(
    plan: Plan, of_bin: dict[int, Sums], present: list[int], f: int, key: int
) -> list[tuple[list[int], int | None, int]]:
    """Return (bins on the left, whether missing goes left, split bin) in the order of trial."""
    if f in plan.categories:
        return _set_candidates(plan, of_bin, present, key)
    values = [b for b in present if b > 0]
    has_missing = present[0] == 0
    if plan.centers is not None and len(values) > 1:
        u = uniform(key, 0)
        centers = plan.centers[f]
        value = centers[values[0]] * (1.0 - u) + centers[values[-1]] * u
        if not value < centers[values[-1]]:
            value = centers[values[0]]
        cut = max(b for b in range(values[0], values[-1]) if b == values[0] or centers[b] <= value)
        places = [(max(i for i, b in enumerate(values) if b <= cut), cut)]
    else:
        places = [(i, (values[i] + values[i + 1]) >> 1) for i in range(len(values) - 1)]
        if has_missing and (plan.centers is None or len(values) == 1):
            places.append((len(values) - 1, plan.n_bins[f] - 1))
    out: list[tuple[list[int], int | None, int]] = []
    for i, split_bin in places:
        ways = (0, 1) if has_missing and i < len(values) - 1 else (0,)
        for way in ways:
            left = ([0] if way else []) + values[: i + 1]
            out.append((left, way if has_missing else None, split_bin))
    if len(plan.targets[0]) > 1:  # first all with missing values on the right
        out.sort(key=lambda candidate: bool(candidate[1]))
    return out


def _set_candidates(
    plan: Plan, of_bin: dict[int, Sums], present: list[int], key: int
) -> list[tuple[list[int], int | None, int]]:
    order = list(present)
    if plan.centers is not None:
        for i in range(len(order) - 1):
            j = i + int(uniform(key, 2 + i) * (len(order) - i))
            order[i], order[j] = order[j], order[i]
        cuts = [int(uniform(key, 0) * (len(order) - 1))]
    else:
        totals = reduce(add, of_bin.values()).columns
        column = totals.index(max(totals)) if len(totals) > 1 else 0

        def ratio(b: int) -> float:
            return float(of_bin[b].columns[column] / of_bin[b].weight)

        order.sort(key=lambda b: (ratio(b), b))
        cuts = list(range(len(order) - 1))
    missing = 0 in present
    return [(order[: cut + 1], int(0 in order[: cut + 1]) if missing else None, 0) for cut in cuts]


def find_split(plan: Plan, node: Node, usable: Sequence[int], key: int) -> _Best:
    """Draw and examine features until enough are drawn and one is not constant."""
    order, n_features = list(usable), len(usable)
    found, best = False, _Best()
    most = _most(plan, node.rows)
    for i in range(n_features):
        if i >= plan.n_drawn and found:
            break
        j = i + int(uniform(key, i) * (n_features - i))
        order[i], order[j] = order[j], order[i]
        n_present, own = look_at(plan, node.rows, order[i], key, n_features)
        found |= n_present > 1
        if own.feature >= 0 and (best.feature < 0 or own.gain > best.gain):
            best = own
        # Up to rounding, nothing is better: no more features are examined.
        if most is not None and best.feature >= 0 and best.gain >= (1 - 1e-12) * most:
            break
        is_two = len(node.rows) == 2 and n_present > 1 and _is_plain(plan)
        if (own.is_perfect and plan.is_class) or is_two:
            break
    return best


def _is_plain(plan: Plan) -> bool:
    """Whether only sums of squares matter, of one number or of classes."""
    return plan.min_rows == 1 and (plan.is_class or len(plan.targets[0]) == 1)


def _most(plan: Plan, rows: Sequence[int]) -> float | None:
    """Return the largest gain of any split of a few rows: that of a cut in target order."""
    if plan.is_class or len(rows) > 6 or plan.min_rows > 1 or len(plan.targets[0]) > 1:
        return None
    ordered = sorted(rows, key=lambda r: plan.targets[r])
    ways = ((sums(plan, ordered[:i]), sums(plan, ordered[i:])) for i in range(1, len(rows)))
    return max(gain(plan, left, right, True) for left, right in ways)


def grow(plan: Plan, key: int, usable: Sequence[int]) -> list[Node]:
    """Grow a tree depth first, the left child before the right."""
    rows = [r for r in range(len(plan.weight)) if plan.weight[r] > 0]
    nodes = [_make_node(plan, rows, 0)]
    waiting = [0]
    while waiting:
        number = waiting.pop()
        node = nodes[number]
        is_pure = len({plan.targets[r] for r in node.rows}) == 1
        n = len(node.rows)
        if (
            is_pure
            or n < max(plan.min_rows_split, 2 * plan.min_rows)
            or node.depth >= plan.max_depth
        ):
            continue
        best = find_split(plan, node, usable, extend(key, number))
        if best.feature < 0:
            continue
        node.feature, node.split_bin, node.chosen = best.feature, best.split_bin, best.chosen
        node.gain = best.gain
        left = [r for r in node.rows if _goes_left(plan, best, r)]
        right = [r for r in node.rows if not _goes_left(plan, best, r)]
        # Missing values that the node has not seen go with the larger child, left if equal.
        node.missing_left = int(len(left) >= len(right)) if best.missing is None else best.missing
        if node.feature in plan.categories and node.missing_left:
            node.chosen |= {0}
        node.left = len(nodes)
        for side in (left, right):
            nodes.append(_make_node(plan, side, node.depth + 1))
        waiting += [node.left + 1, node.left]
    return nodes


def _goes_left(plan: Plan, best: _Best, row: int) -> bool:
    b = int(plan.bins[row, best.feature])
    if best.feature in plan.categories:
        return b in best.chosen
    return bool(best.missing) if b == 0 else b <= best.split_bin


def _make_node(plan: Plan, rows: list[int], depth: int) -> Node:
    _, weight, columns = sums(plan, rows)
    return Node(rows, depth, tuple(float(s / weight) for s in columns))
