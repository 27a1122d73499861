"""Histograms, the gain of a split, and the best split of a node or of a level."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from .binning import MISSING_BIN
from .categories import CategoricalFeature, NativeOptions, list_sets, sum_sets
from .constraints import Bounds
from .quantize import Quantized
from .random import choose_between, extend

Codes = NDArray[np.uint8]
Rows = NDArray[np.int64]
Floats = NDArray[np.float64]
# Exact integer sums over some rows; the last axis is (gradient, hessian, count).
Sums = NDArray[np.int64]

# A gain must exceed this share of the parent's score, or it may be rounding only.
RELATIVE_MIN_GAIN = 1e-12

FREE = Bounds()
# The stream of random numbers that splits are drawn from.
RANDOM_SPLITS = 13


@dataclass(frozen=True)
class SplitOptions:
    l1: float = 0.0
    l2: float = 0.0
    max_delta_step: float = 0.0
    min_samples_leaf: int = 1
    min_child_weight: float = 0.0
    min_gain: float = 0.0
    # For each feature 1, -1 or 0; None: all 0.
    directions: Sequence[int] | None = None
    categorical: Mapping[int, CategoricalFeature] = field(default_factory=dict)
    native: NativeOptions = field(default_factory=NativeOptions)
    path_smooth: float = 0.0
    # The key of the tree, if a node looks at one random split of each feature.
    random_key: int | None = None

    @property
    def min_rows(self) -> int:
        return max(1, self.min_samples_leaf)

    def direction(self, feature: int, split_bin: int, n_value_bins: int) -> int:
        """Return the order that the children of a split must keep."""
        # Missing values have no order.
        if self.directions is None or split_bin == n_value_bins:
            return 0
        return self.directions[feature]


@dataclass(frozen=True)
class Split:
    """Value bins 1..split_bin of the feature go left, or those of `members` if there are any.

    `gains` holds one gain per node of the level (one node, but for symmetric
    growth); an invalid node contributes 0 and has `valid` False.
    """

    feature: int
    split_bin: int
    missing_left: bool
    gain: float
    gains: tuple[float, ...]
    valid: tuple[bool, ...]
    members: frozenset[int] | None = None


def build_histogram(
    feature_codes: Codes,
    n_value_bins: int,
    gi: NDArray[np.int64],
    hi: NDArray[np.int64],
    rows: Rows,
) -> Sums:
    """Return int64 sums of shape (1 + n_value_bins, 3): gradient, hessian, count."""
    histogram = np.zeros((1 + n_value_bins, 3), dtype=np.int64)
    np.add.at(histogram[:, 0], feature_codes[rows], gi[rows])
    np.add.at(histogram[:, 1], feature_codes[rows], hi[rows])
    np.add.at(histogram[:, 2], feature_codes[rows], 1)
    return histogram


def sum_rows(quantized: Quantized, rows: Rows) -> Sums:
    return np.array([quantized.gi[rows].sum(), quantized.hi[rows].sum(), len(rows)])


def goes_left(
    code: Codes | int, split_bin: int, missing_left: bool, members: frozenset[int] | None = None
) -> NDArray[np.bool_]:
    below = code <= split_bin if members is None else np.isin(code, sorted(members))
    return np.where(code == MISSING_BIN, missing_left, below)


def soft_threshold(g: Floats, l1: float) -> Floats:
    """Return T(G), the gradient sum shrunk towards zero by l1."""
    return np.sign(g) * np.maximum(np.abs(g) - l1, 0.0)


def divide_where_positive(numerator: Floats, denominator: Floats) -> Floats:
    """Return the quotient, and 0 where the denominator is not positive."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(denominator > 0, np.divide(numerator, denominator), 0.0)


def leaf_weight(g: Floats, h: Floats, options: SplitOptions) -> Floats:
    """Return the w that minimizes G w + (H + l2) w^2 / 2 + l1 |w|, clipped."""
    weight = divide_where_positive(-soft_threshold(g, options.l1), h + options.l2)
    limit = options.max_delta_step
    return np.clip(weight, -limit, limit) if limit > 0 else weight


def leaf_score(g: Floats, h: Floats, options: SplitOptions) -> Floats:
    """Return minus twice the objective at the best weight of a leaf."""
    denominator = h + options.l2
    if options.max_delta_step == 0:
        shrunk = soft_threshold(g, options.l1)
        return divide_where_positive(shrunk * shrunk, denominator)
    w = leaf_weight(g, h, options)
    return -(2 * g * w + denominator * w * w + 2 * options.l1 * np.abs(w))


def to_floats(sums: Sums, quantized: Quantized) -> tuple[Floats, Floats]:
    """Return (G, H) in the units of the loss; 1 / scale is an exact power of two."""
    return (
        sums[..., 0].astype(np.float64) * (1 / quantized.scale_g),
        sums[..., 1].astype(np.float64) * (1 / quantized.scale_h),
    )


