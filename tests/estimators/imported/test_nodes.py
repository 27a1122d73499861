"""Nodes in any order become a tree; what is no tree is refused."""

from dataclasses import replace

import numpy as np
import pytest

from sumwise.errors import ModelFileError
from sumwise.estimators.imported.nodes import SourceNodes, arrange, split_columns
from sumwise.tree import LeafModels


def make_nodes(left, right):
    n = len(left)
    return SourceNodes(
        left=np.array(left),
        right=np.array(right),
        feature=np.arange(n),
        threshold=np.arange(n, dtype=np.float64),
        missing_left=np.arange(n) % 2,
        value=np.arange(2.0 * n).reshape(n, 2),
        gain=np.arange(n),
        weight=np.arange(1, n + 1),
        n_rows=np.arange(1, n + 1),
    )


# 0 -> (4, 2), 4 -> (1, 6), 2 and 1 and 6 are leaves; 3 and 5 are in no tree.
NODES = make_nodes([4, -1, -1, 5, 1, -1, -1], [2, -1, -1, 3, 6, -1, -1])


def test_children_follow_one_another():
    tree = arrange(NODES)
    assert tree.left.tolist() == [1, 3, -1, -1, -1]
    assert tree.feature.tolist() == [0, 4, -1, -1, -1]
    assert tree.threshold.tolist() == [0, 4, 0, 0, 0]
    assert tree.gain.tolist() == [0, 4, 0, 0, 0]
    assert tree.n_rows.tolist() == [1, 5, 3, 2, 7]
    assert tree.value[2:].tolist() == [[4, 5], [2, 3], [12, 13]]


def test_inner_values_are_means_by_weight():
    tree = arrange(NODES)
    below = (2 * 2 + 7 * 12) / 9
    np.testing.assert_allclose(tree.value[1, 0], below)
    np.testing.assert_allclose(tree.value[0, 0], (5 * below + 3 * 4) / 8)
    none = np.zeros(7)
    tree = arrange(replace(NODES, weight=none, n_rows=none))
    np.testing.assert_allclose(tree.value[:2, 0], [(7 + 4) / 2, 7])


def test_sets_and_models_move_with_their_nodes():
    models = LeafModels(
        size=np.array([0, 2, 1, 0, 0, 0, 0], dtype=np.int32),
        constant=np.arange(7.0),
        low=np.full(7, -1.0),
        high=np.ones(7),
        feature=np.array([3, 4, 5], dtype=np.int32),
        coefficient=np.array([0.3, 0.4, 0.5]),
    )
    sets = {4: np.array([1, 5]), 0: np.array([2]), 3: np.array([9]), 1: np.array([7])}
    tree = arrange(replace(NODES, sets=sets, models=models))
    assert {k: v.tolist() for k, v in tree.left_categories.items()} == {0: [2], 1: [1, 5]}
    assert tree.threshold.tolist() == [0] * 5
    assert tree.models.size.tolist() == [0, 0, 1, 2, 0]
    assert tree.models.feature.tolist() == [5, 3, 4]
    assert tree.models.constant.tolist() == [0, 4, 2, 1, 6]


def test_columns_become_trees():
    first, second = split_columns([arrange(NODES)])
    assert first.value[2].tolist() == [4]
    assert second.value[2].tolist() == [5]


@pytest.mark.parametrize(
    ("left", "right", "message"),
    [
        ([], [], "no nodes"),
        ([1, 0], [1, 0], "more than one"),
        ([1, -1], [1, -1], "more than one"),
        ([0, -1], [1, -1], "more than one"),
        ([1, 0, -1], [2, 2, -1], "more than one"),
        ([1, -1], [2, -1], "outside"),
        ([1, -1], [-1, -1], "outside"),
        ([2**40, -1], [1, -1], "outside"),
    ],
)
def test_what_is_no_tree_is_refused(left, right, message):
    with pytest.raises(ModelFileError, match=message):
        arrange(make_nodes(left, right))


def test_a_tree_of_very_many_levels_is_refused():
    n = 40_001
    inner = np.arange(n) % 2 == 0
    inner[-1] = False
    left = np.where(inner, np.arange(n) + 1, -1)
    right = np.where(inner, np.arange(n) + 2, -1)
    with pytest.raises(ModelFileError, match="levels"):
        arrange(make_nodes(left, right))


def test_statistics_that_are_no_numbers_count_as_unknown():
    odd = np.array([np.nan, np.inf, -np.inf, -1.0, 1.0, 2.0, 3.0])
    tree = arrange(replace(NODES, gain=odd, weight=odd, n_rows=odd))
    assert tree.weight.tolist() == [0, 1, 0, 0, 3]
    assert tree.n_rows.dtype == np.int64
