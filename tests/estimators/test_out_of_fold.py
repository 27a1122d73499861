import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import (
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor

from sumwise.errors import DataError
from sumwise.estimators.out_of_fold import make_folds, predict_out_of_fold

X, Y = load_diabetes(return_X_y=True)


@pytest.mark.parametrize("cv", [5, KFold(3, shuffle=True, random_state=0)])
def test_predictions_are_those_of_scikit_learn(cv):
    ours = predict_out_of_fold(LinearRegression(), X, Y, cv)
    np.testing.assert_array_equal(ours, cross_val_predict(LinearRegression(), X, Y, cv=cv))
    rows, classes = load_iris(return_X_y=True)
    ours = predict_out_of_fold(GaussianNB(), rows, classes, cv, "predict_proba")
    theirs = cross_val_predict(GaussianNB(), rows, classes, cv=cv, method="predict_proba")
    np.testing.assert_array_equal(ours, theirs)


def test_no_row_is_predicted_by_a_model_that_saw_it():
    noise = np.random.default_rng(0).normal(size=100)
    near = KNeighborsRegressor(1)
    own = np.arange(100.0)[:, np.newaxis]
    for cv in (LeaveOneOut(), 4):
        assert (predict_out_of_fold(near, own, noise, cv) != noise).all()


def test_rows_that_no_fold_tests_are_missing():
    predicted = predict_out_of_fold(LinearRegression(), X, Y, TimeSeriesSplit(3))
    tested = np.concatenate([test for _, test in TimeSeriesSplit(3).split(X)])
    assert np.isnan(predicted).sum() == len(Y) - tested.size
    assert not np.isnan(predicted[tested]).any()


def test_weights_are_split_with_the_rows():
    weight = np.ones(len(Y))
    weight[::2] = 0.0
    predicted = predict_out_of_fold(LinearRegression(), X, Y, 2, sample_weight=weight)
    half = len(Y) // 2
    rows = np.arange(half, len(Y))
    rows = rows[weight[rows] > 0.0]
    expected = LinearRegression().fit(X[rows], Y[rows]).predict(X[:half])
    np.testing.assert_allclose(predicted[:half], expected)


def test_classes_that_a_fold_lacks_have_no_probability():
    rows = np.arange(6.0)[:, np.newaxis]
    classes = np.array([0, 0, 1, 1, 2, 2])
    folds = [(np.arange(4), np.arange(4, 6))]
    predicted = predict_out_of_fold(GaussianNB(), rows, classes, folds, "predict_proba")
    assert predicted.shape == (6, 3)
    np.testing.assert_array_equal(predicted[4:, 2], 0.0)


def test_folds_must_not_overlap():
    with pytest.raises(DataError, match="more than once"):
        make_folds(RepeatedKFold(n_splits=2, n_repeats=2), X, Y, classifier=False)
