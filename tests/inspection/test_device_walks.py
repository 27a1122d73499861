"""Trees on a device: the order of operations, and what is kept of splits."""

import numpy as np

from sumwise.cuda.explain import ENTERS_LOW, LOW_LEVELS, START, WORD_SHIFT
from sumwise.inspection.device_walks import _find_heights, _list_operations, _pack_splits
from sumwise.inspection.tree_walks import TreeWalks
from sumwise.kernels.explain.walks import CLOSE, GO_LEFT, GO_RIGHT
from tests.ensembles import draw_ensemble
from tests.inspection.test_device_values import DEEP


def make_walks(seed=0):
    return TreeWalks(draw_ensemble(seed, shapes=DEEP)[0])


def find_height(splits, number):
    """Find the levels of a subtree one by one."""
    children = [number + 1] if splits.left_leaf[number] < 0 else []
    children += [splits.right[number]] if splits.right_leaf[number] < 0 else []
    return 1 + max((find_height(splits, child) for child in children), default=0)


def list_naively(splits, heights, number):
    """List the operations on a subtree by recursion."""
    if heights[number] <= LOW_LEVELS:
        return []
    words = []
    sides = (splits.left_leaf, number + 1, GO_LEFT), (splits.right_leaf, None, GO_RIGHT)
    for leaf, child, operation in sides:
        if leaf[number] < 0:
            child = splits.right[number] if child is None else child
            is_low = heights[child] <= LOW_LEVELS
            words.append(number << WORD_SHIFT | int(operation) | (ENTERS_LOW if is_low else 0))
            words += list_naively(splits, heights, child)
    return [*words, number << WORD_SHIFT | int(CLOSE)]


def test_heights_and_operations():
    for seed in range(3):
        walks = make_walks(seed)
        splits = walks.splits
        heights = _find_heights(splits)
        assert heights.tolist() == [find_height(splits, k) for k in range(heights.size)]
        words, first, n_high_levels = _list_operations(walks)
        roots = np.cumsum(walks.n_splits) - walks.n_splits
        for tree, root in enumerate(roots.tolist()):
            own = words[first[tree] : first[tree + 1]].tolist()
            if walks.n_splits[tree] == 0:
                assert own == []
            elif heights[root] <= LOW_LEVELS:
                assert own == [root << WORD_SHIFT | START | ENTERS_LOW]
            else:
                assert own == list_naively(splits, heights, root)
        high = splits.level[heights > LOW_LEVELS]
        assert n_high_levels == high.max() + 1


def test_packed_splits():
    splits = make_walks().splits
    packed = _pack_splits(splits)
    test = packed["test"].astype(np.uint32)
    assert np.array_equal(test & 255, splits.bound)
    assert np.array_equal(test >> 8 & 1, splits.skip)
    assert np.array_equal(test >> 9, splits.column)
    is_leaf = packed["right"] < 0
    assert np.array_equal(~packed["right"][is_leaf], splits.right_leaf[is_leaf])
    assert np.array_equal(packed["right"][~is_leaf], splits.right[~is_leaf])
    assert np.array_equal(packed["left"] < 0, splits.left_leaf >= 0)
    same = packed["levels"] >> 8
    assert np.array_equal(same == 255, splits.same < 0)
    assert (same[splits.same >= 0] < (packed["levels"] & 255)[splits.same >= 0]).all()
