"""What finished trees of boosting and forests share, by walking tree after tree."""

import copy
import dataclasses
import pickle

import numpy as np
import pandas as pd
import pytest

from sumwise import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearLeaves,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sumwise.kernels.runtime.threads import Team
from tests.naive.predict import walk_tree

GENERATOR = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "color": pd.Categorical(GENERATOR.choice(["red", "green", "blue", "gray"], 80)),
        "size": np.where(GENERATOR.random(80) < 0.2, np.nan, GENERATOR.normal(size=80)),
        "age": GENERATOR.integers(0, 9, 80),
    }
)
Y = GENERATOR.integers(0, 3, 80)
BOOSTING = {"n_estimators": 4, "min_samples_leaf": 2, "categorical_encoding": "native"}
MODELS = {
    "forest of classes": RandomForestClassifier(4, random_state=0).fit(X, Y),
    "forest": RandomForestRegressor(3, random_state=0, max_depth=4).fit(X, Y),
    "leaves alone": RandomForestRegressor(2, random_state=0).fit(X, np.full(80, 2.5)),
    "boosting": GradientBoostingRegressor(**BOOSTING).fit(X, Y),
    "boosting of classes": GradientBoostingClassifier(**BOOSTING).fit(X, Y),
    "linear leaves": GradientBoostingRegressor(**BOOSTING, leaves=LinearLeaves()).fit(X, Y),
}
all_models = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


def get_trees(model):
    return getattr(model, "forest_", None) or model.ensemble_


def walk(trees, node, root, parent=-1, depth=0):
    """All nodes below one, with parents and depths, in numbers over all trees."""
    yield node, parent, depth
    if trees.left[node] >= 0:
        left = root + int(trees.left[node])
        yield from walk(trees, left, root, node, depth + 1)
        yield from walk(trees, left + 1, root, node, depth + 1)


@all_models
def test_parents_and_depths(model):
    trees = get_trees(model)
    parents, depths, roots = trees.find_parents(), trees.find_depths(), trees.find_roots()
    n_seen = 0
    for root in trees.start[:-1].tolist():
        for node, parent, depth in walk(trees, root, root):
            assert (parents[node], depths[node], roots[node]) == (parent, depth, root)
            n_seen += 1
    assert n_seen == trees.n_nodes == trees.feature.size
    assert trees.n_leaves == (trees.feature < 0).sum()


@all_models
def test_paths_go_from_leaves_to_roots(model):
    trees, leaves = get_trees(model), model.apply(X)
    parents = trees.find_parents()
    nodes, starts = trees.find_paths(leaves)
    for row in range(0, 80, 9):
        expected = []
        for leaf in leaves[row] + trees.start[:-1]:
            while leaf >= 0:
                expected.append(int(leaf))
                leaf = parents[leaf]
        assert nodes[starts[row] : starts[row + 1]].tolist() == sorted(expected)


def test_there_are_no_paths_without_rows():
    nodes, starts = get_trees(MODELS["forest"]).find_paths(np.empty((0, 3), dtype=np.int64))
    assert (nodes.size, starts.tolist()) == (0, [0])


def assert_same(first, second):
    assert type(first) is type(second)
    for name, value in first.__getstate__().items():
        other = getattr(second, name)
        if isinstance(value, np.ndarray):
            assert value.dtype == other.dtype, name
            assert np.array_equal(value, other), name
    if first.models is not None:
        for name, value in vars(first.models).items():
            assert np.array_equal(value, getattr(second.models, name)), name


@all_models
def test_selected_trees_join_to_the_whole(model):
    trees = get_trees(model)
    middle = trees.n_trees // 2
    first, second = trees.select(0, middle), trees.select(middle, trees.n_trees)
    assert (first.n_trees, second.n_trees) == (middle, trees.n_trees - middle)
    assert_same(first.append(second), trees)
    each = [trees.select(k, k + 1) for k in range(trees.n_trees)]
    assert_same(trees.join(each), trees)
    matrix = model._check_input(X)
    with Team(1) as team:
        leaves = [own.apply(matrix, team) for own in each]
        assert np.array_equal(np.concatenate(leaves, axis=1), trees.apply(matrix, team))


@pytest.mark.parametrize("name", [name for name in MODELS if name != "linear leaves"])
def test_values_of_trees_combine_to_the_prediction(name):
    """By walks through single trees: in numbers and categories, whatever the storage."""
    trees, matrix = get_trees(MODELS[name]), MODELS[name]._check_input(X)
    n_values = trees.n_outputs // trees.n_groups
    sums = np.zeros((trees.n_outputs, 80))
    with Team(1) as team:
        raw, leaves = trees.predict_raw(matrix, team), trees.apply(matrix, team)
    for number in range(trees.n_trees):
        tree, k = trees.to_tree(number), number % trees.n_groups
        assert [walk_tree(tree, row) for row in matrix] == leaves[:, number].tolist()
        assert tree.value.shape == (tree.n_nodes, n_values)
        sums[k * n_values : (k + 1) * n_values] += tree.value[leaves[:, number]].T
    np.testing.assert_allclose(trees.combine(sums), raw.T, rtol=1e-12, atol=1e-12)


@all_models
def test_nodes_are_decoded_together_as_one_by_one(model):
    trees = get_trees(model)
    nodes, sets = trees.decode(), {}
    for number, root in enumerate(trees.start[:-1].tolist()):
        tree, own = trees.to_tree(number), slice(root, trees.start[number + 1])
        for name in ("feature", "threshold", "missing_left", "value", "gain", "n_rows", "weight"):
            assert np.array_equal(getattr(nodes, name)[own], getattr(tree, name)), name
        assert np.array_equal(nodes.left[own], np.where(tree.left < 0, -1, tree.left + root))
        sets |= {root + node: own.tolist() for node, own in tree.left_categories.items()}
    assert {node: own.tolist() for node, own in nodes.left_categories.items()} == sets


@all_models
def test_copies_are_without_what_was_derived(model):
    trees = get_trees(model)
    trees.predict_raw(model._check_input(X), Team(1))
    assert len(vars(trees)) > len(dataclasses.fields(trees))
    for again in (pickle.loads(pickle.dumps(trees)), copy.deepcopy(trees)):
        assert_same(again, trees)
        assert len(vars(again)) == len(dataclasses.fields(trees))


@all_models
def test_categories_that_fit(model):
    trees = get_trees(model)
    assert trees.fits_categories({0: 4})
    knows_categories = trees.averages or trees.set_node.size > 0
    for wrong in ({}, {0: 1}, {1: 4}):
        assert trees.fits_categories(wrong) is not knows_categories


def test_a_node_of_a_forest_takes_22_bytes():
    forest = MODELS["forest"].forest_
    assert sum(getattr(forest, name).itemsize for name in forest.by_node) == 22
