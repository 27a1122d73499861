"""LightGBM loads our text, and predicts what the model predicts."""

import lightgbm
import numpy as np
import pandas as pd
import pytest

import sumwise
from sumwise.errors import ExportError
from sumwise.export import to_lightgbm
from sumwise.export.portable import Input, Link, PortableModel
from tests.export.libraries.library_models import (
    HELD,
    OPTIONS,
    check_refused,
    check_statistics_refused,
    encode_rows,
    encode_table,
    fit,
)
from tests.export.random_models import MIXED, NUMBERS, make_model, make_rows, make_trees
from tests.naive.portable import predict_row

# LightGBM reads numbers up to this as 0.
ZERO = float(np.float32(1e-35))


def load(model):
    return lightgbm.Booster(model_str=to_lightgbm(model))


def draw(model, seed=0):
    """Return rows, without the numbers that LightGBM takes for 0."""
    return [
        [0.0 if isinstance(x, float) and 0 < abs(x) <= ZERO else x for x in row]
        for row in make_rows(model, 50, seed)
    ]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("options", OPTIONS)
def test_random_trees(options, seed):
    model = make_model(np.random.default_rng(seed), **options)
    unknown = np.nan if seed % 2 else 99.0
    rows = draw(model, seed)
    found = load(model).predict(encode_rows(model, rows, unknown)).reshape(len(rows), -1)
    expected = [predict_row(model, row) for row in rows]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("link", "n_outputs"),
    [
        ("log", 1),
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
    rows = draw(model)
    found = load(model).predict(np.array(rows)).reshape(len(rows), -1)
    expected = np.array([predict_row(model, row) for row in rows])
    expected = expected[:, 1:] if "logistic" in link else expected
    np.testing.assert_allclose(found, expected, rtol=1e-10)


@pytest.mark.parametrize("name", HELD)
def test_fitted_models(name):
    model, rows, expected = fit(name)
    booster = load(model)
    found = booster.predict(encode_table(model, rows)).reshape(expected.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_pandas_categories():
    model, rows, expected = fit("multiclass")
    frame = rows.assign(
        color=rows["color"].astype("category"), shop=rows["shop"].astype("category")
    )
    np.testing.assert_allclose(load(model).predict(frame), expected, rtol=1e-9)


@pytest.mark.parametrize("name", ["leaf_wise", "multiclass", "forest_numbers"])
def test_contributions_add_up(name):
    model, rows, _ = fit(name)
    booster, X = load(model), encode_table(model, rows)
    raw = booster.predict(X, raw_score=True)
    parts = booster.predict(X, pred_contrib=True).reshape(len(X), -1, X.shape[1] + 1)
    np.testing.assert_allclose(parts.sum(axis=2).reshape(raw.shape), raw, rtol=1e-9, atol=1e-9)


def test_linear_leaves_that_extrapolate():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    X[rng.random(X.shape) < 0.1] = np.nan
    y = np.nan_to_num(X[:, 0] * (X[:, 1] > 0))
    leaves = sumwise.LinearLeaves(extrapolate=True)
    model = sumwise.GradientBoostingRegressor(n_estimators=5, leaves=leaves).fit(X, y)
    np.testing.assert_allclose(load(model).predict(X), model.predict(X), rtol=1e-10, atol=1e-13)


def test_the_text_is_what_lightgbm_would_write():
    """LightGBM writes the same trees again, and reads sizes of trees in bytes."""
    model, _, _ = fit("binary")
    text = to_lightgbm(model)
    again = load(model).model_to_string()
    trees, others = (
        each[each.index("Tree=0") : each.index("end of trees")] for each in (text, again)
    )
    rounded = ("split_gain", "leaf_weight", "internal_value", "internal_weight")
    for ours, theirs in zip(trees.splitlines(), others.splitlines(), strict=True):
        name, _, numbers = ours.partition("=")
        assert theirs.startswith(name)
        found = np.array(numbers.split(), dtype=np.float64)
        expected = np.array(theirs.partition("=")[2].split(), dtype=np.float64)
        np.testing.assert_allclose(found, expected, rtol=1e-5 if name in rounded else 0)
    sizes = text.split("tree_sizes=")[1].split("\n")[0].split()
    assert sum(map(int, sizes)) == len(trees.encode())
    assert load(model).dump_model()["feature_names"] == ["a", "b", "color", "shop"]


def test_a_constant():
    X = np.zeros((20, 2))
    model = sumwise.GradientBoostingClassifier(n_estimators=2).fit(X, np.full(20, "only"))
    assert load(model).predict(X[:3]).tolist() == [1.0, 1.0, 1.0]


def test_names_are_cleaned():
    inputs = tuple(map(Input, ["a b", "a:b", 'ü"{}', "", "a\0"]))
    trees = make_trees(np.random.default_rng(0), inputs)
    booster = load(PortableModel("Trees", inputs, trees))
    assert booster.feature_name() == ["a_b", "a_b_2", "ü___", "_", "a_"]


def test_path(tmp_path):
    model = make_model(np.random.default_rng(0))
    text = to_lightgbm(model, path=tmp_path / "model.txt")
    assert lightgbm.Booster(model_file=tmp_path / "model.txt").num_trees() == 4
    assert (tmp_path / "model.txt").read_text(encoding="utf-8") == text


def test_what_lightgbm_cannot_hold_is_refused():
    check_refused(to_lightgbm)
    check_statistics_refused(to_lightgbm)
    trees = make_trees(np.random.default_rng(0), MIXED, n_outputs=2)
    with pytest.raises(ExportError, match="link 'log' of several outputs"):
        to_lightgbm(PortableModel("Trees", MIXED, Link(trees, "log")))


def test_a_frame_without_categories_keeps_its_columns():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(50, 2)), columns=["a", "b"])
    model = sumwise.DecisionTreeRegressor(max_depth=3).fit(frame, frame["a"])
    np.testing.assert_allclose(load(model).predict(frame), model.predict(frame), rtol=1e-14)
