"""Estimators on columns of codes."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import sumwise
from sumwise import (
    Columns,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    Native,
    Subsample,
)
from sumwise.errors import ParameterError

LOOSE = Native(smoothing=2.0, l2=1.0, min_rows=5)


def make_data(n_rows=1500, seed=0):
    """Two columns of noise; a wide, a narrow and a one-hot column, whose codes mean nothing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    X[:, 1], X[:, 2] = rng.integers(0, 400, n_rows), rng.integers(0, 30, n_rows)
    X[:, 4] = rng.integers(0, 3, n_rows)
    effects = np.random.default_rng(99).normal(size=(5, 400))
    y = sum(effects[f, X[:, f].astype(int)] for f in (1, 2, 4)) + 0.1 * rng.normal(size=n_rows)
    X[rng.random(X.shape) < 0.05] = np.nan
    return X, y


X, Y = make_data()
FEATURES = [1, 2, 4]


def fit(kind=GradientBoostingRegressor, y=Y, **params):
    params = {"categorical_encoding": LOOSE, "n_estimators": 15, "random_state": 0, **params}
    return kind(categorical_features=FEATURES, **params).fit(X, y)


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
def test_sets_tell_categories_apart_that_thresholds_cannot(growth):
    params = {"growth": growth, "n_estimators": 60}
    with_sets = fit(**params)
    without = GradientBoostingRegressor(random_state=0, **params).fit(X, Y)
    other, target = make_data(seed=1)
    assert with_sets.score(X, Y) > 0.75
    assert with_sets.score(other, target) > without.score(other, target)
    assert with_sets.feature_importances_[FEATURES].sum() > 0.9


@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
@pytest.mark.parametrize("sampled", [False, True])
def test_threads_do_not_change_the_model(growth, sampled, tmp_path, monkeypatch):
    monkeypatch.setattr("sumwise.estimators.input.jobs.count_cpus", lambda: 4)
    monkeypatch.setattr("sumwise.estimators.input.jobs.STEPS_PER_THREAD", 1)
    monkeypatch.setattr("sumwise.estimators.input.jobs.count_growers", lambda n_values: 99)
    params = {"growth": growth, "early_stopping": sampled}
    if sampled:
        params.update(sampler=Subsample(0.7), columns=Columns(by_node=0.6))
    files = set()
    for n_jobs in (1, 2, 4):
        fit(n_jobs=n_jobs, **params).save(tmp_path / "model")
        files.add((tmp_path / "model").read_bytes())
    assert len(files) == 1


@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
def test_all_ways_to_predict_agree(growth, tmp_path):
    model = fit(growth=growth)
    odd = X[:40].copy()
    odd[:20, FEATURES] = [[1e6, -1.0, 0.5]]
    odd[20:22, FEATURES] = [[np.inf, -np.inf, 2.0**31]]
    rows = np.concatenate([X, odd])
    predictions = model.predict(rows)
    few = [model.predict(rows[i : i + 2]) for i in range(0, len(rows), 2)]
    assert np.concatenate(few).tolist() == predictions.tolist()
    assert list(model.staged_predict(rows))[-1].tolist() == predictions.tolist()
    leaves = model.apply(rows)
    nodes = model.ensemble_.start[:-1] + leaves
    total = np.full(len(rows), model.ensemble_.base_score[0])
    for tree in range(leaves.shape[1]):
        total += model.ensemble_.value[nodes[:, tree]]
    assert total.tolist() == predictions.tolist()
    for kind in (np.float32, np.float16):
        exact = rows[:1500].astype(kind)
        assert model.predict(exact).tolist() == model.predict(exact.astype(float)).tolist()
    model.save(tmp_path / "model")
    for again in (sumwise.load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert again.predict(rows).tolist() == predictions.tolist()
    assert again.get_params()["categorical_features"] == FEATURES


def test_training_scores_are_the_predictions():
    """The walk on bins, the partition and the walk on values send rows the same way."""
    model = fit(sampler=Subsample(0.5), verbose=True, n_estimators=5)
    loss = np.mean((model.predict(X) - Y) ** 2) / 2
    assert model.history_["training_loss"][-1] == pytest.approx(loss, rel=1e-12)


def test_truncated_model():
    model = fit()
    staged = list(model.staged_predict(X))
    short = model.truncate(4)
    assert short.predict(X).tolist() == staged[3].tolist()
    assert short.ensemble_.set_node.size < model.ensemble_.set_node.size
    assert short.ensemble_.set_size.sum() == short.ensemble_.set_categories.size


def test_weights_count_as_rows_do():
    weight = np.random.default_rng(0).integers(0, 3, Y.size)
    repeated = GradientBoostingRegressor(
        categorical_features=FEATURES,
        categorical_encoding=Native(smoothing=0.0, min_rows=0),
        n_estimators=3,
        min_samples_leaf=1,
        min_child_weight=40.0,
    )
    weighted = clone(repeated).fit(X, Y, sample_weight=weight)
    repeated.fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    seen = X[weight > 0]
    np.testing.assert_allclose(weighted.predict(seen), repeated.predict(seen), atol=1e-3)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classes(n_classes):
    y = np.digitize(Y, np.quantile(Y, [0.3, 0.7][: n_classes - 1]))
    model = fit(GradientBoostingClassifier, y, n_estimators=30)
    assert model.score(X, y) > 0.8


def test_names_of_the_encoding():
    models = [fit(categorical_encoding=e, n_estimators=3) for e in ("native", Native())]
    assert len({model.predict(X).tobytes() for model in models}) == 1
    model = clone(models[1]).set_params(categorical_encoding__min_rows=7)
    assert model.categorical_encoding == Native(min_rows=7)


@pytest.mark.parametrize("value", [None, "target", 3, Native(l2=-1.0)])
def test_bad_encodings_are_refused(value):
    with pytest.raises(ParameterError, match=r"categorical_encoding|Native\(l2"):
        fit(categorical_encoding=value)


def test_100_000_categories():
    rng = np.random.default_rng(0)
    n_rows, n_categories = 200_000, 100_000
    codes = np.concatenate([np.arange(n_categories), rng.integers(0, n_categories, n_categories)])
    y = np.where(codes % 7 == 0, 1.0, 0.0) + 0.01 * rng.normal(size=n_rows)
    model = GradientBoostingRegressor(
        n_estimators=2,
        learning_rate=1.0,
        categorical_features=[0],
        categorical_encoding=Native(smoothing=0.0, l2=0.0, min_rows=0, max_categories=10**6),
    )
    model.fit(codes[:, None].astype(np.float64), y)
    assert model.score(codes[:, None].astype(np.float64), y) > 0.99
    model.set_params(categorical_encoding=Native()).fit(codes[:, None].astype(np.float64), y)
