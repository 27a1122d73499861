"""The twin itself: hand-computed cases, invariants, and trees of two rivals."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from .binning import find_thresholds, map_to_bins, threshold_between
from .grow import LEAF, GrowOptions, Growth, Tree, grow_tree
from .losses import Exponential, Logistic, Loss, Multinomial, Squared
from .predict import predict_binned, predict_raw
from .quantize import (
    PACKED_LIMIT_G,
    PACKED_LIMIT_H,
    power_scale,
    quantize,
    quantize_packed,
    quantize_wide,
    wide_limit,
)
from .split import (
    SplitOptions,
    build_histogram,
    find_best_split,
    find_level_split,
    leaf_score,
    leaf_weight,
    list_candidates,
    soft_threshold,
)

Floats = NDArray[np.float64]
NAN = math.nan
INF = math.inf
LARGEST = sys.float_info.max
TINY = 5e-324  # the smallest positive double


def row_indices(*rows: int) -> NDArray[np.int64]:
    return np.array(rows, dtype=np.int64)


def bin_table(X: Floats) -> tuple[NDArray[np.uint8], list[int], list[Floats]]:
    """Return codes (n_features, n_rows), n_value_bins and thresholds of X."""
    thresholds = [find_thresholds(column) for column in X.T]
    codes = [map_to_bins(*pair) for pair in zip(X.T, thresholds, strict=True)]
    return np.array(codes), [len(t) + 1 for t in thresholds], thresholds


def grow_on(X: Floats, g: Floats, h: Floats, options: GrowOptions) -> Tree:
    codes, n_value_bins, _ = bin_table(X)
    return grow_tree(codes, n_value_bins, g, h, np.arange(len(X)), options)


def fit_mean(X: Sequence[Sequence[float]], y: Iterable[float], **options: Any) -> Tree:
    """Grow a tree on the squared loss from raw 0: a leaf is the mean of its y."""
    target = np.array(list(y), dtype=np.float64)
    options = {"wide": True, **options}
    table = np.array(X, dtype=np.float64)
    return grow_on(table, -target, np.ones(len(target)), GrowOptions(**options))


# Binning


def test_thresholds_are_midpoints_of_distinct_values() -> None:
    assert find_thresholds([3.0, 1.0, NAN, 2.0, 1.0]).tolist() == [1.5, 2.5]


@pytest.mark.parametrize("values", [[], [NAN, NAN], [7.0, 7.0], [0.0, -0.0]])
def test_fewer_than_two_distinct_values_have_no_threshold(values: list[float]) -> None:
    thresholds = find_thresholds(values)
    assert thresholds.shape == (0,)
    assert thresholds.dtype == np.float64


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (1.0, 2.0, 1.5),
        (1.0, INF, LARGEST),
        (LARGEST, INF, LARGEST),
        (-INF, 0.0, -INF),
        (-INF, INF, LARGEST),
        (2.0**1023, 1.5 * 2.0**1023, 1.25 * 2.0**1023),
        (-LARGEST, LARGEST, 0.0),
        (1.0, math.nextafter(1.0, 2.0), 1.0),
        # Halfway to an odd neighbor rounds up to b, which would send b left.
        (math.nextafter(1.0, 2.0), 1.0 + 2.0**-51, math.nextafter(1.0, 2.0)),
        (0.0, TINY, 0.0),
        (TINY, 2 * TINY, TINY),
    ],
)
def test_threshold_between(a: float, b: float, expected: float) -> None:
    assert threshold_between(a, b) == expected


def test_too_many_distinct_values_are_refused() -> None:
    assert len(find_thresholds(range(255))) == 254
    with pytest.raises(ValueError, match="256 distinct values"):
        find_thresholds(range(256))


def test_value_equal_to_threshold_goes_to_the_lower_bin() -> None:
    values = [-INF, 1.0, 1.5, 1.6, 2.5, 9.0, INF, NAN]
    bins = map_to_bins(values, [1.5, 2.5])
    assert bins.tolist() == [1, 1, 1, 2, 2, 3, 3, 0]
    assert bins.dtype == np.uint8


@given(st.lists(st.floats(allow_nan=True), max_size=50))
def test_each_distinct_value_has_its_own_bin(values: list[float]) -> None:
    distinct = sorted({value for value in values if not math.isnan(value)})
    thresholds = find_thresholds(values)
    assert np.all(np.diff(map_to_bins(distinct, thresholds).astype(int)) == 1)
    for value, code in zip(values, map_to_bins(values, thresholds), strict=True):
        assert code == (0 if math.isnan(value) else 1 + distinct.index(value))


# Quantization


@pytest.mark.parametrize(
    ("maximum", "limit", "expected"),
    [
        (0.0, 8191.0, 1.0),
        (1.0, 8191.0, 4096.0),
        (1.0, 8192.0, 8192.0),
        (3.0, 8191.0, 2048.0),
        (8191.0, 8191.0, 1.0),
        (8192.0, 8191.0, 0.5),
        (1.0, 2.0**61, 2.0**61),
        (1e300, 1.0, 2.0**-997),
        (LARGEST, 1.0, 2.0**-1000),
        (1e-300, 8191.0, 2.0**1000),
        (TINY, 8191.0, 2.0**1000),
    ],
)
def test_power_scale(maximum: float, limit: float, expected: float) -> None:
    assert power_scale(maximum, limit) == expected


@pytest.mark.parametrize(
    ("n_rows", "exponent"),
    [(1, 50), (2, 50), (2**12, 50), (2**12 + 1, 49), (2**20 - 1, 42), (2**20, 42), (2**20 + 1, 41)],
)
def test_wide_limit(n_rows: int, exponent: int) -> None:
    assert wide_limit(n_rows) == 2.0**exponent
    assert n_rows * int(wide_limit(n_rows)) < 2**63


def test_quantize_rounds_halves_to_even_and_keeps_positive_hessians() -> None:
    g = np.array([4.0, 0.5, 1.5, -2.5, 0.6])
    h = np.array([4.0, 1e-9, 0.0, 2.5, 3.5])
    gi, hi, scale_g, scale_h = quantize(g, h, 4.0, 4.0)
    assert (scale_g, scale_h) == (1.0, 1.0)
    assert gi.tolist() == [4, 0, 2, -2, 1]
    assert hi.tolist() == [4, 1, 0, 2, 4]
    assert gi.dtype == hi.dtype == np.int64


def test_quantize_uses_the_largest_magnitude() -> None:
    gi, _, scale_g, _ = quantize(np.array([-8.0, 1.0]), np.ones(2), 8.0, 8.0)
    assert scale_g == 1.0
    assert gi.tolist() == [-8, 1]


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0, 1e6)), min_size=1, max_size=20))
def test_quantized_values_stay_within_their_limits(
    pairs: list[tuple[float, float]],
) -> None:
    g, h = np.array(pairs).T
    packed, wide = quantize_packed(g, h), quantize_wide(g, h)
    assert np.max(np.abs(packed.gi)) <= PACKED_LIMIT_G
    assert np.max(packed.hi) <= PACKED_LIMIT_H
    assert np.max(np.abs(wide.gi)) <= int(wide_limit(len(pairs)))
    assert np.all((wide.hi > 0) == (h > 0))


# Scores and leaf weights


@pytest.mark.parametrize(
    ("g", "l1", "expected"),
    [(5.0, 2.0, 3.0), (-5.0, 2.0, -3.0), (1.0, 2.0, 0.0), (-2.0, 2.0, 0.0), (0, 0, 0)],
)
def test_soft_threshold(g: float, l1: float, expected: float) -> None:
    assert soft_threshold(g, l1) == expected


def test_score_and_weight_by_hand() -> None:
    plain = SplitOptions()
    assert leaf_score(6.0, 3.0, plain) == 12.0
    assert leaf_weight(6.0, 3.0, plain) == -2.0
    shrunk = SplitOptions(l1=2.0, l2=1.0)
    assert leaf_score(6.0, 3.0, shrunk) == 4.0
    assert leaf_weight(6.0, 3.0, shrunk) == -1.0
    # w is clipped from -2 to -1: -(2 * 6 * -1 + 3 * 1) = 9
    clipped = SplitOptions(max_delta_step=1.0)
    assert leaf_score(6.0, 3.0, clipped) == 9.0
    assert leaf_weight(6.0, 3.0, clipped) == -1.0
    # w = -(6 - 2) / 4, clipped to -0.5: -(2 * 6 * -0.5 + 4 * 0.25 + 2 * 2 * 0.5) = 3
    both = SplitOptions(l1=2.0, l2=1.0, max_delta_step=0.5)
    assert leaf_score(6.0, 3.0, both) == 3.0


@pytest.mark.parametrize("max_delta_step", [0.0, 1.0])
def test_no_hessian_means_no_score_and_no_weight(max_delta_step: float) -> None:
    options = SplitOptions(max_delta_step=max_delta_step)
    assert leaf_score(5.0, 0.0, options) == 0.0
    assert leaf_weight(5.0, 0.0, options) == 0.0


@given(st.floats(-50, 50), st.floats(0.1, 50), st.floats(0, 5), st.floats(0, 5))
def test_a_wide_clip_changes_no_score(g: float, h: float, l1: float, l2: float) -> None:
    free = leaf_score(g, h, SplitOptions(l1=l1, l2=l2))
    clipped = leaf_score(g, h, SplitOptions(l1=l1, l2=l2, max_delta_step=1e6))
    assert clipped == pytest.approx(free, rel=1e-9, abs=1e-9)


# Histograms and splits


def test_histogram_by_hand() -> None:
    codes = np.array([0, 1, 3, 1, 3], dtype=np.uint8)
    gi, hi = row_indices(10, -5, 7, 2, 100), row_indices(1, 2, 3, 4, 5)
    histogram = build_histogram(codes, 3, gi, hi, row_indices(0, 1, 2, 3))
    assert histogram.tolist() == [[10, 1, 1], [-3, 6, 2], [0, 0, 0], [7, 3, 1]]
    assert histogram.dtype == np.int64


def test_candidates_without_and_with_missing_rows() -> None:
    assert list(list_candidates(3, False)) == [(1, False), (2, False)]
    assert list(list_candidates(2, True)) == [
        (1, False),
        (1, True),
        (2, False),
        (2, True),
    ]
    assert list(list_candidates(1, False)) == []


def test_best_split_by_hand() -> None:
    # y = 1, 1, 5, 5: halves score 2 + 50, all score 36, gain 8.
    tree = fit_mean([[1], [2], [3], [4]], [1, 1, 5, 5], max_leaves=2)
    assert tree.feature == [0, LEAF, LEAF]
    assert tree.split_bin == [2, 0, 0]
    assert (tree.left, tree.right) == ([1, -1, -1], [2, -1, -1])
    assert tree.gain == [8.0, 0.0, 0.0]
    assert tree.value == [3.0, 1.0, 5.0]
    assert tree.n_rows == [4, 2, 2]
    assert tree.sum_hessian == [4.0, 2.0, 2.0]
    assert tree.depth == [0, 1, 1]
    assert {leaf: rows.tolist() for leaf, rows in tree.leaf_rows.items()} == {
        1: [0, 1],
        2: [2, 3],
    }


def test_packed_gradients_round_the_gain_but_not_the_value() -> None:
    y = [1.0, 1.1, 5.0, 5.2]
    packed = fit_mean([[1], [2], [3], [4]], y, max_leaves=2, wide=False)
    wide = fit_mean([[1], [2], [3], [4]], y, max_leaves=2, wide=True)
    assert packed.gain[0] != wide.gain[0]
    assert packed.gain[0] == pytest.approx(wide.gain[0], rel=1e-3)
    assert packed.value == wide.value


def test_ties_go_to_the_lowest_feature_and_bin() -> None:
    X = [[1, 4, 1], [2, 3, 2], [3, 2, 3], [4, 1, 4]]
    # Splitting off the first or the last row is equally good, in all features.
    tree = fit_mean(X, [5, 0, 0, 5], max_leaves=2)
    assert (tree.feature[0], tree.split_bin[0]) == (0, 1)
    tree = fit_mean(X, [5, 0, 0, 5], max_leaves=2, features=lambda *_: [2, 1])
    assert (tree.feature[0], tree.split_bin[0]) == (1, 1)


@pytest.mark.parametrize(("y_missing", "missing_left"), [(0.0, True), (9.0, False)])
def test_missing_rows_go_where_the_gain_is_higher(y_missing: float, missing_left: bool) -> None:
    tree = fit_mean([[1], [2], [NAN]], [0, 9, y_missing], max_leaves=2)
    assert (tree.split_bin[0], tree.missing_left[0]) == (1, missing_left)


def test_missing_rows_may_be_split_from_all_others() -> None:
    tree = fit_mean([[1], [2], [3], [NAN]], [0, 0, 0, 9], max_leaves=2)
    assert (tree.split_bin[0], tree.missing_left[0]) == (3, False)
    tree = fit_mean([[NAN], [7]], [0, 9])
    assert (tree.split_bin[0], tree.missing_left[0]) == (1, False)


def test_missing_right_wins_a_tie() -> None:
    # (1 | 2 and missing) and (1 and missing | 2) gain the same.
    tree = fit_mean([[1], [2], [NAN]], [-3, 3, 0], max_leaves=2)
    assert (tree.split_bin[0], tree.missing_left[0]) == (1, False)


@pytest.mark.parametrize(
    ("y", "missing_left"),
    [([0, 9, 9], False), ([0, 0, 9], True), ([0, 0, 9, 9], True)],
)
def test_unseen_missing_goes_with_the_larger_child(y: list[float], missing_left: bool) -> None:
    tree = fit_mean([[row] for row in range(len(y))], y, max_leaves=2)
    assert tree.missing_left[0] is missing_left


def test_min_samples_leaf_and_min_child_weight_forbid_small_children() -> None:
    X, y = [[1], [2], [3], [4], [5]], [9, 0, 0, 0, 0]
    assert fit_mean(X, y, max_leaves=2).split_bin[0] == 1
    assert fit_mean(X, y, max_leaves=2, min_samples_leaf=2).split_bin[0] == 2
    assert fit_mean(X, y, max_leaves=2, min_child_weight=2.0).split_bin[0] == 2
    assert fit_mean(X, y, min_samples_leaf=3).feature == [LEAF]
    assert fit_mean(X, y, min_child_weight=2.6).feature == [LEAF]


def test_gain_must_exceed_min_gain() -> None:
    X, y = [[1], [2], [3], [4]], [1, 1, 5, 5]
    assert fit_mean(X, y, min_gain=7.99).n_leaves == 2
    assert fit_mean(X, y, min_gain=8.0).n_leaves == 1


def test_gain_within_rounding_of_zero_is_refused() -> None:
    # Splitting a constant gains nothing, but 0.7 * 0.7 rounds to a gain of 1e-16.
    assert fit_mean([[1], [2], [3]], [0.7] * 3).n_leaves == 1


# Growth


EIGHT = [[row] for row in range(8)]


def test_leaf_wise_follows_the_gain() -> None:
    # The right half holds all the variance that is left.
    y = [0, 0, 1, 1, 50, 60, 80, 110]
    tree = fit_mean(EIGHT, y, growth="leaf", max_leaves=4)
    partition = sorted(rows.tolist() for rows in tree.leaf_rows.values())
    assert partition == [[0, 1, 2, 3], [4, 5], [6], [7]]
    assert tree.depth == [0, 1, 1, 2, 2, 3, 3]


def test_depth_wise_fills_a_level_first() -> None:
    y = [0, 0, 1, 1, 50, 60, 80, 110]
    tree = fit_mean(EIGHT, y, growth="depth", max_leaves=4)
    partition = sorted(rows.tolist() for rows in tree.leaf_rows.values())
    assert partition == [[0, 1], [2, 3], [4, 5, 6], [7]]
    assert tree.depth == [0, 1, 1, 2, 2, 2, 2]


def test_new_nodes_are_numbered_in_the_order_of_splits() -> None:
    y = [0, 0, 1, 1, 100, 100, 150, 150]
    tree = fit_mean(EIGHT, y, growth="leaf")
    # Node 2 (the right half) gains more than node 1, so it is split first.
    assert (tree.left[0], tree.right[0]) == (1, 2)
    assert (tree.left[2], tree.right[2]) == (3, 4)
    assert (tree.left[1], tree.right[1]) == (5, 6)


def test_nodes_of_equal_gain_split_in_order_of_index() -> None:
    y = [0, 0, 1, 1, 100, 100, 101, 101]
    tree = fit_mean(EIGHT, y, growth="leaf", max_leaves=3)
    assert tree.feature == [0, 0, LEAF, LEAF, LEAF]


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
@pytest.mark.parametrize(("limit", "n_leaves"), [(0, 1), (1, 2), (2, 4)])
def test_max_depth(growth: str, limit: int, n_leaves: int) -> None:
    tree = fit_mean(EIGHT, range(8), growth=growth, max_depth=limit)
    assert max(tree.depth) == limit
    assert tree.n_leaves == n_leaves


@pytest.mark.parametrize(
    ("growth", "max_leaves", "n_leaves"),
    [
        ("leaf", 1, 1),
        ("leaf", 3, 3),
        ("depth", 3, 3),
        ("symmetric", 1, 1),
        ("symmetric", 3, 2),
        ("symmetric", 4, 4),
        ("symmetric", 7, 4),
    ],
)
def test_max_leaves(growth: str, max_leaves: int, n_leaves: int) -> None:
    tree = fit_mean(EIGHT, range(8), growth=growth, max_leaves=max_leaves)
    assert tree.n_leaves == n_leaves


def test_features_are_asked_for_by_node_and_depth() -> None:
    asked = []

    def features(node_idx: int, depth: int) -> list[int]:
        asked.append((node_idx, depth))
        return [depth % 2]

    X = [[row, row] for row in range(8)]
    tree = fit_mean(X, [0, 0, 1, 1, 9, 9, 11, 11], max_depth=2, features=features)
    assert tree.feature == [0, 1, 1, LEAF, LEAF, LEAF, LEAF]
    assert asked == [(0, 0), (1, 1), (2, 1)]


def test_learning_rate_and_max_delta_step_shape_the_value() -> None:
    X, y = [[1], [2]], [1, 8]
    assert fit_mean(X, y, learning_rate=0.5).value == [2.25, 0.5, 4.0]
    tree = fit_mean(X, y, learning_rate=0.5, max_delta_step=2.0, max_depth=0)
    assert tree.value == [1.0]
    assert fit_mean(X, y, l1=1.0, l2=2.0, max_depth=0).value == [2.0]


def test_only_the_given_rows_count() -> None:
    codes = np.array([[1, 2, 1, 2]], dtype=np.uint8)
    g = -np.array([1.0, 1000.0, 3.0, 5.0])
    rows = row_indices(3, 0, 2)
    tree = grow_tree(codes, [2], g, np.ones(4), rows, GrowOptions())
    assert tree.value == [3.0, 2.0, 5.0]
    assert tree.leaf_rows[1].tolist() == [0, 2]
    assert tree.leaf_rows[2].tolist() == [3]


# Symmetric growth


def test_symmetric_by_hand() -> None:
    X = [[1, 1], [1, 1], [1, 2], [1, 2], [2, 1], [2, 1]]
    tree = fit_mean(X, [0, 0, 4, 4, 10, 10], growth="symmetric")
    assert tree.feature == [0, 1, 1, LEAF, LEAF, LEAF, LEAF]
    assert tree.split_bin[:3] == [1, 1, 1]
    assert (tree.left[:3], tree.right[:3]) == ([1, 3, 5], [2, 4, 6])
    assert tree.missing_left[:3] == [True, True, True]
    assert tree.n_rows == [6, 4, 2, 2, 2, 2, 0]
    # The second split is invalid in node 2: no gain, and both children inherit.
    assert tree.gain == [0.5 * (16 + 200 - 28 * 28 / 6), 8.0] + [0.0] * 5
    assert tree.value == [28 / 6, 2.0, 10.0, 0.0, 4.0, 10.0, 10.0]
    assert tree.sum_hessian == [6.0, 4.0, 2.0, 2.0, 2.0, 2.0, 0.0]
    assert tree.leaf_rows[6].tolist() == []


def test_symmetric_children_of_an_invalid_node_anchor_further_up() -> None:
    # Node 2 has one row: both later splits are invalid there.
    X = [[1, 1, 1], [1, 1, 2], [1, 2, 1], [1, 2, 2], [2, 1, 1]]
    tree = fit_mean(X, [0, 1, 5, 7, 99], growth="symmetric", max_depth=3)
    assert tree.feature[:7] == [0, 1, 1, 2, 2, 2, 2]
    assert [tree.value[node_idx] for node_idx in (2, 5, 6, 11, 12, 13, 14)] == [99] * 7
    assert tree.value[7:11] == [0, 1, 5, 7]


def test_a_valid_node_may_lower_the_gain_of_its_level() -> None:
    codes = np.array([[1, 2, 1, 2]], dtype=np.uint8)
    quantized = quantize_wide(np.array([4.0, -4.0, 2.0, 2.0]), np.ones(4))
    level = [row_indices(0, 1), row_indices(2, 3)]
    split = find_level_split(codes, [2], quantized, level, [0], SplitOptions(l2=1.0))
    assert split is not None
    # 16/2 + 16/2 - 0 and 4/2 + 4/2 - 16/3, each halved
    assert split.gains == (8.0, 0.5 * (4.0 - 16 / 3))
    assert split.gain == 8.0 + 0.5 * (4.0 - 16 / 3)
    assert split.valid == (True, True)


def test_symmetric_accepts_by_the_total() -> None:
    codes = np.array([[1, 2, 1, 2]], dtype=np.uint8)
    quantized = quantize_wide(np.array([1.0, -1.0, 1.0, -1.0]), np.ones(4))
    level = [row_indices(0, 1), row_indices(2, 3)]
    for min_gain, accepted in [(1.99, True), (2.0, False)]:
        options = SplitOptions(min_gain=min_gain)
        split = find_level_split(codes, [2], quantized, level, [0], options)
        assert (split is not None) is accepted


def test_symmetric_shares_one_missing_direction() -> None:
    # The second node has no missing row, and takes the direction of the first.
    codes = np.array([[1, 1, 2, 0, 1, 2, 2, 2]], dtype=np.uint8)
    g = np.array([1.0, 1.0, -1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    level = [row_indices(0, 1, 2, 3), row_indices(4, 5, 6, 7)]
    for sign, missing_left in [(1.0, True), (-1.0, False)]:
        g[3] = sign
        quantized = quantize_wide(g, np.ones(8))
        split = find_level_split(codes, [2], quantized, level, [0], SplitOptions())
        assert split is not None
        assert split.missing_left is missing_left
    # Alone, the second node sends unseen missing rows to its larger child.
    alone = find_best_split(codes, [2], quantized, level[1], [0], SplitOptions())
    assert alone is not None
    assert alone.missing_left is False


def test_symmetric_may_split_missing_rows_from_all_others() -> None:
    tree = fit_mean([[1], [2], [NAN], [NAN]], [0, 0, 9, 9], growth="symmetric")
    assert (tree.split_bin[0], tree.missing_left[0]) == (2, False)


# Invariants of whole trees


@st.composite
def tables(draw: st.DrawFn) -> tuple[Floats, Floats, Floats]:
    """Small tables of few distinct values, some missing, with gradients."""
    n_rows, n_features = draw(st.integers(1, 16)), draw(st.integers(1, 3))
    values = st.sampled_from([NAN, -INF, -1.0, 0.0, 0.5, 2.0, INF])
    size = n_rows * n_features
    cells = draw(st.lists(values, min_size=size, max_size=size))
    pairs = st.tuples(st.integers(-9, 9), st.sampled_from([0.0, 0.25, 1.0, 2.0]))
    g, h = np.array(draw(st.lists(pairs, min_size=n_rows, max_size=n_rows))).T
    return np.array(cells).reshape(n_rows, n_features), g, h


@st.composite
def grow_options(draw: st.DrawFn) -> GrowOptions:
    return GrowOptions(
        growth=draw(st.sampled_from(["leaf", "depth", "symmetric"])),
        max_depth=draw(st.integers(0, 4)),
        max_leaves=draw(st.none() | st.integers(1, 9)),
        min_samples_leaf=draw(st.integers(0, 3)),
        min_child_weight=draw(st.sampled_from([0.0, 1.0])),
        l1=draw(st.sampled_from([0.0, 1.0])),
        l2=draw(st.sampled_from([0.0, 1.0])),
        max_delta_step=draw(st.sampled_from([0.0, 0.5])),
        wide=draw(st.booleans()),
    )


@given(tables(), grow_options())
@settings(max_examples=60, deadline=None)
def test_rows_reach_the_leaf_that_holds_them(
    table: tuple[Floats, Floats, Floats], options: GrowOptions
) -> None:
    X, g, h = table
    codes, n_value_bins, thresholds = bin_table(X)
    tree = grow_tree(codes, n_value_bins, g, h, np.arange(len(X)), options)
    expected = np.full(len(X), -1)
    for leaf, rows in tree.leaf_rows.items():
        expected[rows] = leaf
    np.testing.assert_array_equal(predict_binned(tree, codes), expected)
    np.testing.assert_array_equal(predict_raw(tree, X, thresholds), expected)


@given(tables(), grow_options())
@settings(max_examples=60, deadline=None)
def test_trees_keep_their_limits(
    table: tuple[Floats, Floats, Floats], options: GrowOptions
) -> None:
    tree = grow_on(*table, options)
    assert max(tree.depth) <= (options.max_depth or 0)
    assert options.max_leaves is None or tree.n_leaves <= options.max_leaves
    assert sum(len(rows) for rows in tree.leaf_rows.values()) == len(table[0])
    for node_idx in range(tree.n_nodes):
        if tree.feature[node_idx] == LEAF:
            continue
        left, right = tree.left[node_idx], tree.right[node_idx]
        assert tree.n_rows[left] + tree.n_rows[right] == tree.n_rows[node_idx]
        if options.growth != "symmetric":
            assert tree.gain[node_idx] > 0
            assert min(tree.n_rows[left], tree.n_rows[right]) >= options.min_rows
            hessians = tree.sum_hessian[left], tree.sum_hessian[right]
            assert min(hessians) >= options.min_child_weight * (1 - 1e-3)


@given(tables())
@settings(max_examples=40, deadline=None)
def test_without_a_limit_the_growth_order_does_not_matter(
    table: tuple[Floats, Floats, Floats],
) -> None:
    by_gain = grow_on(*table, GrowOptions(growth="leaf"))
    by_level = grow_on(*table, GrowOptions(growth="depth"))
    assert partition_of(by_gain) == partition_of(by_level)


@given(tables(), grow_options())
@settings(max_examples=40, deadline=None)
def test_growth_policies_agree_on_one_split(
    table: tuple[Floats, Floats, Floats], options: GrowOptions
) -> None:
    policies: list[Growth] = ["leaf", "depth", "symmetric"]
    stumps = [
        grow_on(*table, replace(options, growth=growth, max_depth=1, max_leaves=None))
        for growth in policies
    ]
    for stump in stumps:
        stump.leaf_rows = {}  # arrays have no single truth value to compare by
    assert stumps[0] == stumps[1] == stumps[2]


def test_unseen_values_go_by_threshold() -> None:
    X = np.array([[1.0], [2.0], [INF]])
    codes, n_value_bins, thresholds = bin_table(X)
    g = np.array([0.0, 5.0, 20.0])
    tree = grow_tree(codes, n_value_bins, g, np.ones(3), np.arange(3), GrowOptions())
    new = np.array([[-INF], [1.5], [1.6], [LARGEST], [INF], [NAN]])
    reached = [tree.n_rows[leaf] for leaf in predict_raw(tree, new, thresholds)]
    assert reached == [1] * 6
    leaf_of = predict_binned(tree, codes)
    # Root: {1, 2} | {inf}; missing was unseen and follows the larger child, twice.
    expected = [leaf_of[0], leaf_of[0], leaf_of[1], leaf_of[1], leaf_of[2], leaf_of[0]]
    assert predict_raw(tree, new, thresholds).tolist() == expected


# Losses

BINARY = np.array([0.0, 1.0, 1.0, 0.0, 1.0])
CLASSES = np.array([0.0, 2.0, 1.0, 2.0, 0.0])
WEIGHTS = np.array([1.0, 2.0, 0.5, 3.0, 1.5])
RAW = np.array([0.3, -1.2, 2.0, 0.0, 0.7])
RAW_CLASSES = np.outer(RAW, [1.0, -0.5, 0.2]) + np.array([0.1, 0.4, -0.3])

LOSSES = [
    (Squared(), np.array([1.0, -2.0, 0.5, 3.0, 0.0]), RAW),
    (Logistic(), BINARY, RAW),
    (Exponential(), BINARY, RAW),
    (Multinomial(3), CLASSES, RAW_CLASSES),
]


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize(("loss", "y", "raw"), LOSSES)
def test_gradient_and_hessian_are_derivatives(
    loss: Loss, y: Floats, raw: Floats, weights: Floats | None
) -> None:
    total = len(y) if weights is None else float(np.sum(weights))
    # The multinomial hessian is enlarged by K / (K - 1).
    enlarged = 1.5 if isinstance(loss, Multinomial) else 1.0
    step = 1e-5
    gradient = loss.gradient(y, raw, weights)
    hessian = loss.hessian(y, raw, weights)
    for cell in np.ndindex(raw.shape):
        up, down = raw.copy(), raw.copy()
        up[cell] += step
        down[cell] -= step
        slope = (loss.loss(y, up, weights) - loss.loss(y, down, weights)) / (2 * step)
        change = loss.gradient(y, up, weights) - loss.gradient(y, down, weights)
        curvature = change[cell] / (2 * step)
        assert gradient[cell] == pytest.approx(total * slope, abs=1e-8)
        assert hessian[cell] == pytest.approx(enlarged * curvature, abs=1e-8)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize(("loss", "y", "raw"), LOSSES)
def test_initial_score_has_no_gradient(
    loss: Loss, y: Floats, raw: Floats, weights: Floats | None
) -> None:
    start = np.broadcast_to(loss.initial(y, weights), raw.shape)
    gradient = loss.gradient(y, start, weights)
    np.testing.assert_allclose(gradient.sum(axis=0), 0, atol=1e-12)


@pytest.mark.parametrize(("loss", "y", "raw"), LOSSES)
def test_link_undoes_the_inverse_link(loss: Loss, y: Floats, raw: Floats) -> None:
    mean = loss.inverse_link(raw)
    again = loss.inverse_link(loss.link(mean))
    np.testing.assert_allclose(again, mean, rtol=1e-12)


def test_losses_by_hand() -> None:
    y, zero = np.array([0.0, 1.0, 1.0, 1.0]), np.zeros(4)
    assert Squared().initial(y) == 0.75
    assert Squared().loss(y, zero) == 0.375
    assert Logistic().initial(y) == pytest.approx(math.log(3))
    assert Logistic().loss(y, zero) == pytest.approx(math.log(2))
    assert Logistic().gradient(y, zero).tolist() == [0.5, -0.5, -0.5, -0.5]
    assert Logistic().hessian(y, zero).tolist() == [0.25] * 4
    assert Exponential().initial(y) == pytest.approx(math.log(3) / 2)
    assert Exponential().loss(y, zero) == 1.0
    assert Exponential().gradient(y, zero).tolist() == [1.0, -1.0, -1.0, -1.0]
    assert Exponential().inverse_link(Exponential().initial(y)) == pytest.approx(0.75)
    three = Multinomial(3)
    assert three.loss(CLASSES, np.zeros((5, 3))) == pytest.approx(math.log(3))
    np.testing.assert_allclose(three.initial(CLASSES), np.log([0.4, 0.2, 0.4]))
    np.testing.assert_allclose(three.hessian(CLASSES, np.zeros((5, 3))), 1.5 * 2 / 9)


def test_extreme_raw_scores_do_not_overflow() -> None:
    raw, y = np.array([-800.0, 800.0]), np.array([1.0, 0.0])
    with np.errstate(over="raise"):
        assert Logistic().gradient(y, raw).tolist() == [-1.0, 1.0]
        assert Logistic().loss(y, raw) == 800.0
        both = np.column_stack([-raw, raw])
        assert Multinomial(2).loss(y, both) == 1600.0


# Rivals: distinct random gradients leave no ties, so the trees must be the same.


def partition_of(tree: Tree) -> set[frozenset[int]]:
    return {frozenset(rows.tolist()) for rows in tree.leaf_rows.values() if len(rows)}


def partition_by(leaves: NDArray[Any]) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(leaves == leaf).tolist()) for leaf in set(leaves)}


def value_of_rows(tree: Tree) -> Floats:
    values = np.zeros(sum(tree.n_rows[leaf] for leaf in tree.leaf_rows))
    for leaf, rows in tree.leaf_rows.items():
        values[rows] = tree.value[leaf]
    return values


def integer_table(seed: int, with_missing: bool) -> tuple[Floats, Floats, Floats]:
    """Return X of few integers and integer y, h that float32 holds exactly."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (60, 4)).astype(np.float64)
    y = rng.integers(-9999, 10000, 60) + 1000 * X[:, 0] - 800 * X[:, 1]
    h = rng.integers(1, 64, 60).astype(np.float64)
    if with_missing:
        X[rng.random(X.shape) < 0.2] = NAN
    return X, y, h


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize(
    "penalty",
    [
        {},
        {"l2": 3.0},
        {"l1": 5000.0, "l2": 1.0},
        {"max_delta_step": 100.0, "l2": 1.0},
        {"min_child_weight": 120.0},
        {"min_gain": 200000.0},
    ],
    ids=str,
)
def test_level_wise_tree_equals_xgboost(
    penalty: dict[str, float], with_missing: bool, seed: int
) -> None:
    import xgboost

    X, y, h = integer_table(seed, with_missing)
    options = GrowOptions(growth="depth", max_depth=4, wide=True, **penalty)  # type: ignore[arg-type]
    tree = grow_on(X, -y, h, options)
    matrix = xgboost.DMatrix(X, label=y)
    rival = xgboost.train(
        {
            "tree_method": "exact",
            "max_depth": 4,
            "learning_rate": 1.0,
            "base_score": 0.0,
            "lambda": options.l2,
            "alpha": options.l1,
            "max_delta_step": options.max_delta_step,
            "min_child_weight": options.min_child_weight,
            # XGBoost does not halve the gain, and removes weak splits bottom up.
            "gamma": 2 * options.min_gain,
            "nthread": 1,
        },
        matrix,
        num_boost_round=1,
        obj=lambda raw, data: (-y, h),
    )
    leaves = rival.predict(matrix, pred_leaf=True).astype(int).ravel()
    assert tree.n_leaves > 4
    assert partition_of(tree) == partition_by(leaves)
    values = rival.predict(matrix, output_margin=True)
    np.testing.assert_allclose(value_of_rows(tree), values, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize(
    "penalty",
    [{}, {"l2": 0.1}, {"l1": 100.0}, {"min_samples_leaf": 4}],
    ids=str,
)
def test_leaf_wise_tree_equals_lightgbm(
    penalty: dict[str, float], with_missing: bool, seed: int
) -> None:
    # Penalties are mild: LightGBM gives up a feature in all descendants of a node
    # where no split of it has a positive gain, and a penalty makes gains negative.
    import lightgbm

    X, y, _ = integer_table(seed, with_missing)
    options = GrowOptions(growth="leaf", max_leaves=10, wide=True, **penalty)  # type: ignore[arg-type]
    tree = grow_on(X, -y, np.ones(len(y)), options)
    rival = lightgbm.train(
        {
            "objective": "regression",
            "boost_from_average": False,
            "num_leaves": 10,
            "learning_rate": 1.0,
            "lambda_l1": options.l1,
            "lambda_l2": options.l2,
            "min_data_in_leaf": options.min_rows,
            "min_sum_hessian_in_leaf": 0.0,
            "min_data_in_bin": 1,
            "feature_pre_filter": False,
            "num_threads": 1,
            "verbosity": -1,
        },
        lightgbm.Dataset(X, y),
        num_boost_round=1,
    )
    leaves = rival.predict(X, pred_leaf=True).astype(int).ravel()
    assert tree.n_leaves == 10
    assert partition_of(tree) == partition_by(leaves)
    np.testing.assert_allclose(value_of_rows(tree), rival.predict(X), rtol=1e-6)