def smooth_value(
    value: Floats | float, n_rows: Floats | int, smooth: float, parent: float
) -> Floats | float:
    """Return a value drawn to that of the parent: by half, if there are `smooth` rows."""
    share = n_rows / (n_rows + smooth)
    return share * value + (1.0 - share) * parent


def value_sums(
    sums: Sums, quantized: Quantized, options: SplitOptions, bounds: Bounds, center: float = 0.0
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the best value within the bounds, and whether a bound changed it.

    Where paths are smoothed, `center` is the value of the parent.
    """
    free = leaf_weight(*to_floats(sums, quantized), options)
    if options.path_smooth > 0:
        free = smooth_value(free, sums[..., 2], options.path_smooth, center)
    value = np.clip(free, bounds.lower, bounds.upper)
    return value, value != free


def score_value(g: Floats, h: Floats, w: Floats, options: SplitOptions) -> Floats:
    """Return minus twice the objective at any weight of a leaf."""
    return -(2 * g * w + (h + options.l2) * w * w + 2 * options.l1 * np.abs(w))


def score_sums(
    sums: Sums,
    quantized: Quantized,
    options: SplitOptions,
    bounds: Bounds = FREE,
    center: float = 0.0,
) -> Floats:
    g, h = to_floats(sums, quantized)
    free = leaf_score(g, h, options)
    w, is_bound = value_sums(sums, quantized, options, bounds, center)
    is_given = is_bound | (options.path_smooth > 0)
    return np.where(is_given, score_value(g, h, w, options), free)


def score_node(
    sums: Sums, quantized: Quantized, options: SplitOptions, bounds: Bounds, center: float
) -> Floats:
    """Return the score of a node that may be split; where paths are smoothed, by its value."""
    if options.path_smooth > 0:
        return score_value(*to_floats(sums, quantized), np.float64(center), options)
    return score_sums(sums, quantized, options, bounds)


def is_valid_child(sums: Sums, quantized: Quantized, options: SplitOptions) -> NDArray[np.bool_]:
    _, h = to_floats(sums, quantized)
    return (sums[..., 2] >= options.min_rows) & (h >= options.min_child_weight)


def split_gain(
    left: Sums,
    right: Sums,
    quantized: Quantized,
    options: SplitOptions,
    bounds: Bounds = FREE,
    direction: NDArray[np.int64] | int = 0,
    more_l2: float = 0.0,
    center: float = 0.0,
) -> Floats:
    """Return the gain of each split, nan where a child would be too small or out of order.

    The children may have a larger penalty than their parent. `center` is the value of the node.
    """
    valid = is_valid_child(left, quantized, options) & is_valid_child(right, quantized, options)
    of_children = replace(options, l2=options.l2 + more_l2)
    value_left, left_is_bound = value_sums(left, quantized, of_children, bounds, center)
    value_right, right_is_bound = value_sums(right, quantized, of_children, bounds, center)
    valid &= ~((direction > 0) & (value_left > value_right))
    valid &= ~((direction < 0) & (value_left < value_right))
    # At the same bound they gain nothing, whatever rounding says.
    valid &= ~(left_is_bound & right_is_bound & (value_left == value_right))
    score_left = score_sums(left, quantized, of_children, bounds, center)
    score_right = score_sums(right, quantized, of_children, bounds, center)
    score_parent = score_node(left + right, quantized, options, bounds, center)
    return np.where(valid, 0.5 * ((score_left + score_right) - score_parent), np.nan)


def list_candidates(n_value_bins: int, has_missing: bool) -> Iterator[tuple[int, bool]]:
    """Yield (split_bin, missing_left) in the order that decides ties."""
    if not has_missing:
        for split_bin in range(1, n_value_bins):
            yield split_bin, False
        return
    for split_bin in range(1, n_value_bins + 1):
        yield split_bin, False
        yield split_bin, True


def draw_candidates(
    histograms: Sequence[Sums], n_value_bins: int, has_missing: bool, key: int, feature: int
) -> list[tuple[int, bool]]:
    """Return the splits after one random bin, from the lowest to the highest that has rows.

    With missing rows, all values against these is as likely as any other.
    """
    rows = np.sum(histograms, axis=0)[1:, 2]
    bins = 1 + np.flatnonzero(rows)
    n = 0 if not bins.size else int(bins[-1] - bins[0]) + has_missing
    if n == 0:
        return []
    drawn = choose_between(key, feature, int(bins[0]), n)
    split_bin = n_value_bins if drawn == bins[-1] else drawn
    return [(split_bin, False), (split_bin, True)] if has_missing else [(split_bin, False)]


def sum_left(histogram: Sums, candidates: Sequence[tuple[int, bool]]) -> Sums:
    """Return the sums of the left child of each candidate: (n_candidates, n_stats)."""
    split_bins, missing_left = np.array(candidates).T
    up_to_bin = np.cumsum(histogram[1:], axis=0)
    return up_to_bin[split_bins - 1] + missing_left[:, None] * histogram[MISSING_BIN]


def find_level_split(
    codes: Codes,
    n_value_bins: Sequence[int],
    quantized: Quantized,
    level: Sequence[Rows],
    features: Iterable[int],
    options: SplitOptions,
    bounds: Bounds = FREE,
    centers: Sequence[float] | None = None,
    number: int = 0,
    may_split: Sequence[bool] | None = None,
) -> Split | None:
    """Return the best accepted split shared by the nodes of a level.

    `level` holds the rows of each node, left to right, and `centers` their values where paths are
    smoothed. Nodes with too few rows for any split take no part in the choice, not even in where
    missing rows go; `may_split` tells the others, if it does not follow from their rows. `number`
    is that of the first node: what is random depends on it.
    """
    centers = [0.0] * len(level) if centers is None else centers
    if may_split is None:
        may_split = [len(rows) >= 2 * options.min_rows for rows in level]
    chosen = [rows for rows, may in zip(level, may_split, strict=True) if may]
    chosen_centers = [center for center, may in zip(centers, may_split, strict=True) if may]
    key = 0 if options.random_key is None else options.random_key
    key = extend(extend(key, RANDOM_SPLITS), number)
    if not chosen:
        return None
    best: Split | None = None
    for feature in sorted(features):
        histograms = [
            build_histogram(codes[feature], n_value_bins[feature], quantized.gi, quantized.hi, rows)
            for rows in chosen
        ]
        has_missing = any(histogram[MISSING_BIN, 2] > 0 for histogram in histograms)
        kind = options.categorical.get(feature)
        sets: list[list[int]] = []
        if kind is None:
            candidates = list(list_candidates(n_value_bins[feature], has_missing))
            if options.random_key is not None:
                n_bins = n_value_bins[feature]
                candidates = draw_candidates(histograms, n_bins, has_missing, key, feature)
            lefts = [sum_left(h, candidates) for h in histograms if candidates]
        else:
            level_sums = np.sum(histograms, axis=0)
            sets = list_sets(level_sums, quantized, kind, options)
            if options.random_key is not None and sets:
                sets = [sets[choose_between(key, feature, 0, len(sets))]]
            candidates = [(0, MISSING_BIN in bins) for bins in sets]
            lefts = [sum_sets(h, sets) for h in histograms if candidates]
        if not candidates:
            continue
        more_l2 = 0.0 if kind is None or kind.one_hot else options.native.l2
        order: NDArray[np.int64] | int = 0
        if kind is None:
            n_bins = n_value_bins[feature]
            order = np.array([options.direction(feature, b, n_bins) for b, _ in candidates])
        gains = [
            split_gain(
                left,
                histogram.sum(axis=0) - left,
                quantized,
                options,
                bounds,
                order,
                more_l2,
                center,
            )
            for left, histogram, center in zip(lefts, histograms, chosen_centers, strict=True)
        ]
        place, total = find_highest(gains)
        # Strictly greater: of equal candidates the first one stays.
        if place is None or (best is not None and not total > best.gain):
            continue
        split_bin, missing_left = candidates[place]
        if not has_missing:
            n_left = sum(left[place, 2] for left in lefts)
            missing_left = bool(2 * n_left >= sum(len(rows) for rows in chosen))
        of_chosen = iter(gains)
        of_level = [next(of_chosen)[place] if may else np.nan for may in may_split]
        best = Split(
            feature,
            split_bin,
            missing_left,
            total,
            gains=tuple(0.0 if np.isnan(gain) else float(gain) for gain in of_level),
            valid=tuple(not np.isnan(gain) for gain in of_level),
            members=None if kind is None else frozenset(sets[place]) - {MISSING_BIN},
        )
    if best is None:
        return None
    parents = [
        abs(score_node(sum_rows(quantized, rows), quantized, options, bounds, center))
        for rows, center in zip(chosen, chosen_centers, strict=True)
    ]
    needed = options.min_gain + RELATIVE_MIN_GAIN * add_in_order(parents)
    return best if best.gain > needed else None


def find_highest(gains: Sequence[Floats]) -> tuple[int | None, float]:
    """Return the first candidate with the highest sum over the nodes, and that sum.

    A node where a candidate is invalid (nan) adds nothing; a candidate that is invalid in all
    nodes is none.
    """
    totals = np.zeros(len(gains[0]))
    for of_node in gains:
        totals = totals + np.where(np.isnan(of_node), 0.0, of_node)
    totals[np.isnan(gains).all(axis=0)] = -np.inf
    place = int(np.argmax(totals))
    return (None if totals[place] == -np.inf else place), float(totals[place])


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
    bounds: Bounds = FREE,
    center: float = 0.0,
    number: int = 0,
) -> Split | None:
    """Return the best accepted split of one node: a level of a single node."""
    node = ([rows], features, options, bounds, [center], number)
    return find_level_split(codes, n_value_bins, quantized, *node)
