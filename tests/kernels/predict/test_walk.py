"""Rows that walk through trees, against the naive walk. Many rows: tests/tree/test_predictor.py."""

import numpy as np
import pytest

from sumwise.kernels.predict.walk import add_binned_predictions, add_predictions, flatten_trees
from sumwise.kernels.runtime.threads import Team
from tests.naive import predict as naive
from tests.naive.binning import find_thresholds, map_to_bins
from tests.naive.grow import GrowOptions, grow_tree
from tests.naive.trees import draw_rows, join_trees

NAN, INF = np.nan, np.inf


def flat_view(X):
    order = "C" if X.flags.c_contiguous else "F"
    strides = (X.shape[1], 1) if order == "C" else (1, X.shape[0])
    return X.ravel(order="K"), *strides, X.shape[0]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("n_trees", [1, 3, 4, 5, 8, 9])
def test_sums_equal_twin(n_trees, kind, order):
    rng = np.random.default_rng(n_trees)
    shapes = [(1, "random"), (2, "random"), (40, "random"), (30, "left"), (16, "symmetric")]
    trees = join_trees(rng, (2 * shapes)[:n_trees], n_outputs=2)
    X = np.asarray(draw_rows(rng, trees, 100, 4, kind), order=order)
    base_score = np.array([10.0, 20.0])
    out = np.tile(base_score, (100, 1))
    add_predictions(*flat_view(X), flatten_trees(*trees), out)
    expected = naive.sum_values(trees, naive.find_leaves(trees, X), base_score)
    assert out.tobytes() == expected.tobytes()


def make_stump(threshold, missing_left):
    return flatten_trees(
        np.array([0]),
        np.array([0], dtype=np.int32),
        np.array([0, -1, -1], dtype=np.int32),
        np.array([threshold, 0.0, 0.0]),
        np.array([missing_left, 0, 0], dtype=np.uint8),
        np.array([1, -1, -1], dtype=np.int32),
        np.array([0.0, -1.0, 1.0]),
    )


@pytest.mark.parametrize("missing_left", [0, 1])
def test_equal_to_the_threshold_goes_left(missing_left):
    stump = make_stump(0.1, missing_left)
    values = np.array([0.1, np.nextafter(0.1, 1), np.nextafter(0.1, 0), -INF, INF, NAN])
    expected = [-1, 1, -1, -1, 1, -1 if missing_left else 1]
    out = np.zeros((6, 1))
    add_predictions(*flat_view(values[:, None]), stump, out)
    assert out[:, 0].tolist() == expected
    # float32(0.1) is above the float64 threshold of 0.1
    out[:] = 0
    add_predictions(*flat_view(values.astype(np.float32)[:, None]), stump, out)
    assert out[0, 0] == 1
    assert out[3:, 0].tolist() == expected[3:]


def test_missing_against_all_values():
    """The threshold of such a split is inf: every value goes left."""
    out = np.zeros((4, 1))
    X = np.array([[INF], [1e308], [-INF], [NAN]])
    add_predictions(*flat_view(X), make_stump(INF, 0), out)
    assert out[:, 0].tolist() == [-1, -1, -1, 1]


def grow_binned(seed, max_leaves, n_rows=80, n_features=4):
    """A naive tree and the codes that it was grown on."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-5, 6, (n_rows, n_features)) / 2.0
    X[rng.random(X.shape) < 0.15] = NAN
    thresholds = [find_thresholds(column) for column in X.T]
    codes = np.array([map_to_bins(*pair) for pair in zip(X.T, thresholds, strict=True)])
    n_value_bins = [t.size + 1 for t in thresholds]
    gradient, hessian = rng.normal(size=n_rows), np.ones(n_rows)
    options = GrowOptions(max_leaves=max_leaves)
    return grow_tree(codes, n_value_bins, gradient, hessian, np.arange(n_rows), options), codes


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n_rows", [0, 1, 3, 4, 5, 40])
@pytest.mark.parametrize("max_leaves", [1, 2, 9, 30])
def test_binned_rows_equal_twin(max_leaves, n_rows, n_threads):
    tree, codes = grow_binned(max_leaves, max_leaves)
    rows = np.random.default_rng(n_rows).permutation(80)[:n_rows].astype(np.uint32)
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
