"""Sparse input of the boosting estimators: the same model, byte for byte, as of dense input."""

import io
import warnings
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import sumwise
from sumwise import (
    Bundling,
    Columns,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    StackingRegressor,
)
from sumwise.errors import DataError, DataWarning, ParameterError

SMALL = {"n_estimators": 4, "max_leaves": 8, "min_samples_leaf": 3, "random_state": 0}


def make_data(seed=0, n_rows=400):
    """One-hot columns, sparse numbers, a dense column with gaps, an empty and a constant one."""
    rng = np.random.default_rng(seed)
    groups = rng.integers(0, 9, (n_rows, 3))
    one_hot = np.concatenate([np.eye(9)[groups[:, g]] for g in range(3)], axis=1)
    numbers = np.where(rng.random((n_rows, 12)) < 0.06, rng.normal(size=(n_rows, 12)).round(1), 0)
    dense = rng.normal(size=(n_rows, 1))
    dense[rng.random(n_rows) < 0.1] = np.nan
    fixed = np.zeros((n_rows, 1)), np.ones((n_rows, 1))
    X = np.concatenate([one_hot, numbers, dense, *fixed], axis=1)
    y = groups[:, 0] % 3 + numbers[:, :4].sum(axis=1) + np.nan_to_num(dense[:, 0])
    return X, y + 0.1 * rng.normal(size=n_rows)


X, Y = make_data()
S = sparse.csr_matrix(X)


def read_file(model, path):
    model.save(path)
    return path.read_bytes()


def assert_same(left, right, path):
    """Models that differ in nothing that a file holds."""
    assert read_file(left, path / "left") == read_file(right, path / "right")


def assert_same_trees(left, right):
    for name in ("feature", "threshold", "missing_left", "left", "value", "gain", "n_rows"):
        own, other = (getattr(model.ensemble_, name) for model in (left, right))
        assert own.tobytes() == other.tobytes(), name


CASES = {
    "leaf": {},
    "depth": {"growth": "depth", "max_depth": 4, "max_leaves": None},
    "symmetric": {"growth": "symmetric", "max_leaves": None, "max_depth": 4},
    "rows": {"sampler": "subsample"},
    "columns": {"columns": Columns(by_tree=0.6, by_level=0.7, by_node=0.5)},
    "held out": {"early_stopping": True},
    "few bins": {"max_bins": 4},
    "medians": {"loss": "absolute_error"},
    "monotone": {"monotonic_cst": {27: 1, 39: -1}},
    "interactions": {"interaction_cst": [[0, 1, 27, 28], list(range(2, 27))]},
    "threads": {"n_jobs": 3},
}


@pytest.fixture(params=[0, 8], ids=["entries", "columns"])
def few_columns(request, monkeypatch):
    """Rare features are kept by row, or in columns if these are few."""
    monkeypatch.setattr("sumwise.data.bundling._FEW_COLUMNS", request.param)


@pytest.mark.usefixtures("few_columns")
@pytest.mark.parametrize("params", CASES.values(), ids=CASES)
def test_sparse_and_dense_give_the_same_bytes(params, tmp_path, monkeypatch):
    if "n_jobs" in params:
        monkeypatch.setattr("sumwise.estimators.input.jobs.count_threads", lambda *_: 3)
    params = dict(params)
    if isinstance(params.get("monotonic_cst"), dict):
        cst = np.zeros(X.shape[1], dtype=int)
        cst[list(params["monotonic_cst"])] = list(params["monotonic_cst"].values())
        params["monotonic_cst"] = cst
    dense = GradientBoostingRegressor(**{**SMALL, **params}).fit(X, Y)
    for matrix in (S, sparse.csc_array(X)):
        model = GradientBoostingRegressor(**{**SMALL, **params}).fit(matrix, Y)
        assert_same(model, dense, tmp_path)
    off = GradientBoostingRegressor(**{**SMALL, **params}, bundling=None).fit(S, Y)
    assert_same_trees(off, dense)
    assert np.array_equal(dense.predict(S), dense.predict(X))
    assert np.array_equal(off.get_feature_importances(), dense.get_feature_importances())


def test_predictions_of_sparse_rows():
    y = (Y > 1).astype(int) + (Y > 0)
    model = GradientBoostingClassifier(**SMALL).fit(S, y)
    for n_rows in (1, 12, 13, 400):
        for rows in (S[:n_rows], sparse.csc_matrix(X[:n_rows]), S[:n_rows].tocoo()):
            assert np.array_equal(model.predict_proba(rows), model.predict_proba(X[:n_rows]))
            assert np.array_equal(model.predict(rows), model.predict(X[:n_rows]))
            assert np.array_equal(model.apply(rows), model.apply(X[:n_rows]))
    for own, other in zip(
        model.staged_predict_proba(S), model.staged_predict_proba(X), strict=True
    ):
        assert np.array_equal(own, other)


