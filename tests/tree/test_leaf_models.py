"""Models of leaves: which features they have, and how they are joined and taken apart."""

import numpy as np

from sumwise.tree import LeafModels, Tree
from sumwise.tree.leaf_models import find_path_features


def make_tree():
    """Feature 3 at the root; to its left feature 1 and below feature 3 once more; then a set of 2.

    0: x3 -> 1: x1 -> 3: x3 -> 5 | 6, 4 and 2: categories of x2 -> 7 | 8
    """
    feature = np.array([3, 1, 2, 3, -1, -1, -1, -1, -1], dtype=np.int32)
    left = np.array([1, 3, 7, 5, -1, -1, -1, -1, -1], dtype=np.int32)
    zeros = np.zeros(9)
    of_sets = {
        "set_node": np.array([2]),
        "set_size": np.array([1]),
        "set_categories": np.array([0]),
    }
    by_node = dict.fromkeys(("split_bin", "missing_left", "gain", "n_rows", "weight"), zeros)
    return Tree(
        feature=feature, left=left, value=zeros[:, None], threshold=zeros, **by_node, **of_sets
    )


def test_features_of_a_path_are_numeric_ascending_and_unique():
    found = [features.tolist() for features in find_path_features(make_tree())]
    assert found == [[], [], [], [], [1, 3], [1, 3], [1, 3], [3], [3]]


def make_models(sizes, start):
    """Models whose numbers tell where they come from."""
    sizes = np.array(sizes, dtype=np.int32)
    by_node, terms = start + np.arange(sizes.size), 10.0 * start + np.arange(sizes.sum())
    nodes = (factor * by_node for factor in (1.0, -2.0, 2.0))
    return LeafModels(sizes, *nodes, terms.astype(np.int32), terms)


def test_joined_models_are_taken_apart():
    first, second = make_models([0, 2, 1], 1), make_models([3, 0], 5)
    joined = LeafModels.join([(first, 3), (None, 4), (second, 2)])
    assert joined.size.tolist() == [0, 2, 1, 0, 0, 0, 0, 3, 0]
    assert joined.first.tolist() == [0, 0, 2, 3, 3, 3, 3, 3, 6, 6]
    for nodes, expected in ((slice(0, 3), first), (slice(7, 9), second)):
        taken = joined.take(nodes)
        for name in ("size", "constant", "low", "high", "feature", "coefficient"):
            assert getattr(taken, name).tolist() == getattr(expected, name).tolist()
    assert not joined.take(slice(3, 7)).size.any()
    assert LeafModels.join([(None, 3), (None, 1)]) is None
