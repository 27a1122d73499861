"""Fits on arrays in the memory of a GPU give the models of the CPU."""

import numpy as np
import pytest

from benchmarks.on_gpu.settings import dump
from sumwise import GradientBoostingClassifier, GradientBoostingRegressor
from sumwise.errors import DataError, ParameterError
from sumwise.estimators.boosting import measured_rounds
from tests.cuda.arrays import FakeArray, FakeFrame, FakeSeries, FakeTensor

SETTINGS = {"n_estimators": 3, "max_leaves": 4, "max_bins": 16, "random_state": 0}


pytestmark = pytest.mark.usefixtures("emulated")


def draw_rows(n_rows=250, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    X[:, 2] = rng.integers(0, 5, n_rows)
    return X, np.nan_to_num(X[:, 0]) + X[:, 2] ** 2


def assert_same_model(found, expected):
    assert dump(found) == dump(expected)


@pytest.mark.parametrize("like", [FakeArray, FakeTensor])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
def test_arrays(like, dtype):
    X, y = draw_rows()
    X = np.nan_to_num(X).astype(dtype) if dtype == np.int16 else X.astype(dtype)
    weight = np.random.default_rng(1).integers(0, 3, len(X)) * 1.0
    expected = GradientBoostingRegressor(**SETTINGS).fit(X, y, weight)
    model = GradientBoostingRegressor(device="cuda", **SETTINGS)
    model.fit(like(X), FakeArray(y), FakeArray(weight))
    assert_same_model(model, expected)


@pytest.mark.parametrize("kind", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_defaults(kind, monkeypatch):
    """A GPU measures the same rounds, and has statistics of the target."""
    monkeypatch.setattr(measured_rounds, "_PATIENCE", 2)
    monkeypatch.setattr(measured_rounds, "_FEWEST", 3)
    X, _ = draw_rows(120)
    y = np.random.default_rng(2).permutation(np.arange(120) % 2)
    settings = {"max_bins": 16, "categorical_features": [2]}
    expected = kind(**settings).fit(X, y)
    model = kind(device="cuda", **settings).fit(X, y)
    assert model.resolved_params_ == expected.resolved_params_
    assert model.n_estimators_ < 40
    assert_same_model(model, expected)


def test_validation_sets_and_held_out_rows():
    X, y = draw_rows()
    sets = [draw_rows(60, seed) for seed in (1, 2)]
    labels, options = y > 4, {"early_stopping": True, **SETTINGS}
    expected = GradientBoostingClassifier(**options).fit(X, labels)
    model = GradientBoostingClassifier(device="cuda", **options).fit(FakeArray(X), labels)
    assert_same_model(model, expected)
    expected.fit(X, labels, eval_set=[(own, target > 4) for own, target in sets])
    of_device = [(FakeArray(sets[0][0]), sets[0][1] > 4), (sets[1][0], sets[1][1] > 4)]
    model.set_params(device="cuda").fit(FakeArray(X), labels, eval_set=of_device)
    assert_same_model(model, expected)


def test_continued_training():
    X, y = draw_rows()
    first = GradientBoostingRegressor(**SETTINGS | {"n_estimators": 1}).fit(X, y)
    expected = GradientBoostingRegressor(**SETTINGS).fit(X, y, init_model=first)
    model = GradientBoostingRegressor(device="cuda", **SETTINGS)
    model.fit(FakeArray(X), y, init_model=first)
    assert_same_model(model, expected)


def test_scorers_and_calibration():
    X, y = draw_rows()
    options = {"scoring": "roc_auc", "early_stopping": True, "calibrate": "isotonic", **SETTINGS}
    expected = GradientBoostingClassifier(**options).fit(X, y > 4)
    model = GradientBoostingClassifier(device="cuda", **options).fit(FakeArray(X), y > 4)
    assert_same_model(model, expected)


def test_scores_of_rows_on_a_gpu():
    X, y = draw_rows()
    model = GradientBoostingRegressor(**SETTINGS).fit(X, y)
    assert model.score(FakeArray(X), FakeArray(y)) == model.score(X, y)
    classifier = GradientBoostingClassifier(**SETTINGS).fit(X, y > 4)
    score = classifier.score(X, y > 4)
    assert classifier.score(FakeArray(X), FakeArray(y > 4)) == score


def test_frames_of_cudf():
    pandas = pytest.importorskip("pandas")
    X, y = draw_rows()
    frame = pandas.DataFrame(X, columns=list("abc")).astype({"c": "int32"})
    is_known = ~np.isnan(X)
    columns = {
        name: FakeSeries(np.nan_to_num(X[:, f]).astype(kind), is_known[:, f])
        for f, (name, kind) in enumerate(zip("abc", ("f8", "f8", "i4"), strict=True))
    }
    expected = GradientBoostingRegressor(**SETTINGS).fit(frame, y)
    model = GradientBoostingRegressor(device="cuda", **SETTINGS).fit(FakeFrame(columns), y)
    assert model.feature_names_in_.tolist() == list("abc")
    assert_same_model(model, expected)


def test_what_is_refused():
    X, y = draw_rows()
    model = GradientBoostingRegressor(device="cuda", categorical_features=[2])
    with pytest.raises(DataError, match=r"categorical_features=\[2\]"):
        model.fit(FakeArray(X), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        GradientBoostingRegressor(device="cuda").fit(FakeArray(X), y[:-1])
    with pytest.raises(ParameterError, match="max_bins=300"):
        GradientBoostingRegressor(device="cuda", max_bins=300).fit(FakeArray(X), y)
