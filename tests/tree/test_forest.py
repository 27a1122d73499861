"""Forests in bins: values of all nodes, thresholds in place of bins, and other mappers."""

import numpy as np
import pytest

from sumwise.data.binning import BinMapper
from sumwise.kernels.forest.one_output import Numbers
from sumwise.kernels.runtime.threads import Team
from sumwise.training.forest import ForestPlan, grow_forest
from sumwise.tree.forest_grower import ForestSettings
from sumwise.tree.forest_table import RowTable
from sumwise.tree.tree_nodes import TreeNodes
from tests import forests
from tests.naive.predict import walk_tree


@pytest.mark.parametrize("kind", forests.KINDS)
def test_values_of_nodes_are_those_of_growth(kind):
    grown = forests.grow(kind)
    expected = np.concatenate([tree.value for tree in grown.trees])
    with Team(2) as team:
        values = grown.forest.node_values(team)
    assert values == pytest.approx(expected, rel=1e-10, abs=1e-12)
    leaves = grown.forest.leaf_nodes
    assert np.array_equal(values[leaves], expected[leaves])


@pytest.mark.parametrize("kind", forests.KINDS)
def test_leaves_have_no_split(kind):
    for max_leaves in (None, 9):
        forest = forests.grow(kind, max_leaves=max_leaves).forest
        for name in ("split_bin", "missing_left", "gain"):
            assert not getattr(forest, name)[forest.leaf_nodes].any()


@pytest.mark.parametrize("kind", forests.KINDS)
@pytest.mark.parametrize("random_cuts", [False, True])
def test_trees_with_thresholds_lead_to_the_same_leaves(kind, random_cuts):
    grown = forests.grow(kind, random_cuts=random_cuts)
    X = np.concatenate([grown.X, forests.draw_table(100, seed=9)])
    with Team(1) as team:
        leaves = grown.forest.apply(X, team)
    n_sets = 0
    for number, own in enumerate(grown.trees):
        tree = grown.forest.to_tree(number)
        assert [walk_tree(tree, row) for row in X] == leaves[:, number].tolist()
        assert tree.value == pytest.approx(own.value, rel=1e-10, abs=1e-12)
        assert np.array_equal(tree.n_rows, own.n_rows)
        assert tree.gain.dtype == tree.weight.dtype == tree.threshold.dtype == np.float64
        assert set(tree.missing_left) <= {0, 1}
        assert (tree.split_bin[tree.set_node] == 0).all()
        assert (tree.threshold[tree.set_node] == 0).all()
        assert (tree.threshold[tree.feature < 0] == 0).all()
        assert tree.set_categories.dtype == np.int32
        n_sets += tree.set_node.size
    assert n_sets > 3


def test_categories_that_share_a_bin_go_together():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 400, (3000, 1)).astype(float)
    y = (X[:, 0] % 7 == 0) + rng.normal(size=3000)
    with Team(1) as team:
        mapper = BinMapper.fit(X, n_categories=np.array([400]), only_bytes=True, team=team)
        table = RowTable.from_matrix(X, mapper, team)
        plan = ForestPlan(ForestSettings(max_depth=6), 0, 0, 1)
        forest = grow_forest(table, Numbers(y), 1, plan, None, None, team).forest
        codes = np.append(np.arange(400.0), np.nan)[:, None]
        leaves = forest.apply(codes, team)[:, 0]
    tree = forest.to_tree(0)
    assert [walk_tree(tree, row) for row in codes] == leaves.tolist()
    rest = np.flatnonzero(mapper.categories[0].bin_of_code == 255)
    assert rest.size > 100
    assert any(np.isin(rest, tree.set_categories[: tree.set_size[0]]))


@pytest.mark.parametrize("kind", forests.KINDS)
def test_dropping_unused_bins_changes_no_prediction(kind):
    grown = forests.grow(kind, max_depth=3)
    small = grown.forest.drop_unused_bins()
    assert sum(map(len, small.mapper.thresholds)) <= (small.feature >= 0).sum()
    with Team(1) as team:
        for forest in (small, grown.forest):
            assert np.array_equal(forest.apply(grown.X, team), small.apply(grown.X, team))
            assert np.array_equal(
                forest.predict_raw(grown.X, team), small.predict_raw(grown.X, team)
            )
    for number in range(small.n_trees):
        pair = [TreeNodes(f.select(number, number + 1)) for f in (small, grown.forest)]
        np.testing.assert_array_equal(pair[0].threshold, pair[1].threshold)


def test_narrow_tables_lead_to_the_same_leaves():
    forest, X = forests.grow().forest, forests.draw_table(50)
    used = np.unique(forest.feature[forest.feature >= 0])
    wide = np.insert(X, [0, 2], 0.0, axis=1)
    features = np.delete(np.arange(7), [0, 3])[used]
    moved = forest.narrow_features(np.arange(5))
    with Team(1) as team:
        expected = forest.apply(X, team)
        assert np.array_equal(moved.apply(X, team), expected)
        narrow = forest.narrow_features(used)
        assert narrow.n_features == used.size
        assert np.array_equal(narrow.apply(wide[:, features], team), expected)


def test_the_summary_is_short():
    assert repr(forests.grow("number").forest).startswith("<BinnedForest: 3 trees, ")
    assert repr(forests.grow("three").forest).endswith(" leaves, 5 features, 3 outputs>")
