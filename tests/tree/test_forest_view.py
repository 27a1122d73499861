"""What the nodes of forests are, by walking tree after tree."""

import numpy as np
import pandas as pd
import pytest

from sumwise import RandomForestClassifier, RandomForestRegressor
from sumwise.kernels.runtime.threads import Team
from sumwise.tree.forest_view import (
    TreeNodes,
    drop_unused_bins,
    find_depths,
    find_parents,
    find_paths,
)

GENERATOR = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "color": pd.Categorical(GENERATOR.choice(["red", "green", "blue", "gray"], 80)),
        "size": np.where(GENERATOR.random(80) < 0.2, np.nan, GENERATOR.normal(size=80)),
        "age": GENERATOR.integers(0, 9, 80),
    }
)
Y = GENERATOR.integers(0, 3, 80)
MODELS = [
    RandomForestClassifier(4, random_state=0).fit(X, Y),
    RandomForestRegressor(3, random_state=0, max_depth=4).fit(X, Y),
    RandomForestRegressor(2, random_state=0).fit(X, np.full(80, 2.5)),
]


def walk(forest, node, root, parent=-1, depth=0):
    """All nodes below one, with parents and depths, in numbers over all trees."""
    yield node, parent, depth
    if forest.left[node] >= 0:
        left = root + int(forest.left[node])
        yield from walk(forest, left, root, node, depth + 1)
        yield from walk(forest, left + 1, root, node, depth + 1)


@pytest.mark.parametrize("model", MODELS)
def test_parents_and_depths(model):
    forest = model.forest_
    parents, depths = find_parents(forest), find_depths(forest)
    n_seen = 0
    for root in forest.start[:-1].tolist():
        for node, parent, depth in walk(forest, root, root):
            assert (parents[node], depths[node]) == (parent, depth)
            n_seen += 1
    assert n_seen == forest.feature.size


@pytest.mark.parametrize("model", MODELS)
def test_paths_go_from_leaves_to_roots(model):
    forest, parents = model.forest_, find_parents(model.forest_)
    leaves = model.apply(X)
    nodes, starts = find_paths(forest, leaves)
    for row in range(0, 80, 9):
        expected = []
        for leaf in leaves[row] + forest.start[:-1]:
            while leaf >= 0:
                expected.append(int(leaf))
                leaf = parents[leaf]
        assert nodes[starts[row] : starts[row + 1]].tolist() == sorted(expected)


@pytest.mark.parametrize("model", MODELS)
def test_dropping_unused_bins_changes_no_prediction(model):
    forest = model.forest_
    matrix = model._check_input(X)
    small = drop_unused_bins(forest)
    assert sum(map(len, small.mapper.thresholds)) <= (forest.feature >= 0).sum()
    with Team(1) as team:
        assert np.array_equal(small.predict(matrix, team), forest.predict(matrix, team))
        assert np.array_equal(small.apply(matrix, team), forest.apply(matrix, team))
    for number in range(forest.n_trees):
        pair = [TreeNodes(f.select(number, number + 1)) for f in (small, forest)]
        np.testing.assert_array_equal(pair[0].threshold, pair[1].threshold)
