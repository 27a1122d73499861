"""Scores, histograms and splits of the twin, by hand."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from .grow import LEAF
from .split import (
    SplitOptions,
    build_histogram,
    leaf_score,
    leaf_weight,
    list_candidates,
    soft_threshold,
)
from .tables import fit_mean, row_indices

Floats = NDArray[np.float64]
NAN = math.nan
INF = math.inf
LARGEST = sys.float_info.max
TINY = 5e-324  # the smallest positive double


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
