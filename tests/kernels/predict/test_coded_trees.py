"""Trees as tests of codes: the kinds, the numbers of the leaves, the columns."""

import numpy as np
import pytest

from sumwise.kernels.predict.coded_trees import (
    BY_LEAF,
    BY_LEVEL,
    BY_WALK,
    MAX_LEAVES,
    MAX_LEVELS,
    code_trees,
)
from sumwise.kernels.predict.walk import FlatTrees
from tests.naive.trees import join_trees


def code(*shapes, n_features=4, thresholds=None):
    rng = np.random.default_rng(0)
    thresholds = np.linspace(-1, 1, 50) if thresholds is None else thresholds
    trees = join_trees(rng, list(shapes), n_features, thresholds=thresholds)
    return trees, *code_trees(FlatTrees(*trees))


@pytest.mark.parametrize(
    ("shape", "kind"),
    [
        ((1, "random"), BY_LEVEL),
        ((2, "random"), BY_LEVEL),
        ((3, "random"), BY_LEAF),
        ((31, "random"), BY_LEAF),
        ((32, "balanced"), BY_LEAF),
        ((MAX_LEAVES, "right"), BY_LEAF),
        ((MAX_LEAVES + 1, "random"), BY_WALK),
        ((64, "symmetric"), BY_LEVEL),
        ((2 * MAX_LEAVES, "symmetric"), BY_LEVEL),
        ((2 << MAX_LEVELS, "symmetric"), BY_WALK),
    ],
)
def test_kinds(shape, kind):
    _, coded, _ = code(shape)
    assert coded.kind.tolist() == [kind]
    assert coded.n_leaves.tolist() == [shape[0]]


@pytest.mark.parametrize("change", ["feature", "threshold", "missing_left"])
def test_one_different_split_makes_a_tree_asymmetric(change):
    trees, coded, _ = code((16, "symmetric"))
    assert coded.kind[0] == BY_LEVEL
    array = getattr(trees, change)
    array[13] = {"feature": 3 - array[13], "threshold": 0.77, "missing_left": 1 - array[13]}[change]
    assert code_trees(FlatTrees(*trees))[0].kind[0] == BY_LEAF


def test_equal_splits_of_an_incomplete_tree():
    """Chains of one repeated split have levels that agree, but leaves on all of them."""
    trees, _, _ = code((5, "left"), n_features=1, thresholds=np.array([0.5]))
    trees.missing_left[:] = trees.left >= 0
    assert code_trees(FlatTrees(*trees))[0].kind[0] == BY_LEAF


def test_every_leaf_keeps_its_value():
    shapes = [(1, "random"), (40, "random"), (8, "symmetric"), (1000, "left"), (9, "right")]
    trees, coded, _ = code(*shapes)
    ends = np.append(trees.start[1:], trees.left.size)
    for tree, (start, end) in enumerate(zip(trees.start, ends, strict=True)):
        is_leaf = trees.left[start:end] < 0
        if coded.kind[tree] == BY_WALK:
            numbers = np.flatnonzero(is_leaf)
        else:
            numbers = np.arange(shapes[tree][0])
        nodes = coded.leaf_node[start + numbers]
        assert sorted(nodes.tolist()) == np.flatnonzero(is_leaf).tolist()
        assert coded.value[start + numbers].tolist() == trees.value[start + nodes].tolist()


def test_a_chain_needs_one_test_a_split_whatever_its_direction():
    """The side with fewer leaves is the one that is cleared."""
    for shape in ("left", "right"):
        assert code((200, shape))[1].mask.size == 199


def test_columns_are_sorted_thresholds_of_the_features_in_use():
    trees, _, _ = code((30, "random"), (10, "random"), n_features=3)
    splits = trees.left >= 0
    trees.feature[splits & (trees.feature == 1)] = 7
    _, columns = code_trees(FlatTrees(*trees))
    assert columns.feature.tolist() == [0, 2, 7]
    for column, feature in enumerate(columns.feature):
        own = columns.threshold[columns.start[column] : columns.start[column + 1]]
        assert (
            own.tolist() == np.unique(trees.threshold[splits & (trees.feature == feature)]).tolist()
        )


def test_zeros_of_both_signs_are_one_threshold():
    _, _, columns = code((4, "random"), n_features=1, thresholds=np.array([0.0, -0.0]))
    assert columns.threshold.tolist() == [0.0]


def test_a_feature_with_many_thresholds_has_several_columns():
    _, _, columns = code((600, "random"), n_features=1, thresholds=np.linspace(0, 1, 5000))
    assert columns.feature.tolist() == [0, 0, 0]
    assert np.diff(columns.start).max() == 254
    assert (np.diff(columns.threshold) > 0).all()


def test_no_trees():
    empty = [np.empty(0, dtype=kind) for kind in ("i8", "i4", "i4", "f8", "u1", "i4", "f8")]
    coded, columns = code_trees(FlatTrees(*empty))
    assert coded.start.size == coded.mask.size == columns.feature.size == 0
