"""XGBoost loads our JSON, and predicts what the model predicts, in single precision."""

import numpy as np
import pytest
import xgboost
from hypothesis import example, given
from hypothesis import strategies as st

import sumwise
from sumwise.errors import ExportError
from sumwise.export import to_xgboost
from sumwise.export.libraries.xgboost_json import round_threshold
from sumwise.export.portable import Input, PortableModel, describe
from tests.export.fitted_models import predict_outputs
from tests.export.libraries.library_models import (
    HELD,
    OPTIONS,
    check_refused,
    check_statistics_refused,
    drop_first_of_two,
    encode_rows,
    encode_table,
    fit,
)
from tests.export.random_models import NUMBERS, make_model, make_rows, make_trees
from tests.naive.portable import predict_row

CLOSE = {"rtol": 2e-6, "atol": 2e-6}


def load(model):
    booster = xgboost.Booster()
    booster.load_model(bytearray(to_xgboost(model), "utf-8"))
    return booster


def make_matrix(booster, X):
    return xgboost.DMatrix(
        X,
        feature_names=booster.feature_names,
        feature_types=booster.feature_types,
        enable_categorical=True,
    )


def to_single(value):
    """Return a number as XGBoost can read it: float32, and finite."""
    if not isinstance(value, float):
        return value
    with np.errstate(over="ignore", under="ignore"):
        single = float(np.float32(value))
    return 1.5 if np.isinf(single) else single


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("options", OPTIONS)
def test_random_trees(options, seed):
    model = make_model(np.random.default_rng(seed), **options)
    unknown = np.nan if seed % 2 else 99.0
    rows = [list(map(to_single, row)) for row in make_rows(model, 50, seed)]
    booster = load(model)
    found = booster.predict(make_matrix(booster, encode_rows(model, rows, unknown))).reshape(
        len(rows), -1
    )
    np.testing.assert_allclose(found, [predict_row(model, row) for row in rows], **CLOSE)


@given(st.floats(allow_nan=False), st.floats(width=32, allow_nan=False))
@example(0.1, float(np.float32(0.1)))
@example(0.0, 0.0)
@example(-5e-324, 0.0)
@example(5e-324, 0.0)
@example(np.inf, float(np.finfo(np.float32).max))
@example(-np.inf, float(np.finfo(np.float32).min))
@example(1e300, float(np.finfo(np.float32).max))
def test_every_float32_takes_the_same_branch(threshold, x):
    near = np.float32(x)
    rounded = round_threshold(np.array([threshold]))[0]
    with np.errstate(over="ignore"):
        above = np.nextafter(near, np.float32(np.inf))
    for value in (near, above, rounded):
        if np.isfinite(value):  # XGBoost refuses others
            assert (value < rounded) == (float(value) <= threshold)


@pytest.mark.parametrize(
    ("link", "n_outputs"),
    [
        ("log", 1),
        ("log", 2),
        ("sigmoid", 1),
        ("sigmoid", 2),
        ("logistic", 1),
        ("half_logistic", 1),
        ("softmax", 2),
        ("softmax", 3),
    ],
)
def test_links(link, n_outputs):
    model = make_model(
        np.random.default_rng(0), link, n_outputs=n_outputs, n_trees=6, inputs=NUMBERS
    )
    rows = [list(map(to_single, r)) for r in make_rows(model)]
    booster = load(model)
    found = booster.predict(make_matrix(booster, np.array(rows))).reshape(len(rows), -1)
    expected = np.array([predict_row(model, row) for row in rows])
    expected = expected[:, 1:] if "logistic" in link else expected
    np.testing.assert_allclose(found, expected, **CLOSE)


@pytest.mark.parametrize("name", HELD)
def test_fitted_models(name):
    model, rows, _ = fit(name)
    rows = rows.assign(a=rows["a"].astype(np.float32), b=rows["b"].replace(np.inf, 1.5))
    rows["b"] = rows["b"].astype(np.float32)
    expected = drop_first_of_two(predict_outputs(model, rows))
    booster = load(model)
    found = booster.predict(make_matrix(booster, encode_table(model, rows)))
    np.testing.assert_allclose(found.reshape(expected.shape), expected, **CLOSE)


def test_pandas_categories():
    """XGBoost encodes the categories of a frame by those of the model."""
    model, rows, _ = fit("leaf_wise")
    rows["b"] = rows["b"].replace(np.inf, 1.5)
    known = describe(model).inputs
    rows["color"] = rows["color"].where(rows["color"].isin(known[2].categories), None)
    rows = rows[rows["shop"].isin(known[3].categories)]
    frame = rows.assign(
        color=rows["color"].astype("category"), shop=rows["shop"].astype("category")
    )
    found = load(model).predict(xgboost.DMatrix(frame, enable_categorical=True))
    np.testing.assert_allclose(found, model.predict(rows), **CLOSE)


def test_fractions_as_categories():
    known = Input("a", "category", (0.5, 1.5))
    model = PortableModel("Trees", (known,), make_trees(np.random.default_rng(0), (known,)))
    booster = load(model)
    found = booster.predict(make_matrix(booster, np.array([[0.0], [1.0], [np.nan]])))
    expected = [predict_row(model, [x])[0] for x in (0.5, 1.5, None)]
    np.testing.assert_allclose(found, expected, **CLOSE)


@pytest.mark.parametrize("name", ["leaf_wise", "multiclass"])
def test_contributions_add_up(name):
    model, rows, _ = fit(name)
    booster, X = load(model), encode_table(model, rows)
    X[np.isinf(X)] = 1.5
    matrix = make_matrix(booster, X)
    raw = booster.predict(matrix, output_margin=True)
    parts = booster.predict(matrix, pred_contribs=True)
    np.testing.assert_allclose(parts.sum(axis=-1), raw, rtol=1e-5, atol=1e-5)
    assert np.abs(parts).sum(axis=0).max() > 0
    assert set(booster.get_score(importance_type="gain")) <= {"a", "b", "color", "shop"}


def test_models_of_unnamed_features_take_arrays():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3)).astype(np.float32)
    model = sumwise.GradientBoostingRegressor(n_estimators=3).fit(X, X[:, 0])
    booster = load(model)
    assert booster.feature_names is None
    found = booster.inplace_predict(X)
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-5, atol=1e-6)


def test_xgboost_saves_and_loads_it_again(tmp_path):
    model = make_model(np.random.default_rng(0), n_outputs=3)
    to_xgboost(model, path=tmp_path / "model.json")
    booster = xgboost.Booster(model_file=tmp_path / "model.json")
    booster.save_model(tmp_path / "again.ubj")
    again = xgboost.Booster(model_file=tmp_path / "again.ubj")
    assert again.num_boosted_rounds() == booster.num_boosted_rounds() == 2


def test_names_are_cleaned():
    inputs = tuple(map(Input, ["a[1]", "a<1>", "b"]))
    trees = make_trees(np.random.default_rng(0), inputs)
    assert load(PortableModel("Trees", inputs, trees)).feature_names == ["a_1_", "a_1>", "b"]


def test_what_xgboost_cannot_hold_is_refused():
    check_refused(to_xgboost)
    check_statistics_refused(to_xgboost)
    model = make_model(np.random.default_rng(0))
    model.output.base_score[:] = 1e40
    with pytest.raises(ExportError, match="single precision"):
        to_xgboost(model)
