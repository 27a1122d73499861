import numpy as np
import pytest
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    TimeSeriesSplit,
    check_cv,
)
from sklearn.tree import DecisionTreeClassifier

from sumwise.errors import DataError
from sumwise.estimators.combined.meta_features import FoldRecord, OutputColumns
from sumwise.estimators.combined.out_of_fold import Folds, Member, take_if_by_row

X = np.arange(24.0).reshape(12, 2)
Y = np.arange(12) % 3
GROUPS = np.arange(12) // 3


def split(cv, **params):
    return Folds.split(check_cv(cv), X, Y, params)


@pytest.mark.parametrize("cv", [KFold(3), LeaveOneOut(), RepeatedKFold(n_splits=3), GroupKFold(4)])
def test_no_row_is_predicted_by_a_model_that_saw_it(cv):
    folds = split(cv, groups=GROUPS)
    report = FoldRecord.of(folds, None).report()
    assert not report
    assert report.n_left_out == 0
    assert folds.repeats is isinstance(cv, RepeatedKFold)


def test_a_leak_is_found():
    everything = np.arange(12)
    folds = split([(everything, everything[:5]), (everything[:5], everything[5:])])
    report = FoldRecord.of(folds, None).report()
    assert report
    assert report.rows.tolist() == [0, 1, 2, 3, 4]
    assert str(report).startswith("leak: 5 rows were predicted by models that saw them")


def test_rows_of_a_group_are_not_seen_either():
    assert not FoldRecord.of(split(GroupKFold(4), groups=GROUPS), GROUPS).report()
    report = FoldRecord.of(split(KFold(12)), GROUPS).report()
    assert report
    assert report.rows.size == 0
    assert report.rows_of_seen_groups.tolist() == list(range(12))


def test_rows_that_no_fold_predicts_are_counted():
    folds = split(TimeSeriesSplit(3))
    assert folds.predicted.tolist() == list(range(3, 12))
    report = FoldRecord.of(folds, None).report()
    assert not report
    assert str(report) == "no leak; 3 rows are left out"


def test_masks_and_negative_numbers_are_rows():
    mask = np.arange(12) < 6
    folds = split([(mask, ~mask), ([-1, -2], [0])])
    assert folds.train[0].tolist() == [0, 1, 2, 3, 4, 5]
    assert folds.train[1].tolist() == [11, 10]


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        ([], "no folds"),
        ([([0, 1], [])], "fold 0 of cv has no rows to predict"),
        ([([0], [1]), ([], [1])], "fold 1 of cv has no rows to train on"),
        ([([0], [12])], "names row 12, but X has 12 rows"),
    ],
)
def test_bad_folds(cv, message):
    with pytest.raises(DataError, match=message):
        split(cv)


def test_parameters_of_fit_go_by_row_if_they_have_as_many():
    rows = np.array([1, 2])
    assert take_if_by_row(np.arange(3), rows, 3).tolist() == [1, 2]
    for value in (np.arange(4), "abc", 3, {"a": 1, "b": 2, "c": 3}, np.float64(1.0), None):
        assert take_if_by_row(value, rows, 3) is value


def arrange(method, output, *, labels=None, of_all_classes=False, known=None):
    model = DecisionTreeClassifier().fit([[k] for k in range(len(known))], known)
    member = Member("tree", model, method, {})
    return OutputColumns(labels, of_all_classes).arrange(member, model, output)


def test_of_two_classes_one_probability_is_enough():
    output = np.array([[0.3, 0.7]])
    options = {"labels": np.array([0, 1]), "known": [0, 1]}
    assert arrange("predict_proba", output, **options).tolist() == [[0.7]]
    assert arrange("predict_proba", output, of_all_classes=True, **options).tolist() == [[0.3, 0.7]]


def test_labels_are_numbers_or_indicators():
    options = {"labels": np.array(["a", "b", "c"]), "known": ["a", "b", "c"]}
    output = np.array(["c", "a"])
    assert arrange("predict", output, **options).tolist() == [[2], [0]]
    marks = arrange("predict", output, of_all_classes=True, **options)
    assert marks.tolist() == [[0, 0, 1], [1, 0, 0]]


def test_a_fold_may_lack_a_class():
    options = {"labels": np.arange(3), "known": [0, 2]}
    assert arrange("predict_proba", [[0.4, 0.6]], **options).tolist() == [[0.4, 0.0, 0.6]]
    with pytest.raises(DataError, match="rows without class number 1"):
        arrange("decision_function", [0.5], **options)


def test_odd_outputs_are_refused():
    with pytest.raises(DataError, match=r"'tree' gives an array of shape \(1, 1, 1\)"):
        arrange("predict", [[[1.0]]], known=[0, 1])
