"""Folds: stratified, by groups, in the order of time, and for very few rows."""

import numpy as np
import pytest
from sklearn.model_selection import KFold

from sumwise.errors import DataError, ParameterError
from sumwise.estimators.auto.folds import count_folds, make_folds
from tests.estimators.auto.samples import read


def fold(y, n_folds=4, n_repeats=1, *, is_class=False, time_order=False, cv=None, **options):
    X = np.zeros((len(y), 1))
    data = read(X, np.asarray(y), is_class=is_class, **options)
    return make_folds(data, n_folds, n_repeats, time_order, cv, 0), data


def assert_apart(folds):
    for train, test in zip(folds.train, folds.test, strict=True):
        assert not np.isin(test, train).any()
        assert (np.diff(train) > 0).all()
        assert (np.diff(test) > 0).all()


def test_defaults_give_few_rows_more_models():
    assert count_folds(100, is_fast=False) == (5, 3)
    assert count_folds(10_000, is_fast=False) == (8, 1)
    assert count_folds(10**6, is_fast=False) == (5, 1)
    assert count_folds(10**6, is_fast=True) == (3, 1)


@pytest.mark.parametrize("is_class", [False, True])
def test_every_row_is_predicted_once_per_repetition(is_class):
    y = np.arange(50) % 3 if is_class else np.arange(50.0)
    folds, _ = fold(y, 4, 3, is_class=is_class)
    assert len(folds.test) == 12
    assert_apart(folds)
    counts = np.bincount(np.concatenate(folds.test), minlength=50)
    assert (counts == 3).all()
    assert not np.array_equal(folds.test[0], folds.test[4])  # drawn anew


def test_classes_are_in_all_folds():
    y = np.repeat([0, 1], [44, 8])
    folds, _ = fold(y, 4, is_class=True)
    assert [int(y[test].sum()) for test in folds.test] == [2, 2, 2, 2]


def test_a_row_alone_in_its_class_is_in_all_training_folds():
    y = np.repeat([0, 1, 2], [10, 1, 9])
    folds, _ = fold(y, 4, is_class=True)
    assert all(10 in train for train in folds.train)
    assert 10 not in folds.predicted


def test_two_rows_make_two_folds():
    folds, _ = fold([0.0, 1.0], 8)
    assert [test.tolist() for test in folds.test] in ([[0], [1]], [[1], [0]])
    folds, _ = fold(["a", "b"], 8, is_class=True)  # both are alone in their class
    assert len(folds.test) == 2


def test_groups_are_held_out_as_a_whole():
    groups = np.repeat(np.arange(9), np.arange(1, 10))
    y = np.arange(45) % 2
    folds, _ = fold(y, 3, 2, is_class=True, groups=groups)
    assert_apart(folds)
    for train, test in zip(folds.train, folds.test, strict=True):
        assert not np.isin(groups[test], groups[train]).any()
        assert 12 <= test.size <= 18
    assert len(folds.test) == 6


def test_there_are_no_more_folds_than_groups():
    folds, _ = fold(np.arange(10.0), 8, groups=np.repeat([0, 1, 2], [8, 1, 1]))
    assert len(folds.test) == 3
    with pytest.raises(DataError, match="all rows belong to one group"):
        fold(np.arange(10.0), 8, groups=np.zeros(10))


def test_in_the_order_of_time_models_predict_later_rows():
    folds, _ = fold(np.arange(40.0), 3, time_order=True)
    assert [train.size for train in folds.train] == [10, 20, 30]
    for train, test in zip(folds.train, folds.test, strict=True):
        assert train.max() + 1 == test.min()
    assert folds.predicted.tolist() == list(range(10, 40))
    folds, _ = fold(np.arange(3.0), 8, time_order=True)
    assert [test.tolist() for test in folds.test] == [[1], [2]]


def test_a_splitter_and_pairs_of_rows():
    folds, _ = fold(np.arange(12.0), cv=KFold(3))
    assert folds.test[0].tolist() == [0, 1, 2, 3]
    folds, _ = fold(np.arange(6.0), cv=[([3, 0, 1], [5, 4])])
    assert (folds.train[0].tolist(), folds.test[0].tolist()) == ([0, 1, 3], [4, 5])


def test_a_splitter_sees_rows_of_weight_zero():
    weight = np.array([1.0, 0.0, 2.0, 1.0, 1.0, 1.0])
    folds, data = fold(np.arange(6.0), cv=[([0, 1, 2], [4, 5])], sample_weight=weight)
    assert data.y[folds.train[0]].tolist() == [0.0, 2.0]
    assert data.y[folds.test[0]].tolist() == [4.0, 5.0]
    with pytest.raises(DataError, match="fold 0 of cv have weight zero"):
        fold(np.arange(6.0), cv=[([1], [4, 5])], sample_weight=weight)


def test_what_cannot_be_combined_is_refused():
    y, groups = np.arange(12.0), np.arange(12) // 2
    with pytest.raises(ParameterError, match="time_order=True and groups"):
        fold(y, time_order=True, groups=groups)
    with pytest.raises(ParameterError, match="only one of it and cv"):
        fold(y, time_order=True, cv=3)
    with pytest.raises(DataError, match="names a training row twice"):
        fold(y, cv=[([0, 0, 1], [5])])
    with pytest.raises(DataError, match="at least 2 rows"):
        fold([1.0])
