"""Rows that walk through trees, against the naive walk. Many rows: tests/tree/test_predictor.py."""

import numpy as np
import pytest

from sumwise.kernels.predict.category_sets import make_sets
from sumwise.kernels.predict.walk import FlatTrees, add_predictions, close_leaves
from tests.naive import predict as naive
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
    add_predictions(*flat_view(X), close_leaves(FlatTrees(*trees)), out)
    expected = naive.sum_values(trees, naive.find_leaves(trees, X), base_score)
    assert out.tobytes() == expected.tobytes()


def make_stump(threshold, missing_left, sets=()):
    trees = FlatTrees(
        np.array([0]),
        np.array([0], dtype=np.int32),
        np.array([0, -1, -1], dtype=np.int32),
        np.array([threshold, 0.0, 0.0]),
        np.array([missing_left, 0, 0], dtype=np.uint8),
        np.array([1, -1, -1], dtype=np.int32),
        np.array([0.0, -1.0, 1.0]),
        *sets,
    )
    return close_leaves(trees)


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


@pytest.mark.parametrize("missing_left", [0, 1])
def test_a_set_sends_its_categories_left(missing_left):
    """All other numbers go right, whether they are codes or not."""
    sets = make_sets(3, *(np.array(a, dtype=np.int32) for a in ([0], [2], [1, 4])))
    X = np.array([[0.0], [1.0], [4.0], [5.0], [1.5], [-1.0], [1e300], [INF], [NAN]])
    out = np.zeros((9, 1))
    add_predictions(*flat_view(X), make_stump(0.0, missing_left, [sets]), out)
    assert out[:, 0].tolist() == [1, -1, -1, 1, 1, 1, 1, 1, -1 if missing_left else 1]
