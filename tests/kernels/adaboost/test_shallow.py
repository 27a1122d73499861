"""Shallow trees against the naive twin."""

import numpy as np
import pytest

from sumwise.data.binning import BinMapper
from sumwise.kernels.runtime.threads import Team
from sumwise.tree.shallow import ShallowGrower
from tests.naive import stumps as naive


def draw_bins(rng, n_rows, n_features, n_bins, missing):
    columns = rng.integers(1, n_bins + 1, size=(n_features, n_rows)).astype(np.uint8)
    columns[rng.random(columns.shape) < missing] = 0
    return columns


def grow(columns, n_bins, target, weight, n_classes, max_depth, n_threads=1):
    n_features = len(columns)
    mapper = BinMapper([np.arange(1.0, n_bins)] * n_features)
    with Team(n_threads) as team:
        features = np.arange(n_features)
        grower = ShallowGrower(columns, features, mapper, max_depth, team, target, n_classes)
        tree = grower.grow(weight)
        leaf = np.empty(target.size)
        grower.predict_rows(np.arange(tree.n_nodes), leaf)
    return tree, leaf


def check_against_twin(columns, n_bins, target, weight, n_classes, max_depth):
    tree, leaf = grow(columns, n_bins, target, weight, n_classes, max_depth)
    scaled = target
    if n_classes == 0:
        scaled = target - target.mean()
        scaled = scaled / np.abs(scaled).max()
    n_value_bins = [n_bins] * len(columns)
    nodes = naive.grow(columns, n_value_bins, scaled, weight, n_classes, max_depth)
    np.testing.assert_array_equal(tree.feature, nodes.feature)
    np.testing.assert_array_equal(tree.split_bin, nodes.split_bin)
    np.testing.assert_array_equal(tree.missing_left, nodes.missing_left)
    np.testing.assert_array_equal(tree.left, nodes.left)
    np.testing.assert_array_equal(tree.n_rows, [rows.size for rows in nodes.rows])
    for node, rows in enumerate(nodes.rows):
        if n_classes:
            share = np.bincount(target[rows], weight[rows], minlength=n_classes)
            expected = share / weight[rows].sum()
        else:
            expected = [np.average(target[rows], weights=weight[rows])]
        np.testing.assert_allclose(tree.value[node], expected, rtol=1e-9, atol=1e-12)
        assert tree.weight[node] == pytest.approx(weight[rows].sum(), rel=1e-12)
        if nodes.left[node] < 0:
            assert (leaf[rows] == node).all()


@pytest.mark.parametrize("max_depth", [1, 2, 4])
@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_trees_equal_twin(missing, n_classes, max_depth):
    rng = np.random.default_rng(10 * n_classes + max_depth)
    for n_features, n_bins in [(1, 2), (3, 7), (6, 30)]:
        columns = draw_bins(rng, 120, n_features, n_bins, missing)
        signal = columns[0] / n_bins + rng.normal(size=120)
        target = np.digitize(signal, (0.3, 0.9)[: n_classes - 1]) if n_classes else signal
        weight = rng.random(120) * (rng.random(120) < 0.9)
        check_against_twin(columns, n_bins, target, weight / weight.sum(), n_classes, max_depth)


def test_equal_gains_go_to_the_lowest_feature_and_bin():
    column = np.array([1, 1, 3, 3, 3, 3], dtype=np.uint8)
    columns = np.stack([np.full(6, 1, dtype=np.uint8), column, column])
    target = np.array([0, 0, 1, 1, 1, 1])
    tree, _ = grow(columns, 4, target, np.full(6, 1 / 6), 2, 1)
    assert tree.feature[0] == 1
    assert tree.split_bin[0] == 1
    assert tree.threshold[0] == 1.0
    np.testing.assert_array_equal(tree.value, [[1 / 3, 2 / 3], [1, 0], [0, 1]])


