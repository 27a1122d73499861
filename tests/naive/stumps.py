"""A shallow tree, node by node: weights as integers, every split tried."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

UNITS = 2.0**60
NOISE = 1e-12


@dataclass
class Nodes:
    feature: list[int] = field(default_factory=list)
    split_bin: list[int] = field(default_factory=list)
    missing_left: list[bool] = field(default_factory=list)
    left: list[int] = field(default_factory=list)
    gain: list[float] = field(default_factory=list)
    rows: list[np.ndarray] = field(default_factory=list)

    def add(self, rows: np.ndarray) -> int:
        self.rows.append(rows)
        for values, empty in (
            (self.feature, -1),
            (self.split_bin, 0),
            (self.missing_left, False),
            (self.left, -1),
            (self.gain, 0.0),
        ):
            values.append(empty)
        return len(self.rows) - 1


def sum_stats(weights: list[int], target: np.ndarray, rows, n_classes: int) -> list[int]:
    """Return one sum of weights per class, or the sums of weights and of moments."""
    if n_classes == 0:
        moments = [target[1][r] for r in rows]
        return [sum(weights[r] for r in rows), sum(moments)]
    sums = [0] * n_classes
    for r in rows:
        sums[int(target[0][r])] += weights[r]
    return sums


def score(stats: list[int], n_classes: int) -> float:
    if n_classes == 0:
        return float(stats[1]) * float(stats[1]) / float(stats[0])
    squares = weight = 0.0
    for s in stats:
        squares += float(s) * float(s)
        weight += float(s)
    return squares / weight


def grow(columns, n_value_bins, target, weight, n_classes, max_depth) -> Nodes:
    """Grow level by level. Ties go to the lowest feature and bin, then to missing right."""
    units = [0 if w == 0.0 else max(1, int(w * UNITS + 0.5)) for w in weight]
    moments = [int(w * t * UNITS) for w, t in zip(weight, target, strict=True)]
    target = (target, moments)
    nodes = Nodes()
    level = [nodes.add(np.flatnonzero(weight > 0.0))]
    for _ in range(max_depth):
        following = []
        for node in level:
            best = find_split(columns, n_value_bins, target, units, nodes.rows[node], n_classes)
            if best is None:
                continue
            gain, feature, split_bin, missing_left = best
            goes_left = send_left(columns[feature], split_bin, missing_left)[nodes.rows[node]]
            nodes.feature[node], nodes.split_bin[node] = feature, split_bin
            nodes.missing_left[node], nodes.gain[node] = missing_left, gain
            nodes.left[node] = nodes.add(nodes.rows[node][goes_left])
            nodes.add(nodes.rows[node][~goes_left])
            following += [nodes.left[node], nodes.left[node] + 1]
        level = following
    return nodes


def send_left(column, split_bin, missing_left):
    return np.where(column == 0, missing_left, column <= split_bin)


def find_split(columns, n_value_bins, target, units, rows, n_classes):
    totals = sum_stats(units, target, rows, n_classes)
    own = score(totals, n_classes)
    best = None
    for feature, column in enumerate(columns):
        has_missing = bool((column[rows] == 0).any())
        for split_bin in range(1, n_value_bins[feature] + 1):
            for missing_left in (False, True) if has_missing else (False,):
                goes_left = send_left(column, split_bin, missing_left)[rows]
                if goes_left.all() or not goes_left.any():
                    continue
                left = sum_stats(units, target, rows[goes_left], n_classes)
                right = [t - s for t, s in zip(totals, left, strict=True)]
                children = score(left, n_classes) + score(right, n_classes)
                gain = children - own
                if gain > NOISE * children and (best is None or gain > best[0]):
                    if not has_missing:  # with the larger child by rows, left if equal
                        missing_left = bool(2 * goes_left.sum() >= rows.size)
                    best = (gain, feature, split_bin, missing_left)
    return best
