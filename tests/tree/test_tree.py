"""One finished tree."""

import dataclasses

import numpy as np
import pytest

from sumwise.tree import Tree


def make_tree(feature):
    n = len(feature)
    return Tree(
        feature=np.array(feature, dtype=np.int32),
        threshold=np.zeros(n),
        split_bin=np.zeros(n, dtype=np.uint8),
        missing_left=np.zeros(n, dtype=np.uint8),
        left=np.full(n, -1, dtype=np.int32),
        value=np.zeros((n, 1)),
        gain=np.zeros(n),
        n_rows=np.zeros(n, dtype=np.int64),
        weight=np.zeros(n),
    )


@pytest.mark.parametrize(
    ("feature", "n_nodes", "n_leaves"),
    [([-1], 1, 1), ([0, -1, -1], 3, 2), ([3, 0, -1, -1, -1], 5, 3)],
)
def test_counts(feature, n_nodes, n_leaves):
    tree = make_tree(feature)
    assert (tree.n_nodes, tree.n_leaves) == (n_nodes, n_leaves)
    assert type(tree.n_nodes) is type(tree.n_leaves) is int


def test_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        make_tree([-1]).feature = None