@pytest.mark.usefixtures("few_columns")
def test_validation_rows_of_either_kind(tmp_path):
    expected = GradientBoostingRegressor(**SMALL).fit(X, Y, X_val=X[:90] + 1, y_val=Y[:90])
    for train in (X, S):
        for valid in (
            X[:90] + 1,
            sparse.csr_array(X[:90] + 1),
            pd.DataFrame(X[:90] + 1).to_numpy(),
        ):
            model = GradientBoostingRegressor(**SMALL).fit(train, Y, X_val=valid, y_val=Y[:90])
            assert_same(model, expected, tmp_path)


def test_weights_and_scorers_and_continued_training(tmp_path):
    weight = np.random.default_rng(1).random(len(Y)) * (np.arange(len(Y)) % 5 > 0)
    params = {**SMALL, "early_stopping": True, "scoring": "r2"}
    first = GradientBoostingRegressor(**params).fit(X, Y, weight)
    second = GradientBoostingRegressor(**params).fit(S, Y, weight)
    assert_same(first, second, tmp_path)
    more = GradientBoostingRegressor(**{**SMALL, "n_estimators": 7})
    start = GradientBoostingRegressor(**SMALL).fit(S, Y)
    going_on = more.fit(S, Y, init_model=start)
    at_once = GradientBoostingRegressor(**{**SMALL, "n_estimators": 7}).fit(X, Y)
    assert_same(going_on, at_once, tmp_path)


@pytest.mark.usefixtures("few_columns")
def test_heavy_tails_and_few_rows(tmp_path):
    """Histograms of exact values: by codes and by entries."""
    y = Y.copy()
    y[0] = 1e9
    for rows in (slice(None), slice(0, 200)):
        models = [GradientBoostingRegressor(**SMALL).fit(M[rows], y[rows]) for M in (X, S)]
        assert_same(*models, tmp_path)


@pytest.mark.usefixtures("few_columns")
def test_many_rows_share_a_bin(tmp_path):
    """Entries are not summed in packed words if more than 4,095 rows share a bin."""
    rng = np.random.default_rng(0)
    n_rows = 30_000
    dense = (rng.random((n_rows, 6)) < 0.155).astype(float)
    y = dense @ np.arange(6) + rng.normal(size=n_rows)
    models = [
        GradientBoostingRegressor(**SMALL, n_jobs=2).fit(M, y)
        for M in (dense, sparse.csr_matrix(dense))
    ]
    assert_same(*models, tmp_path)


@pytest.mark.usefixtures("few_columns")
def test_absent_values_may_be_missing(tmp_path):
    holes = np.where(X == 0, np.nan, X)
    params = {**SMALL, "sparse_zeros": "missing"}
    dense = GradientBoostingRegressor(**params).fit(holes, Y)
    model = GradientBoostingRegressor(**params).fit(S, Y)
    assert_same(model, dense, tmp_path)
    assert np.array_equal(model.predict(S), model.predict(holes))
    loaded = sumwise.load(tmp_path / "left")
    assert np.array_equal(loaded.predict(S[:5]), model.predict(holes[:5]))


@pytest.mark.parametrize("fill", [0.0, np.nan])
def test_frames_with_sparse_columns(fill, tmp_path):
    values = X if fill == 0 else np.where(X == 0, np.nan, X)
    names = [f"x{f}" for f in range(X.shape[1])]
    plain = pd.DataFrame(values, columns=names)
    frame = plain.astype({name: pd.SparseDtype(float, fill) for name in names[:-3]})
    dense = GradientBoostingRegressor(**SMALL).fit(plain, Y)
    model = GradientBoostingRegressor(**SMALL).fit(frame, Y)
    assert_same(model, dense, tmp_path)
    assert model.feature_names_in_.tolist() == names
    assert np.array_equal(model.predict(frame), dense.predict(plain))
    mixed = frame.assign(c=pd.Categorical(np.where(Y > 0, "a", "b")))
    other = plain.assign(c=mixed["c"])
    models = [GradientBoostingRegressor(**SMALL).fit(F, Y) for F in (mixed, other)]
    assert_same(*models, tmp_path)


def test_files_of_svmlight(tmp_path):
    file = io.BytesIO()
    dump_svmlight_file(np.nan_to_num(X), Y, file)
    file.seek(0)
    rows, y = load_svmlight_file(file)
    rows.indices, rows.indptr = rows.indices.astype(np.int64), rows.indptr.astype(np.int64)
    models = [GradientBoostingRegressor(**SMALL).fit(M, y) for M in (rows, rows.toarray())]
    assert_same(*models, tmp_path)


