"""Forests that grow in ranges of tree numbers, as the processes of a cluster grow them."""

import io
import pickle
import warnings
from dataclasses import fields
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from sklearn.base import clone

from sumwise import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    PoissonBootstrap,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sumwise.errors import DataWarning
from sumwise.estimators.forests.parameters import draw_seed
from sumwise.estimators.forests.ranges import BinnedSet, list_folds, list_numbers

pytestmark = pytest.mark.filterwarnings("ignore::sumwise.errors.DataWarning")
N_ROWS, N_TREES = 150, 7


def draw(kind):
    """Return X, a target of the same name as in ``FORESTS``, and weights."""
    rng = np.random.default_rng(4)
    X = rng.random((N_ROWS, 6))
    X[rng.random(X.shape) < 0.1] = np.nan
    score = np.nan_to_num(X[:, 0] + 2 * X[:, 1]) + rng.random(N_ROWS)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["kind"] = pd.Series(list("xyz"))[rng.integers(0, 3, N_ROWS)].to_numpy()
    sparse = csr_array(np.where(rng.random(X.shape) < 0.95, 0.0, np.nan_to_num(X)))
    classes = np.array(["low", "middle", "high"])[np.digitize(score, [1.0, 2.0])]
    weight = rng.integers(0, 3, N_ROWS).astype(float)
    return {
        "numbers": (X, score, None),
        "weights": (frame, score, weight),
        "classes": (frame, classes, weight + 0.5),
        "sparse classes": (sparse, classes, None),
        "sparse weights": (sparse, score > 1.5, weight * 1.1),
        "targets": (X, np.column_stack([score, -score]), None),
        "outputs": (X, np.column_stack([classes, score > 1.0]).astype(object), None),
    }[kind]


CASES = {
    "plain": (RandomForestRegressor(), "numbers"),
    "out of bag": (RandomForestRegressor(oob_score=True, max_features=0.5), "weights"),
    "intervals": (RandomForestRegressor(conformal=True), "numbers"),
    "intervals by folds": (ExtraTreesRegressor(conformal=True, calibration_rows=3), "weights"),
    "targets": (ExtraTreesRegressor(bootstrap=True, oob_score=True), "targets"),
    "classes": (RandomForestClassifier(class_weight="balanced_subsample", prune="oob"), "classes"),
    "leaf-wise": (ExtraTreesClassifier(max_leaf_nodes=5, class_weight="balanced"), "classes"),
    "outputs": (RandomForestClassifier(min_samples_leaf=0.02), "outputs"),
    "subspaces": (RandomForestClassifier(max_features_per_tree=3, calibrate="isotonic"), "classes"),
    "calibrated by folds": (ExtraTreesClassifier(calibrate="logistic"), "classes"),
    "drawn weights": (
        RandomForestRegressor(resampling=PoissonBootstrap(0.4), ccp_alpha=0.01),
        "weights",
    ),
    "sparse": (RandomForestClassifier(oob_score=True), "sparse classes"),
    "sparse weights": (ExtraTreesClassifier(min_impurity_decrease=0.001), "sparse weights"),
}
FORESTS = {
    name: (forest.set_params(n_estimators=N_TREES, random_state=3), kind)
    for name, (forest, kind) in CASES.items()
}
forests = pytest.mark.parametrize("name", FORESTS)


def fit_in_ranges(forest, ends, X, y, weight, start=None, n_threads=1):
    """Fit as a cluster does: each step gets what a pickle holds of the others."""
    send = partial(_pass_on, pickle.HIGHEST_PROTOCOL)
    rows = send(
        BinnedSet.read(
            clone(forest), X, y, weight, start, draw_seed(forest.random_state), n_threads
        )
    )
    ends = sorted({list_numbers(forest, start).start, *ends, N_TREES})
    numbers = [range(first, last) for first, last in pairwise(ends)]
    grown = {part: send(rows).grow(part, n_threads) for part in reversed(numbers)}
    found = [send(rows).predict_fold(X, fold) for fold in list_folds(forest)]
    return send(rows).join([send(grown[part]) for part in numbers], found, n_threads)


def _pass_on(protocol, thing):
    return pickle.loads(pickle.dumps(thing, protocol))


