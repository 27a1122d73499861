"""Trees with vectors of values: means of leaves, against the naive walk."""

from dataclasses import replace

import numpy as np
import pytest

from sumwise.errors import ModelFileError
from sumwise.export.native import dump_model, parse_model
from sumwise.export.trees import check_trees
from sumwise.kernels.runtime.threads import Team
from sumwise.tree import TreeEnsemble
from sumwise.tree.vector_trees import VectorTrees
from tests.naive.predict import find_leaves
from tests.naive.trees import draw_rows, join_trees

SIZES = {1: "random", 7: "left", 31: "random", 64: "symmetric", 300: "random", 600: "random"}
SHAPES = list(SIZES.items())


@pytest.fixture(scope="module")
def naive_trees():
    return join_trees(np.random.default_rng(0), SHAPES, n_features=4)


def make_trees(naive, n_outputs):
    rng = np.random.default_rng(1)
    start = np.append(naive.start, naive.feature.size)
    roots = np.repeat(naive.start, np.diff(start))
    return VectorTrees(
        start=start,
        feature=naive.feature,
        missing_left=naive.missing_left,
        left=np.where(naive.left < 0, -1, naive.left - roots).astype(np.int32),
        gain=rng.random(naive.feature.size),
        weight=rng.random(naive.feature.size),
        n_rows=np.ones(naive.feature.size, dtype=np.int64),
        threshold=naive.threshold,
        value=rng.normal(size=(naive.feature.size, n_outputs)),
        n_features=4,
    )


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("n_rows", [1, 12, 13, 300])
def test_predictions_are_means_in_the_order_of_trees(naive_trees, n_outputs, kind, n_rows):
    trees = make_trees(naive_trees, n_outputs)
    X = draw_rows(np.random.default_rng(2), naive_trees, n_rows, 4, kind)
    leaves = find_leaves(naive_trees, X)
    expected = np.zeros((n_rows, n_outputs))
    for tree, own in enumerate(leaves.T):
        expected += trees.value[trees.start[tree] + own]
    with Team(2) as team:
        found = trees.predict_raw(X, team)
        np.testing.assert_array_equal(trees.apply(X, team), leaves)
    assert found.tobytes() == (expected / len(SHAPES)).tobytes()


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_walk_through_large_trees(kind, order, monkeypatch):
    monkeypatch.setattr("sumwise.data.matrix._CHUNK", 128)
    naive = join_trees(np.random.default_rng(3), [(600, "random"), (700, "left")], n_features=4)
    trees = make_trees(naive, 2)
    assert trees._are_large
    rows = draw_rows(np.random.default_rng(2), naive, 301, 4, kind)
    leaves = find_leaves(naive, rows) + naive.start
    expected = (trees.value[leaves[:, 0]] + trees.value[leaves[:, 1]]) / 2
    for n_threads in (1, 3):
        with Team(n_threads) as team:
            found = trees.predict_raw(np.asarray(rows, order=order), team)
        assert found.tobytes() == expected.tobytes()


def make_ensemble(naive, n_outputs):
    """Return trees of one output, each repeated with other values for each output."""
    trees = make_trees(naive, n_outputs)
    ones = [
        replace(tree, value=tree.value[:, k : k + 1])
        for tree in (trees.to_tree(i) for i in range(trees.n_trees))
        for k in range(n_outputs)
    ]
    return TreeEnsemble.from_trees(ones, np.arange(n_outputs) / 3, "identity", 4)


@pytest.mark.parametrize("n_rows", [5, 300])
def test_outputs_with_equal_splits_share_a_walk(naive_trees, n_rows):
    ensemble = make_ensemble(naive_trees, 3)
    X = draw_rows(np.random.default_rng(2), naive_trees, n_rows, 4, np.float64)
    with Team(2) as team:
        found = ensemble.predict_raw(X, team)
        expected = np.tile(ensemble.base_score, (n_rows, 1))
        ensemble._predictor.add_values(X, expected, team)
    assert ensemble._joined is not None
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", ["threshold", "missing_left", "feature"])
def test_outputs_with_other_splits_do_not(naive_trees, name):
    ensemble = make_ensemble(naive_trees, 3)
    array = getattr(ensemble, name).copy()
    node = ensemble.start[4]
    array[node] = 1 - array[node] if name != "threshold" else 1.25
    assert replace(ensemble, **{name: array})._joined is None
    assert make_ensemble(naive_trees, 1)._joined is None


def test_a_file_has_the_same_trees(naive_trees):
    trees = make_trees(naive_trees, 2)
    again, _ = parse_model(dump_model(trees, {}))
    for name in (*trees.by_node, "start", "set_node"):
        np.testing.assert_array_equal(getattr(again, name), getattr(trees, name))
    assert repr(again) == repr(trees)


def test_some_of_the_trees(naive_trees):
    trees = make_trees(naive_trees, 2)
    joined = trees.select(0, 2).append(trees.take_rounds(2, trees.n_rounds))
    np.testing.assert_array_equal(joined.value, trees.value)
    np.testing.assert_array_equal(joined.start, trees.start)
    assert trees.truncate(3).n_trees == 3
    np.testing.assert_array_equal(trees.cover, trees.weight)


def test_unsound_trees_are_refused(naive_trees):
    trees = make_trees(naive_trees, 2)
    trees.value[3, 1] = np.nan
    with pytest.raises(ModelFileError, match="is not a number"):
        check_trees(trees)
