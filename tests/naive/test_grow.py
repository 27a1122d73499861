"""Trees of the twin, by hand."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from numpy.typing import NDArray

from .grow import LEAF, GrowOptions, grow_tree
from .quantize import (
    quantize_wide,
)
from .split import (
    SplitOptions,
    find_best_split,
    find_level_split,
)
from .tables import fit_mean, row_indices

Floats = NDArray[np.float64]
NAN = math.nan
INF = math.inf
LARGEST = sys.float_info.max
TINY = 5e-324  # the smallest positive double


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