def write(model):
    """Return what ``save`` writes; where that is not possible, the arrays of the trees."""
    forest = model.forest_
    arrays = [getattr(forest, own.name) for own in fields(forest) if own.name != "mapper"]
    arrays += forest.mapper.thresholds
    found = [(array.dtype.str, array.shape, array.tobytes()) for array in arrays]
    if not isinstance(getattr(model, "classes_", None), list):
        file = io.BytesIO()
        model.save(file)
        found.append(file.getvalue())
    return found


@forests
@given(ends=st.sets(st.integers(1, N_TREES - 1)))
@settings(max_examples=6, deadline=None)
def test_any_division_of_tree_numbers_gives_the_same_forest(name, ends):
    forest, kind = FORESTS[name]
    X, y, weight = draw(kind)
    expected = clone(forest).fit(X, y, weight)
    fitted = fit_in_ranges(forest, ends, X, y, weight)
    assert type(fitted) is type(expected)
    assert sorted(vars(fitted)) == sorted(vars(expected))
    assert write(fitted) == write(expected)
    for own in ("oob_prediction_", "oob_decision_function_", "feature_importances_"):
        np.testing.assert_array_equal(getattr(fitted, own, None), getattr(expected, own, None))
    for rows, known in zip(fitted.estimators_samples_, expected.estimators_samples_, strict=True):
        np.testing.assert_array_equal(rows, known)


@pytest.mark.parametrize("name", ["out of bag", "subspaces", "sparse", "calibrated by folds"])
def test_more_trees_after_those_of_an_earlier_fit(name):
    forest, kind = FORESTS[name]
    X, y, weight = draw(kind)
    start = clone(forest).set_params(n_estimators=3).fit(X, y, weight)
    fitted = fit_in_ranges(forest, {4}, X, y, weight, start, n_threads=2)
    expected = clone(forest).fit(X, y, weight)
    assert write(fitted) == write(expected)
    assert getattr(fitted, "oob_score_", None) == getattr(expected, "oob_score_", None)


def test_no_trees_are_missing():
    forest, _ = FORESTS["out of bag"]
    X, y, weight = draw("weights")
    start = clone(forest).fit(X, y, weight)
    fitted = fit_in_ranges(forest, (), X, y, weight, start)
    assert write(fitted) == write(start)


def test_what_is_sent_has_no_values_of_features():
    forest, _ = FORESTS["plain"]
    X = np.random.default_rng(0).random((4000, 20))
    rows = BinnedSet.read(forest, X, X[:, 0], None, None, 0, 1)
    empty = BinnedSet.read(forest, X[:, :1], X[:, 0], None, None, 0, 1)
    sent = len(pickle.dumps(rows)) - len(pickle.dumps(empty))
    assert sent < 19 * (4000 + 255 * 8 + 1000)  # a byte per value, and thresholds
    rows.grow(range(1), 1)
    _ = rows.table.by_column, rows.table.centers
    assert len(pickle.dumps(rows)) - len(pickle.dumps(empty)) == sent


def test_few_rows_have_fewer_folds_than_are_asked_for():
    forest = ExtraTreesRegressor(3, conformal=True, calibration_rows=8, random_state=0)
    X, y = np.arange(5.0).reshape(-1, 1), np.arange(5.0)
    assert len(list_folds(forest)) == 8
    rows = BinnedSet.read(clone(forest), X, y, None, None, draw_seed(forest.random_state), 1)
    found = [rows.predict_fold(X, fold) for fold in list_folds(forest)]
    assert [own is None for own in found] == [False] * 5 + [True] * 3
    fitted = rows.join([rows.grow(range(3), 1)], found, 1)
    interval = forest.fit(X, y).predict_interval(X)
    np.testing.assert_array_equal(fitted.predict_interval(X), interval)


def test_warnings_are_those_of_a_plain_fit():
    forest = RandomForestRegressor(2, oob_score=True, prune="oob", random_state=0)
    X, y, _ = draw("numbers")
    with pytest.warns(DataWarning, match="optimistic"):
        fit_in_ranges(forest, (), X, y, None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit_in_ranges(clone(forest).set_params(oob_score=False), (), X, y, None)
