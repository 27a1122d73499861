"""Rows of the training table that walk through a tree, against the naive walk.

Storages other than dense: tests/tree/test_grower.py and the tests of the estimators.
"""

import numpy as np
import pytest

from sumwise.data.binned import BinnedData
from sumwise.kernels.leaves.symmetric import find_symmetric_leaves
from sumwise.kernels.predict.table_walk import TableTree, add_table_predictions, mark_sets
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.layout import CATEGORICAL, NO_CATEGORIES
from tests.naive import predict as naive
from tests.naive.binning import find_thresholds, map_to_bins
from tests.naive.grow import GrowOptions, grow_tree

NAN = np.nan


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


def prepare(tree, categories=NO_CATEGORIES, sets=((), (), ())):
    feature, missing_left = np.array(tree.feature), np.array(tree.missing_left, dtype=np.uint8)
    in_sets = mark_sets(categories, feature, missing_left, *(np.array(s, np.int32) for s in sets))
    return TableTree(
        np.maximum(feature, 0).astype(np.uint32),
        np.array(tree.split_bin, dtype=np.uint8),
        np.zeros(feature.size),
        missing_left,
        np.array(tree.left, dtype=np.int32),
        *in_sets,
    )


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n_rows", [0, 1, 3, 4, 5, 40])
@pytest.mark.parametrize("max_leaves", [1, 2, 9, 30])
def test_dense_rows_equal_twin(max_leaves, n_rows, n_threads):
    tree, codes = grow_binned(max_leaves, max_leaves)
    rows = np.random.default_rng(n_rows).permutation(80)[:n_rows].astype(np.uint32)
    scores, value = np.ones(80), np.array(tree.value).reshape(-1, 1)
    with Team(n_threads) as team:
        table = BinnedData.from_columns(codes, codes.max(axis=1).astype(np.int64), team).table
        team.run(add_table_predictions, table, prepare(tree), rows, value, scores)
    expected = np.ones(80)
    expected[rows] += np.array(tree.value)[naive.predict_binned(tree, codes)[rows]]
    assert scores.tolist() == expected.tolist()


class Stump:
    """Splits feature 1 by a set."""

    feature, split_bin, left = [1, -1, -1], [0, 0, 0], [1, -1, -1]

    def __init__(self, missing_left):
        self.missing_left = [missing_left, 0, 0]


@pytest.mark.parametrize("missing_left", [0, 1])
@pytest.mark.parametrize("is_wide", [False, True])
def test_rows_by_category(is_wide, missing_left):
    """Bins 1, 2, 3 are the categories 4, 7, 9, the last bin is the rest; 7 and 9 go left."""
    bins = np.array([[0, 0, 0, 0, 0], [0, 1, 2, 3, 4]], dtype=np.uint8)
    categories = NO_CATEGORIES._replace(
        place=np.array([-1, 0]),
        wide_place=np.array([0 if is_wide else -1]),
        wide=bins[1:].astype(np.uint32),
        n_bins=np.array([5]),
        code_start=np.array([0]),
        codes=np.array([-1, 4, 7, 9, -1], dtype=np.int32),
    )
    columns = bins * np.array([[1], [not is_wide]], dtype=np.uint8)
    with Team(1) as team:
        table = BinnedData.from_columns(columns, np.array([1, 4]), team).table
        storage = np.array([0, CATEGORICAL], dtype=np.uint8)
        table = table._replace(storage=storage, categories=categories)
        tree = prepare(Stump(missing_left), categories, ([0], [2], [7, 9]))
        scores, leaf = np.zeros(5), np.zeros(5, dtype=np.uint16)
        rows, value = np.arange(5, dtype=np.uint32), np.array([[0.0], [1.0], [2.0]])
        team.run(add_table_predictions, table, tree, rows, value, scores)
        team.run(find_symmetric_leaves, table, tree, 1, leaf)
    assert scores.tolist() == leaf.tolist() == [2 - missing_left, 2, 1, 1, 2]
