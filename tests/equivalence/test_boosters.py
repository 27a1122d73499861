"""DART, parallel trees and the linear booster, against XGBoost's and LightGBM's."""

import lightgbm
import numpy as np
import pytest
import xgboost

from sumwise import Dart, GradientBoostingClassifier, GradientBoostingRegressor, Linear, Plain
from tests.equivalence.trees import make_table

DEPTH = {"max_depth": 3, "min_child_weight": 0.0, "l2": 1.0}
LEAVES = {"max_leaves": 6, "min_child_weight": 0.0, "l2": 0.0}


def predict_xgboost(X, y, params, n_rounds):
    data = xgboost.DMatrix(X, y)
    fixed = {"base_score": 0.0, "nthread": 1, "tree_method": "exact", "verbosity": 0}
    model = xgboost.train({**fixed, **params}, data, n_rounds)
    return model.predict(data, output_margin=True)


def fit_dart(X, y, booster, learning_rate, params, **kind):
    model = GradientBoostingRegressor(
        booster=booster,
        learning_rate=learning_rate,
        min_samples_leaf=1,
        n_estimators=5,
        **kind,
        **params,
    )
    return model.fit(X, y, init_score=np.zeros(len(y)))


# Everything is dropped in each round, or nothing: no two libraries draw the same numbers.
DROPS = {"everything": 0.0, "nothing": 1.0}


@pytest.mark.parametrize("drops", DROPS)
@pytest.mark.parametrize("normalize", ["tree", "forest"])
@pytest.mark.parametrize("learning_rate", [1.0, 0.3])
@pytest.mark.parametrize("with_missing", [False, True])
def test_dart_of_xgboost(with_missing, learning_rate, normalize, drops):
    X, y, _, _ = make_table(1, with_missing)
    rival = predict_xgboost(
        X,
        y,
        {
            "booster": "dart",
            "objective": "reg:squarederror",
            "rate_drop": 1.0,
            "skip_drop": DROPS[drops],
            "normalize_type": normalize,
            "learning_rate": learning_rate,
            "max_depth": 3,
            "min_child_weight": 0.0,
            "reg_lambda": 1.0,
        },
        5,
    )
    booster = Dart(1.0, max_drop=None, skip_drop=DROPS[drops], normalize=normalize)
    model = fit_dart(X, y, booster, learning_rate, DEPTH, growth="depth")
    np.testing.assert_allclose(model.predict(X), rival, rtol=1e-4, atol=1.0)


@pytest.mark.parametrize("drops", DROPS)
@pytest.mark.parametrize("learning_rate", [1.0, 0.3])
def test_dart_of_lightgbm(learning_rate, drops):
    X, y, _, _ = make_table(2, with_missing=False)
    rival = lightgbm.train(
        {
            "boosting": "dart",
            "objective": "regression",
            "boost_from_average": False,
            "min_data_in_bin": 1,
            "min_data_in_leaf": 1,
            "min_sum_hessian_in_leaf": 0.0,
            "num_leaves": 6,
            "drop_rate": 1.0,
            "max_drop": -1,
            "skip_drop": DROPS[drops],
            "uniform_drop": True,
            "xgboost_dart_mode": True,
            "learning_rate": learning_rate,
            "num_threads": 1,
            "verbosity": -1,
        },
        lightgbm.Dataset(X, y),
        5,
    )
    booster = Dart(1.0, max_drop=None, skip_drop=DROPS[drops])
    model = fit_dart(X, y, booster, learning_rate, LEAVES)
    np.testing.assert_allclose(model.predict(X), rival.predict(X), rtol=1e-4, atol=1.0)


def test_nothing_dropped_is_plain_boosting(tmp_path):
    X, y, _, _ = make_table(3, with_missing=True)
    models = [fit_dart(X, y, b, 0.3, LEAVES) for b in (Dart(1.0, skip_drop=1.0), "plain")]
    assert np.array_equal(models[0].predict(X), models[1].predict(X))


def test_parallel_trees_of_xgboost():
    X, y, _, _ = make_table(4, with_missing=True)
    params = {"objective": "reg:squarederror", "num_parallel_tree": 3, "learning_rate": 0.5}
    rival = predict_xgboost(
        X, y, {**params, "max_depth": 3, "min_child_weight": 0.0, "reg_lambda": 1.0}, 5
    )
    model = fit_dart(X, y, Plain(trees_per_round=3), 0.5, DEPTH, growth="depth")
    assert model.n_trees_ == 15
    np.testing.assert_allclose(model.predict(X), rival, rtol=1e-4, atol=1.0)


# The linear booster


def make_numbers(seed, with_missing):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(200, 5))
    y = X @ [1.0, -2.0, 0.0, 0.5, 0.0] + 0.3 * rng.normal(size=200) + 1.0
    if with_missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


def predict_gblinear(X, y, objective, booster, learning_rate, n_rounds, **more):
    params = {
        "booster": "gblinear",
        "updater": "coord_descent",
        "feature_selector": "cyclic",
        "objective": objective,
        "reg_alpha": booster.l1,
        "reg_lambda": booster.l2,
        "learning_rate": learning_rate,
        "base_score": 0.5 if objective == "binary:logistic" else 0.0,
        "nthread": 1,
        "verbosity": 0,
        **more,
    }
    data = xgboost.DMatrix(X, y)
    return xgboost.train(params, data, n_rounds).predict(data, output_margin=True)


PENALTIES = [Linear(), Linear(l1=0.1), Linear(l2=0.2), Linear(l1=0.2, l2=0.1)]


@pytest.mark.parametrize("booster", PENALTIES, ids=repr)
@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize("n_rounds", [1, 20])
def test_linear_regression(n_rounds, with_missing, booster):
    X, y = make_numbers(0, with_missing)
    rival = predict_gblinear(X, y, "reg:squarederror", booster, 0.5, n_rounds)
    model = GradientBoostingRegressor(booster=booster, learning_rate=0.5, n_estimators=n_rounds)
    model.fit(X, y, init_score=np.zeros(len(y)))
    np.testing.assert_allclose(model.predict(X), rival, rtol=1e-4, atol=1e-4)
    if booster.l1 and n_rounds > 1:
        assert np.count_nonzero(model.coef_) < 5


@pytest.mark.parametrize("booster", PENALTIES, ids=repr)
def test_linear_classification(booster):
    X, y = make_numbers(1, with_missing=True)
    labels = (y > 0.5).astype(int)
    rival = predict_gblinear(X, labels, "binary:logistic", booster, 0.5, 10)
    model = GradientBoostingClassifier(booster=booster, learning_rate=0.5, n_estimators=10)
    model.fit(X, labels, init_score=np.zeros(len(y)))
    np.testing.assert_allclose(model.decision_function(X), rival, rtol=1e-3, atol=1e-4)


def test_linear_counts():
    X, y = make_numbers(2, with_missing=False)
    counts = np.random.default_rng(0).poisson(np.exp(0.3 * y))
    more = {"base_score": 1.0, "max_delta_step": 0.0}
    booster = Linear(l2=0.01)
    rival = predict_gblinear(X, counts, "count:poisson", booster, 0.3, 30, **more)
    model = GradientBoostingRegressor(
        loss="poisson", booster=booster, learning_rate=0.3, n_estimators=30
    ).fit(X, counts)
    # Both are near the optimum: XGBoost's hessian has a factor e^max_delta_step.
    np.testing.assert_allclose(model._predict_raw(X)[:, 0], rival, atol=0.02)