@pytest.mark.parametrize("n_threads", [1, 3])
def test_unseen_missing_values_follow_the_larger_child_by_rows(n_threads):
    for column, weight, is_left in (
        ([1, 1, 2], [1, 1, 1], 1),
        ([1, 2, 2], [1, 1, 1], 0),
        ([1, 2, 1, 2], [1, 1, 1, 1], 1),  # equal: left
        ([1, 2, 2], [9, 1, 1], 0),  # weights do not count,
        ([1, 2, 1, 2], [1, 9, 1, 9], 1),
        ([1, 2, 2], [1, 0, 1], 1),  # but rows without weight are not there
        ([1, 1, 1, 2, 2], [0, 0, 1, 1, 1], 0),
    ):
        columns = np.array([column], dtype=np.uint8)
        share = np.array(weight) / sum(weight)
        for n_classes in (0, 2):
            tree, _ = grow(columns, 2, columns[0] - 1, share, n_classes, 1, n_threads)
            assert tree.n_nodes == 3
            assert tree.missing_left[0] == is_left, (column, weight)


@pytest.mark.parametrize("n_threads", [1, 4])
@pytest.mark.parametrize("n_classes", [0, 3])
def test_rows_without_weight_walk_down_the_finished_tree(n_classes, n_threads):
    rng = np.random.default_rng(n_classes)
    columns = draw_bins(rng, 300, 3, 9, 0.0)
    weight = rng.random(300) * (rng.random(300) < 0.5)
    columns[(rng.random(columns.shape) < 0.4) & (weight == 0)] = 0  # no weighted row is missing
    signal = columns[0] + columns[1] + rng.normal(size=300)
    target = np.digitize(signal, (6, 10)) if n_classes else signal
    tree, leaf = grow(columns, 9, target, weight / weight.sum(), n_classes, 4, n_threads)
    assert 0 < tree.missing_left[tree.feature >= 0].mean() < 1
    for row in range(300):
        node = 0
        while tree.left[node] >= 0:
            b = columns[tree.feature[node], row]
            is_left = tree.missing_left[node] if b == 0 else b <= tree.split_bin[node]
            node = tree.left[node] + (0 if is_left else 1)
        assert leaf[row] == node


def test_missing_values_are_separated_from_all_others():
    column = np.array([[0, 0, 1, 2, 1, 2]], dtype=np.uint8)
    target = np.array([1, 1, 0, 0, 0, 0])
    tree, leaf = grow(column, 2, target, np.full(6, 1 / 6), 2, 1)
    np.testing.assert_array_equal(tree.value[1:], [[1, 0], [0, 1]])
    assert (tree.split_bin[0], tree.missing_left[0]) == (2, 0)
    np.testing.assert_array_equal(leaf, [2, 2, 1, 1, 1, 1])


@pytest.mark.parametrize("n_classes", [0, 2])
def test_a_tree_without_a_gain_is_a_leaf(n_classes):
    column = np.array([[1, 1, 2, 2]], dtype=np.uint8)
    target = np.array([0, 1, 0, 1])
    tree, leaf = grow(column, 2, target, np.full(4, 0.25), n_classes, 3)
    assert tree.n_nodes == 1
    np.testing.assert_array_equal(tree.value[0], [0.5, 0.5] if n_classes else [0.5])
    assert not leaf.any()
    alike, _ = grow(column, 2, np.ones(4, dtype=np.int64), np.full(4, 0.25), n_classes, 3)
    assert alike.n_nodes == 1


def test_rows_of_tiny_weight_are_counted_but_no_reason_to_split():
    column = np.array([[1, 1, 2]], dtype=np.uint8)
    weight = np.array([0.5, 0.5, 1e-300])
    tree, _ = grow(column, 2, np.array([0, 0, 1]), weight, 2, 1)
    assert tree.n_nodes == 1
    assert tree.n_rows[0] == 3
    assert 0.0 < tree.value[0, 1] < 1e-17


@pytest.mark.parametrize("n_classes", [0, 2, 5])
@pytest.mark.parametrize("max_depth", [1, 3])
def test_threads_change_nothing(max_depth, n_classes):
    rng = np.random.default_rng(0)
    columns = draw_bins(rng, 5000, 9, 60, 0.1)
    signal = columns[3] / 60 + rng.normal(size=5000)
    target = signal if n_classes == 0 else np.digitize(signal, np.arange(n_classes - 1) / 4)
    weight = rng.random(5000)
    weight /= weight.sum()
    trees = [grow(columns, 60, target, weight, n_classes, max_depth, n) for n in (1, 2, 4, 13)]
    for tree, leaf in trees[1:]:
        assert leaf.tobytes() == trees[0][1].tobytes()
        for name, value in vars(tree).items():
            if value is None:  # no linear leaves
                continue
            assert value.tobytes() == getattr(trees[0][0], name).tobytes(), name
