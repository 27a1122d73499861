"""Fits on a shared table give the same models as fits that bin their own rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator

from sumwise import (
    Columns,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Native,
    Subsample,
)
from sumwise.estimators.combined.shared_table import SharedTable, can_share, describe_reading

N_ROWS = 400
ROWS = np.sort(np.random.RandomState(0).permutation(N_ROWS)[:300]).astype(np.uint32)
OTHERS = np.setdiff1d(np.arange(N_ROWS), ROWS)


def make_table(n_classes=2):
    """Few distinct values, all of them among ``ROWS``: bins do not depend on the other rows."""
    X, y = make_classification(
        N_ROWS, n_features=6, n_informative=5, n_redundant=0, n_classes=n_classes, random_state=1
    )
    X = np.clip(np.rint(2 * X), -3, 3)
    assert all(set(column) == set(column[ROWS]) for column in X.T)
    return X, y


MEMBERS = [
    GradientBoostingClassifier(n_estimators=8),
    GradientBoostingClassifier(n_estimators=8, class_weight="balanced", growth="symmetric"),
    GradientBoostingClassifier(n_estimators=8, sampler=Subsample(rate=0.5), random_state=3),
    GradientBoostingClassifier(n_estimators=8, columns=Columns(by_node=0.5), random_state=3),
    GradientBoostingRegressor(n_estimators=8, growth="depth"),
    GradientBoostingRegressor(n_estimators=8, loss="huber"),
    GradientBoostingRegressor(n_estimators=8, loss="quantile"),
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("member", MEMBERS, ids=lambda m: repr(m)[16:])
def test_models_of_some_rows(member, weighted):
    X, y = make_table()
    weight = np.random.RandomState(2).randint(0, 3, N_ROWS) if weighted else None
    if weighted:
        # A row of weight zero does not affect bins: keep the distinct values.
        weight[ROWS] += 1
    table = SharedTable.read(member, X, y, weight)
    model = clone(member)._fit_rows(table, ROWS, n_jobs=1)
    alone = clone(member).fit(X[ROWS], y[ROWS], None if weight is None else weight[ROWS])
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    np.testing.assert_array_equal(
        table.predict(model, "predict", OTHERS, 1, is_last=False), alone.predict(X[OTHERS])
    )


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("method", ["predict_proba", "decision_function", "predict"])
def test_outputs_of_other_rows(method, n_classes):
    X, y = make_table(n_classes)
    member = GradientBoostingClassifier(n_estimators=5)
    table = SharedTable.read(member, X, y, None)
    model = member._fit_rows(table, ROWS)
    expected = getattr(model, method)(X[OTHERS])
    np.testing.assert_array_equal(
        table.predict(model, method, OTHERS, None, is_last=True), expected
    )


def test_classes_are_those_of_the_rows():
    X, y = make_table(3)
    rows = np.flatnonzero(y != 1).astype(np.uint32)
    member = GradientBoostingClassifier(n_estimators=3)
    model = member._fit_rows(SharedTable.read(member, X, y, None), rows)
    assert model.classes_.tolist() == [0, 2]


def test_frames_with_categories_are_read_once():
    X, y = make_table()
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["g"] = pd.Categorical(np.array(["x", "y", "z"])[np.arange(N_ROWS) % 3])
    member = GradientBoostingClassifier(n_estimators=5)
    table = SharedTable.read(member, frame, y, None)
    model = clone(member)._fit_rows(table, ROWS)
    alone = clone(member).fit(frame.iloc[ROWS], y[ROWS])
    np.testing.assert_array_equal(model.predict_proba(frame), alone.predict_proba(frame))
    np.testing.assert_array_equal(
        table.predict(model, "predict_proba", OTHERS, 1, is_last=False),
        alone.predict_proba(frame.iloc[OTHERS]),
    )
    assert model.feature_names_in_.tolist() == list("abcdefg")


def test_early_stopping_holds_out_some_of_the_rows():
    X, y = make_table()
    member = GradientBoostingClassifier(
        n_estimators=30, early_stopping=True, random_state=0, scoring="roc_auc"
    )
    table = SharedTable.read(member, X, y, None)
    model = clone(member)._fit_rows(table, ROWS)
    alone = clone(member).fit(X[ROWS], y[ROWS])
    np.testing.assert_array_equal(
        model.history_["validation_score"], alone.history_["validation_score"]
    )
    groups = np.arange(N_ROWS) // 5
    model = clone(member)._fit_rows(table, ROWS, groups=groups)
    alone = clone(member).fit(X[ROWS], y[ROWS], groups=groups[ROWS])
    np.testing.assert_array_equal(
        model.history_["validation_score"], alone.history_["validation_score"]
    )


def test_callbacks_can_stop_a_fit():
    X, y = make_table()
    member = GradientBoostingClassifier(n_estimators=5)
    table = SharedTable.read(member, X, y, None)
    assert member._fit_rows(table, ROWS, callbacks=[lambda state: True]).best_iteration_ == 1


class OwnLoss:
    def gradient(self, y, raw):
        return raw - y, np.ones_like(y)


def test_who_can_share():
    assert can_share(GradientBoostingRegressor(), {"sample_weight": 1, "groups": 2})
    assert not can_share(GradientBoostingRegressor(), {"init_score": 1})
    assert not can_share(GradientBoostingRegressor(loss=OwnLoss()), {})
    assert not can_share("drop", {})


def test_what_decides_how_x_is_read():
    plain = describe_reading(GradientBoostingClassifier())
    assert plain == describe_reading(GradientBoostingClassifier(l2=3.0, n_jobs=1))
    assert plain == describe_reading(GradientBoostingClassifier(categorical_encoding="ordered"))
    for other in (
        GradientBoostingRegressor(),
        GradientBoostingClassifier(max_bins=20),
        GradientBoostingClassifier(growth="symmetric"),  # it splits by sets of few categories
        GradientBoostingClassifier(categorical_features=[0]),
        GradientBoostingClassifier(categorical_encoding=Native(smoothing=5)),
    ):
        assert plain != describe_reading(other)


def test_what_is_frozen_is_not_fitted_on_a_shared_table():
    """It has the attributes of the estimator that it protects from being fitted."""
    X, y = make_table()
    frozen = FrozenEstimator(GradientBoostingClassifier(n_estimators=2).fit(X, y))
    assert hasattr(frozen, "_fit_rows")
    assert not can_share(frozen, {})


@pytest.mark.parametrize("member", MEMBERS, ids=lambda m: repr(m)[16:])
def test_losses_of_other_rows_are_measured(member):
    """As those of validation sets of a fit on its own rows."""
    X, y = make_table()
    weight = np.random.RandomState(2).randint(1, 4, N_ROWS)
    first, second = OTHERS[::3].astype(np.uint32), OTHERS[1::3].astype(np.uint32)
    table = SharedTable.read(member, X, y, weight)
    model = clone(member)._fit_rows(table, ROWS, measured={"first": first, "second": second})
    sets = [(X[rows], y[rows]) for rows in (first, second)]
    alone = clone(member).fit(
        X[ROWS],
        y[ROWS],
        weight[ROWS],
        eval_set=sets,
        eval_names=["first", "second"],
        eval_sample_weight=[weight[first], weight[second]],
    )
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    for name in ("first_loss", "second_loss"):
        np.testing.assert_allclose(model.history_[name], alone.history_[name])