def test_a_matrix_in_disorder_is_not_changed(tmp_path):
    rows, columns = S.nonzero()
    rows, columns = np.repeat(rows, 2), np.repeat(columns, 2)  # halves, which add up
    half = np.repeat(S[S.nonzero()].A1 / 2, 2)
    places = sparse.coo_matrix((half, (rows, columns)), S.shape)
    start = np.append(0, np.bincount(rows, minlength=len(Y)).cumsum())
    given = sparse.csr_matrix((places.data, places.col, start), S.shape)
    before = given.data.copy(), given.indices.copy()
    model = GradientBoostingRegressor(**SMALL).fit(given, Y)
    assert_same(model, GradientBoostingRegressor(**SMALL).fit(X, Y), tmp_path)
    assert np.array_equal(given.data, before[0], equal_nan=True)
    assert np.array_equal(given.indices, before[1])


def test_conflicts_change_little():
    exact = GradientBoostingRegressor(**SMALL).fit(S, Y)
    some = GradientBoostingRegressor(**SMALL, bundling=Bundling(0.02)).fit(S, Y)
    assert abs(exact.score(X, Y) - some.score(X, Y)) < 0.1
    every = GradientBoostingRegressor(**SMALL, bundling=Bundling(1.0)).fit(S, Y)
    assert every.score(X, Y) < exact.score(X, Y)


def test_stacks_share_a_sparse_table():
    members = [(f"m{k}", GradientBoostingRegressor(**{**SMALL, "l2": k + 1.0})) for k in range(2)]
    expected = StackingRegressor(members).fit(np.nan_to_num(X), Y).predict(np.nan_to_num(X))
    found = StackingRegressor(members).fit(sparse.csr_matrix(np.nan_to_num(X)), Y)
    assert np.array_equal(found.predict(np.nan_to_num(X)), expected)


def test_what_sparse_input_cannot_be():
    for params, message in {
        "zeros": ({"sparse_zeros": "none"}, "sparse_zeros='none'"),
        "bundling": ({"bundling": "never"}, "bundling='never'"),
        "rate": ({"bundling": Bundling(2)}, "max_conflict_rate=2"),
    }.values():
        with pytest.raises(ParameterError, match=message):
            GradientBoostingRegressor(**params).fit(S, Y)
    with pytest.raises(DataError, match="features of a sparse X are numbers"):
        GradientBoostingRegressor(categorical_features=[1]).fit(S, Y)
    by_category = GradientBoostingRegressor(**SMALL, categorical_features=[0]).fit(X, Y)
    with pytest.raises(DataError, match="features of a sparse X are numbers"):
        by_category.predict(S)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 42"):
        GradientBoostingRegressor(**SMALL).fit(S, Y).predict(S[:, :3])
    with pytest.warns(DataWarning, match="beyond 2"):
        GradientBoostingRegressor(**SMALL).fit(sparse.csr_matrix(np.array([[2**60], [1]])), [0, 1])


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 2**32),
    n_rows=st.integers(20, 300),
    n_features=st.integers(1, 60),
    density=st.sampled_from([0.01, 0.05, 0.2, 0.6]),
    n_values=st.sampled_from([1, 3, 100]),
    kind=st.sampled_from([np.float32, np.float64]),
    growth=st.sampled_from(["leaf", "symmetric"]),
    n_jobs=st.integers(1, 2),
    few=st.sampled_from([0, 8]),
)
def test_any_pattern(seed, n_rows, n_features, density, n_values, kind, growth, n_jobs, few):
    rng = np.random.default_rng(seed)
    dense = np.zeros((n_rows, n_features), dtype=kind)
    at = rng.random(dense.shape) < density * 2 * rng.random(n_features)
    dense[at] = rng.integers(-1, n_values + 1, at.sum())
    dense[rng.random(dense.shape) < 0.003] = np.nan
    y = np.nan_to_num(dense).sum(axis=1) + rng.normal(size=n_rows)
    params = {"n_estimators": 3, "min_samples_leaf": 2, "growth": growth, "n_jobs": n_jobs}
    params |= {"max_depth": 4}
    stored = sparse.csr_matrix(dense)
    with warnings.catch_warnings(), mock.patch("sumwise.data.bundling._FEW_COLUMNS", few):
        warnings.simplefilter("error")
        models = [GradientBoostingRegressor(**params).fit(M, y) for M in (dense, stored)]
    assert_same_trees(*models)
    assert np.array_equal(models[0].predict(dense), models[1].predict(stored))
