"""Folds, and predictions by models that have not seen the rows."""

import numpy as np
import pytest

from sumwise import GradientBoostingClassifier, RandomForestRegressor
from sumwise.errors import DataError
from sumwise.estimators.calibrated.unseen import (
    clone_for_fold,
    clone_uncalibrated,
    draw_folds,
    predict_unseen,
    refuse_missing_classes,
)


def test_folds_have_equal_sizes_and_classes():
    labels = np.repeat([0, 1, 2], [50, 30, 2])
    folds = draw_folds(5, 82, labels, None, seed=3)
    assert np.ptp(np.bincount(folds)) <= 1
    for k in (0, 1, 2):
        assert np.ptp(np.bincount(folds[labels == k], minlength=5)) <= 1
    assert len(set(folds[labels == 2])) == 2  # each model knows the class


def test_folds_depend_on_the_seed_alone():
    first, again, other = (draw_folds(3, 40, None, None, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_groups_stay_in_one_fold():
    groups = np.repeat(np.arange(12), np.arange(1, 13))
    folds = draw_folds(4, groups.size, None, groups, seed=0)
    assert all(len(set(folds[groups == g])) == 1 for g in range(12))
    assert np.ptp(np.bincount(folds)) <= 3


def test_there_are_no_more_folds_than_rows_or_groups():
    assert draw_folds(5, 3, None, None, 0).max() == 2
    assert draw_folds(5, 30, None, np.arange(30) % 2, 0).max() == 1
    with pytest.raises(DataError, match=r"at least two rows.*n_samples=1"):
        draw_folds(5, 1, None, None, 0)
    with pytest.raises(DataError, match="at least two groups"):
        draw_folds(5, 9, None, np.zeros(9), 0)


def test_each_row_is_predicted_by_a_model_of_the_others():
    folds = draw_folds(3, 20, None, None, 0)

    def fit_fold(train, test):
        assert np.intersect1d(train, test).size == 0
        assert train.size + test.size == 20
        return np.column_stack([test, np.full(test.size, train.sum())])

    found = predict_unseen(fit_fold, folds)
    np.testing.assert_array_equal(found[:, 0], np.arange(20))
    np.testing.assert_array_equal(found[:, 1], [np.flatnonzero(folds != k).sum() for k in folds])


def test_clones_learn_trees_only():
    model = GradientBoostingClassifier(
        calibrate="isotonic", conformal=True, callbacks=[print], verbose=True, warm_start=True
    )
    own = clone_for_fold(model).get_params()
    assert own == GradientBoostingClassifier().get_params()
    assert clone_uncalibrated(model).warm_start is True
    forest = RandomForestRegressor(conformal=True, oob_score=True, max_depth=3)
    assert clone_for_fold(forest).get_params() == RandomForestRegressor(max_depth=3).get_params()


def test_a_class_that_a_fold_does_not_know_is_named():
    refuse_missing_classes(np.array(["a", "b"]), np.array(["a", "b"]))
    with pytest.raises(DataError, match="class 'b' has too few rows"):
        refuse_missing_classes(np.array(["a", "c"]), np.array(["a", "b", "c"]))
