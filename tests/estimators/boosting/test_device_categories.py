"""Categorical features on an emulated device: the models and predictions of the CPU."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.on_gpu.settings import dump
from sumwise import GradientBoostingClassifier, GradientBoostingRegressor, Native
from sumwise.data.device_reading import read_device_matrix
from sumwise.errors import DataError
from sumwise.estimators.boosting import fitted
from sumwise.kernels.runtime.threads import Team
from sumwise.tree.device_predictor import DevicePredictor
from tests.cuda.arrays import FakeArray

SETTINGS = {"n_estimators": 3, "max_leaves": 6, "min_samples_leaf": 3, "random_state": 0}
NATIVE = Native(smoothing=1.0, l2=0.1, min_rows=3, onehot_limit=3)


@pytest.fixture(autouse=True)
def _many_rows(monkeypatch, emulated):
    monkeypatch.setattr(fitted, "_FEW_ROWS", 10)


def draw_frame(n_rows=300, seed=0, unseen=False):
    """Return strings, categories, flags and numbers, some missing; and a target."""
    rng = np.random.default_rng(seed)
    town = rng.choice(60 + 9 * unseen, n_rows)
    color = rng.choice(["red", "green", "blue"] + ["violet"] * unseen, n_rows)
    X = pd.DataFrame(
        {
            "size": rng.normal(size=n_rows),
            "color": color.astype(object),
            "town": pd.Categorical([f"town {number:02d}" for number in town]),
            "is_new": pd.Series(rng.integers(0, 2, n_rows).astype(bool)),
        }
    )
    y = np.sin(3.0 * town) + (color == "red") + 0.5 * X["size"] + 0.1 * rng.normal(size=n_rows)
    X = X.mask(rng.random(X.shape) < [0.1, 0.05, 0.1, 0.0])
    X["town"] = X["town"].astype("category")
    return X, y.to_numpy()


def assert_same_model(model, X, y, *args, **options):
    """Fit on both, compare what is saved, and return the model of the device."""
    expected = dump(model.set_params(device="cpu").fit(X, y, *args, **options))
    model.set_params(device="cuda").fit(X, y, *args, **options)
    assert dump(model) == expected
    return model


def assert_same_predictions(model, X):
    expected = model.set_params(device="cpu").predict(X)
    assert model.set_params(device="cuda").predict(X).tobytes() == expected.tobytes()


def count_sets(model):
    return model.ensemble_.set_node.size


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
def test_frames_with_weights(growth):
    X, y = draw_frame()
    weight = np.random.default_rng(1).integers(0, 3, len(X)) * 0.5
    settings = SETTINGS | {"growth": growth, "categorical_encoding": NATIVE}
    model = assert_same_model(GradientBoostingRegressor(**settings), X, y, weight)
    assert count_sets(model) > 3


@pytest.mark.parametrize("encoding", ["auto", "native", "onehot", "greedy", "ordered"])
def test_encodings(encoding):
    X, y = draw_frame(seed=2)
    labels = np.digitize(y, [-0.3, 0.6])
    model = GradientBoostingClassifier(categorical_encoding=encoding, **SETTINGS)
    assert_same_model(model, X, labels)


@pytest.mark.parametrize(
    "params",
    [
        {"booster": "dart"},
        {"sampler": "subsample", "early_stopping": "oob"},
        {"growth": "symmetric", "early_stopping": True},
    ],
    ids=str,
)
def test_rows_that_a_tree_was_not_grown_on(params):
    X, y = draw_frame(seed=3)
    settings = SETTINGS | {"categorical_encoding": NATIVE} | params
    assert count_sets(assert_same_model(GradientBoostingRegressor(**settings), X, y)) > 3


def test_unseen_categories():
    X, y = draw_frame(seed=4)
    others, y_others = draw_frame(80, 5, unseen=True)
    model = GradientBoostingRegressor(categorical_encoding=NATIVE, **SETTINGS)
    assert_same_model(model, X, y, eval_set=[(others, y_others)])
    assert_same_predictions(model, others)


def test_many_categories_are_refused_or_encoded():
    rng = np.random.default_rng(6)
    X, y = rng.permutation(np.arange(900) % 300)[:, None].astype(float), rng.normal(size=900)
    settings = SETTINGS | {"categorical_features": [0], "device": "cuda"}
    model = GradientBoostingRegressor(categorical_encoding=NATIVE, **settings)
    with pytest.raises(DataError, match=r"feature 0 has more than 255 .* use device='cpu'"):
        model.fit(X, y)
    assert_same_model(model.set_params(categorical_encoding="greedy"), X, y)


def test_rare_categories_share_a_bin():
    """300 categories, of which few are frequent enough for a bin; prediction knows them all."""
    rng = np.random.default_rng(7)
    code = np.minimum(rng.geometric(0.04, 900), 290) * 7 % 300
    X = np.stack([code, rng.normal(size=900)], axis=1).astype(float)
    X[rng.random(900) < 0.1, 0] = np.nan
    y = np.cos(code * 1.0)
    native = Native(smoothing=5.0, min_rows=3, l2=0.1)
    settings = SETTINGS | {"categorical_features": [0], "categorical_encoding": native}
    model = assert_same_model(GradientBoostingRegressor(**settings), X, y)
    assert count_sets(model) > 3
    odd = np.array([299.0, 3.0, 298.0, -1.0, 1.5, 300.0, 1e9, np.inf, -np.inf, np.nan])
    rows = np.concatenate([X[:290], np.stack([odd, np.zeros(10)], axis=1)])
    assert_same_predictions(model, rows)


def test_codes_on_a_device(device):
    """Sets of many categories: what trees are asked where rows are codes already."""
    rng = np.random.default_rng(8)
    codes = rng.integers(0, 300, (2000, 1)).astype(float)
    native = Native(smoothing=1.0, min_rows=3, max_categories=150)
    settings = SETTINGS | {"categorical_features": [0], "categorical_encoding": native}
    ensemble = GradientBoostingRegressor(**settings).fit(codes, np.cos(codes[:, 0])).ensemble_
    assert ensemble.set_size.max() > 100
    odd = [[299.0], [-1.0], [1.5], [300.0], [1e9], [np.inf], [-np.inf], [np.nan]]
    rows, team = np.concatenate([codes[:300], odd]), Team(1)
    predictor = DevicePredictor(device, ensemble, ensemble.output, ensemble.code_columns)
    raw = device.upload(np.tile(ensemble.base_score, (len(rows), 1)))
    predictor.add_values(read_device_matrix(FakeArray(rows)), raw, team)
    assert raw.to_host().tobytes() == ensemble.predict_raw(rows, team).tobytes()
