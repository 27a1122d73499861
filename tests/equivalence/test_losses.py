"""Losses that rivals have: the same trees where their hessians agree, as low losses elsewhere."""

import catboost
import lightgbm
import numpy as np
import pytest
import xgboost

from sumwise import Fair, GradientBoostingRegressor, Quantile
from sumwise.kernels.runtime.threads import Team
from sumwise.losses import Percentage, SquaredLog
from tests.equivalence.test_lightgbm import collect_rival_nodes, train_rival
from tests.equivalence.trees import collect_our_nodes, make_table


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("with_missing", [False, True])
def test_relative_errors_grow_the_tree_of_lightgbm(seed, with_missing):
    X, y, _, _ = make_table(seed, with_missing)
    # Scores that differ from row to row, and from the targets.
    init_score = np.random.default_rng(seed).normal(size=80) * 5000
    params = {"max_leaves": 8, "min_samples_leaf": 3, "min_child_weight": 0.0, "l2": 0.0}
    params["learning_rate"] = 0.5
    rival = train_rival(X, y, "mape", params, init_score)
    model = GradientBoostingRegressor(loss="mape", n_estimators=1, **params)
    model.fit(X, y, init_score=init_score)
    nodes = collect_our_nodes(X, model)
    assert len(nodes) == 15
    assert nodes == collect_rival_nodes(X, rival)
    # Leaves are weighted medians of residuals; the rival may interpolate between two of them.
    ours, theirs = model.predict(X), rival.predict(X, raw_score=True)
    residual = 0.5 * (y - init_score)
    leaf = model.apply(X)[:, 0]
    for node in np.unique(leaf):
        own = np.sort(residual[leaf == node])
        step = np.diff(own).max()
        assert abs(ours[leaf == node][0] - theirs[leaf == node][0]) <= step


def test_relative_errors_have_the_gradient_of_lightgbm():
    y, raw = np.array([0.0, 0.5, -4.0, 100.0]), np.array([[1.0, 0.0, -4.0, 150.0]])
    gradient, hessian = np.empty((1, 4)), np.empty((1, 4))
    with Team(1) as team:
        Percentage().gradient(team, y, raw, np.empty(0), gradient, hessian)
    assert gradient.tolist() == [[1.0, -1.0, 0.0, 0.01]]  # weights 1 / max(1, |y|)
    assert hessian.tolist() == [[1.0] * 4]


@pytest.mark.parametrize("y", [0.3, 1.5, 5.0])
def test_squared_logarithms_have_the_gradient_of_xgboost(y):
    start = 2.0
    data = xgboost.DMatrix(np.zeros((1, 1)), [y])
    params = {"objective": "reg:squaredlogerror", "base_score": start, "lambda": 0.0, "eta": 1.0}
    booster = xgboost.train({**params, "min_child_weight": 0.0}, data, num_boost_round=1)
    step = booster.predict(data, output_margin=True)[0] - start
    gradient, hessian = np.empty((1, 1)), np.empty((1, 1))
    raw = np.full((1, 1), np.log1p(start))
    with Team(1) as team:
        SquaredLog().gradient(team, np.array([y]), raw, np.empty(0), gradient, hessian)
    # In the rival's scores p = e^f - 1 both derivatives follow from ours by the chain rule.
    first = gradient[0, 0] / (1 + start)
    second = (hessian[0, 0] - gradient[0, 0]) / (1 + start) ** 2
    assert step == pytest.approx(-first / second, rel=1e-5)


def draw(n_rows, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 5))
    signal = np.exp(1 + 0.7 * X[:, 0] + np.sin(2 * X[:, 1]) - 0.3 * X[:, 2] * X[:, 3])
    return X, signal * rng.lognormal(sigma=0.4, size=n_rows) + 0.2 * rng.standard_t(2, n_rows)


TRAIN, TEST = draw(4000, 0), draw(4000, 1)
SHARED = {"n_estimators": 80, "learning_rate": 0.1}


def boost_lightgbm(**params):
    return lightgbm.LGBMRegressor(**SHARED, reg_lambda=1.0, n_jobs=1, verbosity=-1, **params)


def boost_catboost(loss):
    return catboost.CatBoostRegressor(
        **SHARED, loss_function=loss, thread_count=1, verbose=0, allow_writing_files=False
    )


def relative(y, p):
    return np.mean(np.abs(y - p) / np.maximum(1, np.abs(y)))


def log_cosh(y, p):
    return np.mean(np.logaddexp(y - p, p - y))


def fair(y, p):
    error = np.abs(y - p) / 0.5
    return np.mean(error - np.log1p(error))


@pytest.mark.parametrize(
    ("loss", "growth", "rival", "measure"),
    [
        ("mape", "leaf", boost_lightgbm(objective="mape"), relative),
        ("mape", "symmetric", boost_catboost("MAPE"), relative),
        ("log_cosh", "symmetric", boost_catboost("LogCosh"), log_cosh),
        (Fair(0.5), "leaf", boost_lightgbm(objective="fair", fair_c=0.5), fair),
    ],
    ids=["mape", "mape_catboost", "log_cosh", "fair"],
)
def test_held_out_losses_are_as_low(loss, growth, rival, measure):
    model = GradientBoostingRegressor(loss=loss, growth=growth, **SHARED)
    found, theirs = (measure(TEST[1], each.fit(*TRAIN).predict(TEST[0])) for each in (model, rival))
    assert found < 1.02 * theirs


def test_held_out_squared_logarithms_are_as_low():
    y, y_test = np.maximum(TRAIN[1], 0), np.maximum(TEST[1], 0)
    rival = xgboost.XGBRegressor(**SHARED, objective="reg:squaredlogerror", n_jobs=1)
    model = GradientBoostingRegressor(loss="rmsle", **SHARED)
    found, theirs = (
        np.mean((np.log1p(each.fit(TRAIN[0], y).predict(TEST[0])) - np.log1p(y_test)) ** 2)
        for each in (model, rival)
    )
    assert found < 1.02 * theirs


def test_several_quantiles_are_as_good_as_those_of_xgboost():
    levels = [0.1, 0.5, 0.9]
    rival = xgboost.XGBRegressor(
        **SHARED, objective="reg:quantileerror", quantile_alpha=levels, n_jobs=1
    )
    model = GradientBoostingRegressor(loss=Quantile(levels), **SHARED)
    level, losses = np.array(levels), []
    for each in (model, rival):
        error = TEST[1][:, None] - each.fit(*TRAIN).predict(TEST[0])
        losses.append(np.maximum(level * error, (level - 1) * error).mean())
    assert losses[0] < 1.02 * losses[1]
