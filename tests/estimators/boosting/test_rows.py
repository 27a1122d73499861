"""The rows of a fit."""

import numpy as np
import pytest

from sumwise.errors import DataError
from sumwise.estimators.boosting.rows import LabeledRows, join_rows
from tests.estimators.boosting.fits import X, Y


def test_more_rows_than_can_be_counted():
    rows = np.broadcast_to(0.0, 1 << 32)  # takes no memory
    with pytest.raises(DataError, match="4294967296 rows are too many"):
        LabeledRows(None, X, rows, rows, None, None).find_rows()


def make_rows(n_rows, weight=None, init_score=None):
    matrix, target = np.zeros((n_rows, 2)), np.arange(n_rows, dtype=np.float64)
    return LabeledRows(matrix, matrix, target, target, weight, init_score)


def test_sets_follow_the_training_rows():
    rows = join_rows(make_rows(3), [make_rows(2, np.array([0.0, 2.0])), make_rows(1)])
    assert rows.target.tolist() == [0, 1, 2, 0, 1, 0]
    assert rows.weight.tolist() == [1, 1, 1, 0, 2, 1]
    assert rows.train.tolist() == [0, 1, 2]
    assert rows.valid.tolist() == [4, 5]  # rows of weight zero are not used
    assert rows.init_score is None
    assert join_rows(make_rows(3), [make_rows(2)]).weight.size == 0


def test_all_sets_have_initial_scores_or_none():
    scores = np.ones((1, 3))
    rows = join_rows(make_rows(3, init_score=scores), [make_rows(3, init_score=2 * scores)])
    assert rows.init_score.tolist() == [[1, 1, 1, 2, 2, 2]]
    with pytest.raises(DataError, match="scores to start from belong to training and"):
        join_rows(make_rows(3, init_score=scores), [make_rows(3)])


def test_only_some_rows_are_used():
    rows = LabeledRows(None, X, Y, Y, None, None, np.array([3, 5, 8], dtype=np.uint32))
    assert rows.find_rows().tolist() == [3, 5, 8]
    weight = np.ones(len(Y))
    weight[5] = 0
    rows = LabeledRows(None, X, Y, Y, weight, None, np.array([3, 5, 8], dtype=np.uint32))
    assert rows.find_rows().tolist() == [3, 8]
