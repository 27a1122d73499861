"""Rows sent through trees, against the naive walk."""

import numpy as np
import pytest

from sumwise.kernels.predict import (
    add_binned_predictions,
    add_predictions,
    find_leaves,
    flatten_trees,
)
from sumwise.kernels.threads import Team
from tests.naive import predict as naive
from tests.naive.binning import find_thresholds, map_to_bins
from tests.naive.grow import GrowOptions, grow_tree

NAN, INF = np.nan, np.inf


def grow_trees(seed, n_trees=3, n_rows=80, n_features=4):
    """Naive trees on one table, and the thresholds of its features."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-5, 6, (n_rows, n_features)) / 2.0
    X[rng.random(X.shape) < 0.15] = NAN
    X[0, 0], X[1, 1] = INF, -INF
    thresholds = [find_thresholds(column) for column in X.T]
    codes = np.array([map_to_bins(*pair) for pair in zip(X.T, thresholds, strict=True)])
    n_value_bins = [t.size + 1 for t in thresholds]
    options = GrowOptions(max_leaves=9)
    trees = [
        grow_tree(
            codes,
            n_value_bins,
            rng.normal(size=n_rows),
            np.ones(n_rows),
            np.arange(n_rows),
            options,
        )
        for _ in range(n_trees)
    ]
    return X, codes, thresholds, trees


def flatten(trees, thresholds, output):
    sizes = [tree.n_nodes for tree in trees]
    start = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int64)

    def threshold(tree, node):
        if tree.feature[node] < 0:
            return 0.0
        return naive.node_threshold(tree, node, thresholds)

    return flatten_trees(
        start,
        np.array(output, dtype=np.int32),
        np.concatenate([t.feature for t in trees]).astype(np.int32),
        np.concatenate([[threshold(t, n) for n in range(t.n_nodes)] for t in trees]),
        np.concatenate([t.missing_left for t in trees]).astype(np.uint8),
        np.concatenate(
            [
                np.where(np.array(t.left) < 0, -1, t.left + s)
                for t, s in zip(trees, start, strict=True)
            ]
        ).astype(np.int32),
        np.concatenate([t.value for t in trees]),
    )


def flat_view(X):
    order = "C" if X.flags.c_contiguous else "F"
    values = X.ravel(order="K")
    values.flags.writeable = False
    strides = (X.shape[1], 1) if order == "C" else (1, X.shape[0])
    return values, *strides, X.shape[0]


def new_rows(X, thresholds, dtype):
    """Rows of the table, and rows that are all missing, infinite or equal to thresholds."""
    rng = np.random.default_rng(5)
    extreme = [[value] * X.shape[1] for value in (NAN, INF, -INF, 1e30, -1e30, 0.0)]
    at = np.array([[rng.choice(t) for t in thresholds] for _ in range(300)])
    with np.errstate(over="ignore"):
        above = np.nextafter(at, INF)
        return np.concatenate([X, extreme, at, above]).astype(dtype)


@pytest.mark.parametrize("n_threads", [1, 2, 4])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_leaves_and_sums_equal_twin(dtype, order, n_threads):
    X, _, thresholds, trees = grow_trees(0)
    flat = flatten(trees, thresholds, [0, 1, 0])
    rows = np.asarray(new_rows(X, thresholds, dtype), order=order)
    leaves = np.full((len(rows), 3), -1, dtype=np.int32)
    scores = np.tile([10.0, 20.0], (len(rows), 1))
    with Team(n_threads) as team:
        team.run(find_leaves, *flat_view(rows), flat, leaves)
        team.run(add_predictions, *flat_view(rows), 0, 3, flat, scores)
    expected = np.tile([10.0, 20.0], (len(rows), 1))
    for idx, (tree, output) in enumerate(zip(trees, [0, 1, 0], strict=True)):
        found = naive.predict_raw(tree, rows, thresholds)
        assert leaves[:, idx].tolist() == found.tolist()
        expected[:, output] += np.array(tree.value)[found]
    assert scores.tolist() == expected.tolist()


def test_a_range_of_trees():
    X, _, thresholds, trees = grow_trees(1)
    flat = flatten(trees, thresholds, [0, 0, 0])
    with Team(1) as team:
        in_parts, at_once, none = np.zeros((80, 1)), np.zeros((80, 1)), np.zeros((80, 1))
        for tree in range(3):
            team.run(add_predictions, *flat_view(X), tree, tree + 1, flat, in_parts)
        team.run(add_predictions, *flat_view(X), 0, 3, flat, at_once)
        team.run(add_predictions, *flat_view(X), 2, 2, flat, none)
    assert in_parts.tolist() == at_once.tolist()
    assert at_once.any()
    assert not none.any()


@pytest.mark.parametrize("missing_left", [0, 1])
def test_equal_to_the_threshold_goes_left(missing_left):
    stump = flatten_trees(
        np.array([0]),
        np.array([0], dtype=np.int32),
        np.array([0, -1, -1], dtype=np.int32),
        np.array([0.1, 0.0, 0.0]),
        np.array([missing_left, 0, 0], dtype=np.uint8),
        np.array([1, -1, -1], dtype=np.int32),
        np.array([0.0, -1.0, 1.0]),
    )
    values = [0.1, np.nextafter(0.1, 1), np.nextafter(0.1, 0), -INF, INF, NAN]
    expected = [-1, 1, -1, -1, 1, -1 if missing_left else 1]
    out = np.zeros((6, 1))
    with Team(1) as team:
        team.run(add_predictions, *flat_view(np.array(values).reshape(6, 1)), 0, 1, stump, out)
        assert out[:, 0].tolist() == expected
        # float32(0.1) is above the float64 threshold of 0.1
        out[:] = 0
        X = np.array(values, dtype=np.float32).reshape(6, 1)
        team.run(add_predictions, *flat_view(X), 0, 1, stump, out)
    assert out[0, 0] == 1
    assert out[3:, 0].tolist() == expected[3:]


def test_missing_against_all_values():
    """The threshold of such a split is inf: every value goes left."""
    stump = flatten_trees(
        np.array([0]),
        np.array([0], dtype=np.int32),
        np.array([0, -1, -1], dtype=np.int32),
        np.array([INF, 0.0, 0.0]),
        np.zeros(3, dtype=np.uint8),
        np.array([1, -1, -1], dtype=np.int32),
        np.array([0.0, -1.0, 1.0]),
    )
    out = np.zeros((4, 1))
    X = np.array([[INF], [1e308], [-INF], [NAN]])
    with Team(1) as team:
        team.run(add_predictions, *flat_view(X), 0, 1, stump, out)
    assert out[:, 0].tolist() == [-1, -1, -1, 1]


@pytest.mark.parametrize("n_threads", [1, 3])
def test_binned_rows_equal_twin(n_threads):
    _, codes, _, trees = grow_trees(2)
    tree = trees[0]
    rows = np.arange(1, 80, 2, dtype=np.uint32)
    scores = np.ones(80)
    with Team(n_threads) as team:
        team.run(
            add_binned_predictions,
            codes,
            rows,
            np.array(tree.feature, dtype=np.int32),
            np.array(tree.split_bin, dtype=np.uint8),
            np.array(tree.missing_left, dtype=np.uint8),
            np.array(tree.left, dtype=np.int32),
            np.array(tree.value).reshape(-1, 1),
            scores,
        )
    expected = np.ones(80)
    expected[rows] += np.array(tree.value)[naive.predict_binned(tree, codes)[rows]]
    assert scores.tolist() == expected.tolist()
