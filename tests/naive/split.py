"""Histograms, the gain of a split, and the best split of a node or of a level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .binning import MISSING_BIN
from .quantize import Quantized

Codes = NDArray[np.uint8]
Rows = NDArray[np.int64]

# A gain must exceed this share of the parent's score, or it may be rounding only.
RELATIVE_MIN_GAIN = 1e-12


@dataclass(frozen=True)
class SplitOptions:
    l1: float = 0.0
    l2: float = 0.0
    max_delta_step: float = 0.0
    min_samples_leaf: int = 1
    min_child_weight: float = 0.0
    min_gain: float = 0.0

    @property
    def min_rows(self) -> int:
        return max(1, self.min_samples_leaf)


@dataclass(frozen=True)
class Sums:
    """Exact integer sums over some rows."""

    g: int = 0
    h: int = 0
    count: int = 0

    def __add__(self, other: Sums) -> Sums:
        return Sums(self.g + other.g, self.h + other.h, self.count + other.count)


@dataclass(frozen=True)
class Split:
    """Value bins 1..split_bin of the feature go left.

    `gains` holds one gain per node of the level (one node, but for symmetric
    growth); an invalid node contributes 0 and has `valid` False.
    """

    feature: int
    split_bin: int
    missing_left: bool
    gain: float
    gains: tuple[float, ...]
    valid: tuple[bool, ...]


def build_histogram(
    feature_codes: Codes,
    n_value_bins: int,
    gi: NDArray[np.int64],
    hi: NDArray[np.int64],
    rows: Rows,
) -> NDArray[np.int64]:
    """Return int64 sums of shape (1 + n_value_bins, 3): gradient, hessian, count."""
    histogram = np.zeros((1 + n_value_bins, 3), dtype=np.int64)
    for row in rows:
        histogram[feature_codes[row]] += (gi[row], hi[row], 1)
    return histogram


def sum_rows(quantized: Quantized, rows: Rows) -> Sums:
    return Sums(
        sum(int(g) for g in quantized.gi[rows]),
        sum(int(h) for h in quantized.hi[rows]),
        len(rows),
    )


def sum_bins(histogram: NDArray[np.int64], bins: Iterable[int]) -> Sums:
    total = Sums()
    for bin_idx in bins:
        g, h, count = (int(value) for value in histogram[bin_idx])
        total = total + Sums(g, h, count)
    return total


def split_sums(
    histogram: NDArray[np.int64], split_bin: int, missing_left: bool
) -> tuple[Sums, Sums]:
    """Return the sums of the left child and of the right child."""
    left = list(range(1, split_bin + 1))
    right = list(range(split_bin + 1, len(histogram)))
    (left if missing_left else right).append(MISSING_BIN)
    return sum_bins(histogram, left), sum_bins(histogram, right)


def goes_left(code: int, split_bin: int, missing_left: bool) -> bool:
    return missing_left if code == MISSING_BIN else code <= split_bin


def soft_threshold(g: float, l1: float) -> float:
    """Return T(G), the gradient sum shrunk towards zero by l1."""
    sign = (g > 0) - (g < 0)
    return sign * max(abs(g) - l1, 0.0)


def leaf_weight(g: float, h: float, options: SplitOptions) -> float:
    """Return the w that minimizes G w + (H + l2) w^2 / 2 + l1 |w|, clipped."""
    if h + options.l2 <= 0:
        return 0.0
    weight = -soft_threshold(g, options.l1) / (h + options.l2)
    limit = options.max_delta_step
    return max(-limit, min(weight, limit)) if limit > 0 else weight


def leaf_score(g: float, h: float, options: SplitOptions) -> float:
    """Return minus twice the objective at the best weight of a leaf."""
    denominator = h + options.l2
    if options.max_delta_step == 0:
        if denominator <= 0:
            return 0.0
        shrunk = soft_threshold(g, options.l1)
        return shrunk * shrunk / denominator
    w = leaf_weight(g, h, options)
    return -(2 * g * w + denominator * w * w + 2 * options.l1 * abs(w))


def to_floats(sums: Sums, quantized: Quantized) -> tuple[float, float]:
    """Return (G, H) in the units of the loss; 1 / scale is an exact power of two."""
    return (
        float(sums.g) * (1 / quantized.scale_g),
        float(sums.h) * (1 / quantized.scale_h),
    )


def score_sums(sums: Sums, quantized: Quantized, options: SplitOptions) -> float:
    return leaf_score(*to_floats(sums, quantized), options)


def is_valid_child(sums: Sums, quantized: Quantized, options: SplitOptions) -> bool:
    _, h = to_floats(sums, quantized)
    return sums.count >= options.min_rows and h >= options.min_child_weight


def split_gain(
    left: Sums, right: Sums, quantized: Quantized, options: SplitOptions
) -> float | None:
    """Return the gain of a split, or None where a child would be too small."""
    if not is_valid_child(left, quantized, options):
        return None
    if not is_valid_child(right, quantized, options):
        return None
    score_left = score_sums(left, quantized, options)
    score_right = score_sums(right, quantized, options)
    score_parent = score_sums(left + right, quantized, options)
    return 0.5 * ((score_left + score_right) - score_parent)


def list_candidates(n_value_bins: int, has_missing: bool) -> Iterator[tuple[int, bool]]:
    """Yield (split_bin, missing_left) in the order that decides ties."""
    if not has_missing:
        for split_bin in range(1, n_value_bins):
            yield split_bin, False
        return
    for split_bin in range(1, n_value_bins + 1):
        yield split_bin, False
        yield split_bin, True


def find_level_split(
    codes: Codes,
    n_value_bins: Sequence[int],
    quantized: Quantized,
    level: Sequence[Rows],
    features: Iterable[int],
    options: SplitOptions,
) -> Split | None:
    """Return the best accepted split shared by the nodes of a level.

    `level` holds the rows of each node, left to right.
    """
    best: Split | None = None
    for feature in sorted(features):
        histograms = [
            build_histogram(codes[feature], n_value_bins[feature], quantized.gi, quantized.hi, rows)
            for rows in level
        ]
        has_missing = any(histogram[MISSING_BIN, 2] > 0 for histogram in histograms)
        for split_bin, missing_left in list_candidates(n_value_bins[feature], has_missing):
            children = [split_sums(hist, split_bin, missing_left) for hist in histograms]
            gains = [split_gain(*pair, quantized, options) for pair in children]
            if all(gain is None for gain in gains):
                continue
            contributions = tuple(0.0 if gain is None else gain for gain in gains)
            total = add_in_order(contributions)
            # Strictly greater: of equal candidates the first one stays.
            if best is not None and not total > best.gain:
                continue
            if not has_missing:
                n_left = sum(left.count for left, _ in children)
                n_right = sum(right.count for _, right in children)
                missing_left = n_left >= n_right
            valid = tuple(gain is not None for gain in gains)
            best = Split(feature, split_bin, missing_left, total, contributions, valid)
    if best is None:
        return None
    parents = [abs(score_sums(sum_rows(quantized, rows), quantized, options)) for rows in level]
    needed = options.min_gain + RELATIVE_MIN_GAIN * add_in_order(parents)
    return best if best.gain > needed else None


def add_in_order(terms: Iterable[float]) -> float:
    """Add left to right; the built-in sum compensates rounding since Python 3.12."""
    total = 0.0
    for term in terms:
        total += term
    return total


def find_best_split(
    codes: Codes,
    n_value_bins: Sequence[int],
    quantized: Quantized,
    rows: Rows,
    features: Iterable[int],
    options: SplitOptions,
) -> Split | None:
    """Return the best accepted split of one node: a level of a single node."""
    return find_level_split(codes, n_value_bins, quantized, [rows], features, options)
