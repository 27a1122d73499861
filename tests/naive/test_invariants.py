"""What holds of every tree of the twin."""

from __future__ import annotations

import math
import sys
from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from .grow import LEAF, GrowOptions, Growth, grow_tree
from .predict import predict_binned, predict_raw
from .tables import bin_table, grow_on, partition_of

Floats = NDArray[np.float64]
NAN = math.nan
INF = math.inf
LARGEST = sys.float_info.max
TINY = 5e-324  # the smallest positive double


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
