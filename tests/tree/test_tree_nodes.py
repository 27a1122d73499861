"""The nodes of one tree under scikit-learn's names, from both storages."""

import pickle

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.tree import DecisionTreeRegressor as RivalTree

from sumwise import DecisionTreeRegressor, GradientBoostingRegressor
from sumwise.tree.tree_nodes import TreeNodes

RNG = np.random.default_rng(0)
X = RNG.integers(0, 6, (200, 3)).astype(float)
Y = X[:, 0] * X[:, 1] - 3 * X[:, 2] + RNG.normal(size=200)
FOREST = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, Y).forest_
BOOSTING = GradientBoostingRegressor(n_estimators=1, max_leaves=8).fit(X, Y).ensemble_
both = pytest.mark.parametrize("trees", [FOREST, BOOSTING], ids=["forest", "boosting"])


@both
def test_nodes_are_those_of_the_tree(trees):
    nodes, tree = TreeNodes(trees), trees.to_tree(0)
    is_leaf = tree.feature < 0
    assert (nodes.node_count, nodes.n_leaves) == (tree.n_nodes, is_leaf.sum())
    assert nodes.n_features == 3
    assert np.array_equal(nodes.children_left, tree.left)
    assert np.array_equal(nodes.children_right[~is_leaf], tree.left[~is_leaf] + 1)
    assert (nodes.children_right[is_leaf] == -1).all()
    assert (nodes.feature[is_leaf] == -2).all()
    assert (nodes.threshold[is_leaf] == -2).all()
    assert np.array_equal(nodes.threshold[~is_leaf], tree.threshold[~is_leaf])
    assert nodes.max_depth == trees.find_depths().max()


@both
def test_rows_may_be_sparse(trees):
    nodes = TreeNodes(trees)
    leaves = nodes.apply(X)
    assert (nodes.children_left[leaves] == -1).all()
    assert np.array_equal(nodes.apply(csr_matrix(X)), leaves)
    assert np.array_equal(nodes.predict(csr_matrix(X)), nodes.predict(X))
    expected = nodes.value[leaves] + getattr(trees, "base_score", 0.0)
    np.testing.assert_allclose(nodes.predict(X), expected)


def test_nodes_equal_those_of_scikit_learn():
    ours, theirs = TreeNodes(FOREST), RivalTree(max_depth=3, random_state=0).fit(X, Y).tree_
    assert (ours.node_count, ours.max_depth) == (theirs.node_count, theirs.max_depth)
    assert sorted(ours.n_node_samples) == sorted(theirs.n_node_samples)
    found = ours.predict(X)[:, 0]
    np.testing.assert_allclose(found, theirs.predict(X.astype(np.float32))[:, 0])


@both
def test_copies_are_equal(trees):
    nodes = TreeNodes(trees)
    again = pickle.loads(pickle.dumps(nodes))
    for name, value in vars(nodes).items():
        if isinstance(value, np.ndarray):
            assert np.array_equal(value, getattr(again, name))
    assert np.array_equal(again.apply(X), nodes.apply(X))
