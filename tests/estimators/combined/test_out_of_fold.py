import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.metrics import pairwise_distances
from sklearn.model_selection import (
    KFold,
    LeaveOneOut,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor

from sumwise import GradientBoostingRegressor
from sumwise.errors import DataError
from sumwise.estimators.combined import out_of_fold
from sumwise.estimators.combined.meta_features import OutputColumns
from sumwise.estimators.combined.out_of_fold import (
    FoldModels,
    Folds,
    Member,
    find_splitter,
    fit_members,
)

X, Y = load_diabetes(return_X_y=True)


def fit_on_folds(estimator, X, y, cv, method="predict", *, refit=False, keep_folds=False, **params):
    is_class = is_classifier(estimator)
    folds = Folds.split(find_splitter(cv, y, is_class), X, y, {})
    reader = OutputColumns(np.unique(y) if is_class else None, of_all_classes=True)
    (fitted,) = fit_members(
        [Member("only", estimator, method, params)],
        X,
        y,
        folds,
        reader,
        refit=refit,
        keep_folds=keep_folds,
        share_bins=False,
        n_jobs=None,
    )
    return fitted


def predict_out_of_fold(*args, **params):
    output = fit_on_folds(*args, **params).output
    return output[:, 0] if output.shape[1] == 1 else output


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


def test_kernels_are_cut_to_the_training_rows():
    """As scikit-learn does for estimators that take distances or kernels."""
    near = KNeighborsRegressor(3, metric="precomputed")
    distances = pairwise_distances(X)
    ours = predict_out_of_fold(near, distances, Y, 4)
    np.testing.assert_array_equal(ours, cross_val_predict(near, distances, Y, cv=4))
    np.testing.assert_allclose(ours, predict_out_of_fold(KNeighborsRegressor(3), X, Y, 4))


def test_only_the_models_asked_for_are_kept():
    assert fit_on_folds(LinearRegression(), X, Y, 2).model is None
    kept = fit_on_folds(LinearRegression(), X, Y, 2, keep_folds=True).model
    assert isinstance(kept, FoldModels)
    assert len(kept) == 2
    whole = fit_on_folds(LinearRegression(), X, Y, 2, refit=True).model
    np.testing.assert_array_equal(whole.coef_, LinearRegression().fit(X, Y).coef_)


def test_fits_that_take_longest_come_first(monkeypatch):
    """Each member once, in order; then by the duration of its last fit."""
    clock = iter(np.cumsum([0, 1, 0, 5, 0, 3, 0, 5, 0, 1, 0, 3]).tolist())
    monkeypatch.setattr(out_of_fold.time, "perf_counter", lambda: next(clock))
    queue = out_of_fold._LongestFirst([(k, i) for i in (None, 0) for k in range(3)])
    order = []
    for _ in range(6):
        with queue.take() as task:
            order.append(task)
    assert order == [(0, None), (1, None), (2, None), (1, 0), (2, 0), (0, 0)]


def test_a_number_of_folds_keeps_groups_if_asked_to():
    groups = np.arange(len(Y)) % 20
    for is_class, y in ((False, Y), (True, groups % 2)):
        splitter = find_splitter(4, y, is_class, keep_groups=True)
        folds = Folds.split(splitter, X, y, {"groups": groups})
        for train, test in zip(folds.train, folds.test, strict=True):
            assert not set(groups[train]) & set(groups[test])
    assert isinstance(find_splitter(4, Y, False), KFold)


@pytest.mark.parametrize("share_bins", [True, False])
def test_a_fold_without_weight_is_refused(share_bins):
    weight = np.zeros(len(Y))
    weight[3] = 1.0
    folds = Folds.split(KFold(4), X, Y, {})
    member = Member(
        "a", GradientBoostingRegressor(n_estimators=2), "predict", {"sample_weight": weight}
    )
    with pytest.raises(DataError, match="zero in the training rows of fold 0 of cv"):
        fit_members(
            [member],
            X,
            Y,
            folds,
            OutputColumns(None, of_all_classes=True),
            refit=True,
            keep_folds=False,
            share_bins=share_bins,
            n_jobs=None,
        )


def test_frozen_members_predict_all_rows_as_they_are():
    frozen = FrozenEstimator(LinearRegression().fit(X[:50], Y[:50]))
    fitted = fit_on_folds(frozen, X, Y, TimeSeriesSplit(3), refit=True)
    assert fitted.model is frozen
    np.testing.assert_array_equal(fitted.output[:, 0], frozen.predict(X))
    with pytest.raises(
        NotFittedError, match=r"member 'only' \(FrozenEstimator\) failed to predict"
    ):
        fit_on_folds(FrozenEstimator(LinearRegression()), X, Y, 3)
