"""Presets: they are legal, and stand for what the rivals do by default."""

import lightgbm
import numpy as np
import pytest
import xgboost

from sumwise import GradientBoostingClassifier, GradientBoostingRegressor, presets

STYLES = {name: getattr(presets, name) for name in ("XGBOOST", "LIGHTGBM", "CATBOOST")}
RNG = np.random.default_rng(0)
X = RNG.integers(0, 50, size=(400, 5)).astype(float)
Y = 0.1 * X[:, 0] + np.sin(0.2 * X[:, 1]) + 0.1 * RNG.normal(size=400)


@pytest.mark.parametrize("name", STYLES)
@pytest.mark.parametrize("kind", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_estimators_take_them(kind, name):
    model = kind(**{**STYLES[name], "n_estimators": 10})
    y = np.median(Y) < Y if kind is GradientBoostingClassifier else Y
    assert model.fit(X, y).n_trees_ == 10
    params = model.get_params()
    assert all(params[key] == value for key, value in STYLES[name].items() if key != "n_estimators")


def test_they_cannot_be_changed_by_accident():
    with pytest.raises(TypeError):
        presets.XGBOOST["max_depth"] = 3


def test_xgboost_style_is_that_of_xgboost():
    rival = xgboost.XGBRegressor(tree_method="exact", n_jobs=1).fit(X, Y)
    ours = GradientBoostingRegressor(**presets.XGBOOST).fit(X, Y)
    assert np.corrcoef(ours.predict(X), rival.predict(X))[0, 1] > 0.999


def test_lightgbm_style_is_that_of_lightgbm():
    rival = lightgbm.LGBMRegressor(verbosity=-1, n_jobs=1).fit(X, Y)
    ours = GradientBoostingRegressor(**presets.LIGHTGBM).fit(X, Y)
    assert np.corrcoef(ours.predict(X), rival.predict(X))[0, 1] > 0.999


@pytest.mark.parametrize("share", [0.99, 1.01])
def test_gains_are_halved(share):
    params = {"max_depth": 1, "learning_rate": 1.0, "n_estimators": 1}
    rival = xgboost.XGBRegressor(base_score=0.0, tree_method="exact", **params)
    (gain,) = rival.fit(X, Y).get_booster().get_score(importance_type="gain").values()
    rival.set_params(gamma=share * gain).fit(X, Y)
    style = {**presets.XGBOOST, **params, "min_gain": presets.convert_min_gain(share * gain)}
    ours = GradientBoostingRegressor(**style).fit(X, Y, init_score=np.zeros(len(Y)))
    n_leaves = 2 if share < 1 else 1
    assert np.unique(rival.apply(X)).size == np.unique(ours.apply(X)).size == n_leaves
