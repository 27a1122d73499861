"""Estimators predict on a device what they predict on the CPU, where the rows are."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from sumwise import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearLeaves,
    from_sklearn,
)
from sumwise.data.on_device import fetch, is_on_device
from sumwise.errors import DataError, DeviceError
from sumwise.estimators.boosting import fitted
from sumwise.tree.device_ensemble import DeviceEnsemble
from tests.cuda.arrays import FakeArray, FakeFrame, FakeSeries

N_ROWS = 300


@pytest.fixture(autouse=True)
def _many_rows(monkeypatch, emulated):
    monkeypatch.setattr(fitted, "_FEW_ROWS", 100)


def draw_rows(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N_ROWS, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1]) ** 2


def check(model, X, *methods):
    """Compare what a model predicts on the CPU, on a device, and for rows on a device."""
    for method in methods:
        expected = getattr(model.set_params(device="cpu"), method)(X)
        on_device = getattr(model.set_params(device="cuda"), method)(X)
        assert type(on_device) is np.ndarray
        assert on_device.dtype == expected.dtype
        assert np.array_equal(on_device, expected)
        for device in ("cpu", "cuda"):
            given = getattr(model.set_params(device=device), method)(FakeArray(X))
            assert is_on_device(given) or expected.dtype.kind == "U" or type(given) is np.ndarray
            assert np.array_equal(fetch(given), expected)


ALL = ("decision_function", "predict_proba", "predict", "apply")


@pytest.mark.parametrize("classes", [[0, 1], [0, 1, 2], ["a", "b", "c"], [3.0, 7.0]])
def test_classifiers(classes):
    X, y = draw_rows()
    labels = np.array(classes)[np.digitize(y, [0.0, 1.0][: len(classes) - 1])]
    check(GradientBoostingClassifier(n_estimators=5).fit(X, labels), X, *ALL)


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_regressors(loss):
    X, y = draw_rows()
    check(GradientBoostingRegressor(n_estimators=5, loss=loss).fit(X, y - y.min()), X, "predict")


def test_rounds_and_calibration():
    X, y = draw_rows()
    model = GradientBoostingClassifier(n_estimators=5, calibrate="isotonic", random_state=0)
    model.fit(X, y > 0)
    check(model, X, *ALL)
    expected = model.set_params(device="cpu").predict_proba(X, rounds=2)
    assert np.array_equal(model.set_params(device="cuda").predict_proba(X, rounds=2), expected)
    assert np.array_equal(fetch(model.predict_proba(FakeArray(X), rounds=2)), expected)


def test_single_class_and_stages():
    X, y = draw_rows()
    check(GradientBoostingClassifier(n_estimators=2).fit(X, np.zeros(N_ROWS)), X, *ALL)
    model = GradientBoostingRegressor(n_estimators=3).fit(X, y)
    for own, expected in zip(
        model.staged_predict(FakeArray(X)), model.staged_predict(X), strict=True
    ):
        assert np.array_equal(own, expected)


def test_models_of_other_libraries():
    X, y = draw_rows()
    X = np.nan_to_num(X)
    for forest in (RandomForestRegressor, RandomForestClassifier):
        labels = y if forest is RandomForestRegressor else np.digitize(y, [0.0, 1.0])
        model = from_sklearn(forest(n_estimators=3, max_depth=4, random_state=0).fit(X, labels))
        for method in {"predict", "predict_proba"} & set(dir(model)):
            expected = getattr(model, method)(X)
            assert np.array_equal(fetch(getattr(model, method)(FakeArray(X))), expected)


def test_explanations_are_in_the_memory_of_the_host():
    X, y = draw_rows()
    model = GradientBoostingRegressor(n_estimators=3).fit(X, y)
    found, expected = model.explain(FakeArray(X)), model.explain(X)
    assert np.array_equal(found.values, expected.values)
    assert np.array_equal(found.data, expected.data, equal_nan=True)


def test_frames_are_checked_by_name():
    pandas = pytest.importorskip("pandas")
    X, y = draw_rows()
    names = list("abcd")
    model = GradientBoostingRegressor(n_estimators=3).fit(pandas.DataFrame(X, columns=names), y)
    columns = {name: FakeSeries(X[:, f].copy()) for f, name in enumerate(names)}
    expected = model.predict(pandas.DataFrame(X, columns=names))
    assert np.array_equal(fetch(model.predict(FakeFrame(columns))), expected)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(FakeFrame({name: columns[name] for name in "bacd"}))


def test_trees_stay_on_the_device_and_do_not_travel_with_the_model():
    X, y = draw_rows()
    model = GradientBoostingRegressor(n_estimators=3, device="cpu").fit(X, y)
    size = len(pickle.dumps(model))
    first = model.set_params(device="cuda").predict(X)
    kept = DeviceEnsemble.of(model.ensemble_, 0)
    n_free = kept.device.count_free()
    assert np.array_equal(model.predict(X), first)
    assert DeviceEnsemble.of(model.ensemble_, 0) is kept
    assert kept.device.count_free() == n_free
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(DeviceEnsemble.of, model.ensemble_, 0).result()
    assert other is not kept
    assert abs(len(pickle.dumps(model)) - size) < 10
    assert np.array_equal(pickle.loads(pickle.dumps(model)).predict(X), first)


def test_what_is_refused():
    X, y = draw_rows()
    model = GradientBoostingRegressor(n_estimators=2)
    with pytest.raises(DataError, match="use device='cuda'"):
        model.fit(FakeArray(X), y)
    model.fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features, but"):
        model.predict(FakeArray(X[:, :3].copy()))
    with pytest.raises(DataError, match="0 sample"):
        model.predict(FakeArray(X[:0]))
    model = GradientBoostingRegressor(n_estimators=2, leaves=LinearLeaves()).fit(X, y)
    with pytest.raises(DeviceError, match="constant leaves"):
        model.set_params(device="cuda").predict(X)
    with pytest.raises(DataError, match="memory of the host"):
        model.predict(FakeArray(X))
