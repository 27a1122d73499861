"""Estimators explain on a device what they explain on the CPU."""

import numpy as np
import pytest

from sumwise import (
    AveragingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    LinearLeaves,
)
from sumwise.cuda.runtime import choosing
from sumwise.errors import DeviceError, ExplanationError, ParameterError
from sumwise.inspection import device_shap
from tests.cuda.arrays import FakeArray
from tests.estimators.boosting.test_device_scores import draw_rows


@pytest.fixture(autouse=True)
def _many_rows(monkeypatch, emulated):
    monkeypatch.setattr(device_shap, "_FEW_ROWS", 0)


def assert_equal(found, expected):
    for name in ("values", "base_values", "interactions"):
        own, right = getattr(found, name), getattr(expected, name)
        assert (own is None) == (right is None)
        assert own is None or (type(own) is np.ndarray and np.array_equal(own, right))
    assert np.array_equal(found.data, expected.data, equal_nan=True)
    assert found.feature_names == expected.feature_names
    assert found.output_names == expected.output_names


def check(model, X, **options):
    """Compare explanations of the CPU, of a device, and of rows on a device."""
    expected = model.set_params(device="cpu").explain(X, **options)
    assert_equal(model.set_params(device="cuda").explain(X, **options), expected)
    assert_equal(model.explain(FakeArray(X), **options), expected)
    assert_equal(model.set_params(device="cpu").explain(FakeArray(X), **options), expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_classifiers(n_classes):
    X, y = draw_rows()
    y = np.digitize(y, [0.0, 1.0][: n_classes - 1])
    model = GradientBoostingClassifier(n_estimators=5, max_leaves=16).fit(X, y)
    check(model, X)
    check(model, X[:10], rounds=2)
    check(model, X[:40], interactions=True)


@pytest.mark.parametrize("growth", ["depth", "symmetric"])
def test_regressors(growth):
    X, y = draw_rows()
    model = GradientBoostingRegressor(
        n_estimators=5, growth=growth, max_depth=6, max_leaves=None, min_samples_leaf=2
    )
    check(model.fit(X, y), X)


def test_encoded_categories():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 8, 300), rng.normal(size=300)]).astype(np.float64)
    y = np.isin(X[:, 0], [1, 4, 6]) + X[:, 1]
    model = GradientBoostingRegressor(
        n_estimators=3, categorical_features=[0], categorical_encoding="ordered", random_state=0
    ).fit(X, y)
    expected = model.explain(X)
    assert_equal(model.set_params(device="cuda").explain(X), expected)


def test_members_of_an_ensemble():
    X, y = draw_rows()
    members = [(name, GradientBoostingRegressor(n_estimators=2, max_leaves=5)) for name in "ab"]
    model = AveragingRegressor(members).fit(X, y)
    expected = model.explain(X)
    for member in model.estimators_:
        member.set_params(device="cuda")
    assert_equal(model.explain(X), expected)


def test_what_is_refused():
    X, y = draw_rows()
    model = GradientBoostingRegressor(n_estimators=2).fit(X, y).set_params(device="cuda")
    with pytest.raises(DeviceError, match=r"background.*device='cpu'"):
        model.explain(X, background=X[:5])
    with pytest.raises(ParameterError, match="device must be"):
        model.set_params(device="gpu").explain(X)
    linear = GradientBoostingRegressor(n_estimators=2, booster="linear").fit(X, y)
    with pytest.raises(DeviceError, match=r"linear models.*device='cpu'"):
        linear.set_params(device="cuda").explain(X)
    leaves = GradientBoostingRegressor(n_estimators=2, leaves=LinearLeaves()).fit(X, y)
    with pytest.raises(ExplanationError, match="linear models"):
        leaves.set_params(device="cuda").explain(X)


def test_few_rows_of_the_host_need_no_device(monkeypatch):
    X, y = draw_rows()
    model = GradientBoostingRegressor(n_estimators=2).fit(X, y)
    expected = model.explain(X), model.explain(X[:20], interactions=True)
    monkeypatch.undo()
    assert X.shape[0] <= device_shap._FEW_ROWS
    monkeypatch.setattr(choosing, "device_maker", lambda number: 1 / 0)
    model.set_params(device="cuda")
    assert_equal(model.explain(X), expected[0])
    assert_equal(model.explain(X[:20], interactions=True), expected[1])
    with pytest.raises(ZeroDivisionError):
        model.explain(np.tile(X, (4, 1)))
