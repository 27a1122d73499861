"""treelite predicts what the model predicts."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import treelite

from sumwise.export import to_treelite
from tests.export.libraries.library_models import (
    HELD,
    OPTIONS,
    check_refused,
    check_statistics_refused,
    encode_rows,
    encode_table,
    fit,
)
from tests.export.random_models import NUMBERS, make_model, make_rows
from tests.naive.portable import predict_row

SINGLE = 1e-6  # treelite's softmax computes exponentials in single precision


def predict(model, X):
    return treelite.gtil.predict(to_treelite(model), X, nthread=1).reshape(len(X), -1)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("options", OPTIONS)
def test_random_trees(options, seed):
    model = make_model(np.random.default_rng(seed), **options)
    unknown = np.nan if seed % 2 else 99.0
    rows = make_rows(model, 50, seed)
    expected = [predict_row(model, row) for row in rows]
    found = predict(model, encode_rows(model, rows, unknown))
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("link", "n_outputs"),
    [
        ("log", 1),
        ("log", 2),
        ("sigmoid", 1),
        ("sigmoid", 2),
        ("logistic", 1),
        ("half_logistic", 1),
        ("softmax", 3),
    ],
)
def test_links(link, n_outputs):
    model = make_model(
        np.random.default_rng(0), link, n_outputs=n_outputs, n_trees=6, inputs=NUMBERS
    )
    rows = make_rows(model)
    expected = np.array([predict_row(model, row) for row in rows])
    expected = expected[:, 1:] if "logistic" in link else expected
    rtol = SINGLE if link == "softmax" else 1e-12
    np.testing.assert_allclose(predict(model, np.array(rows)), expected, rtol=rtol)


def test_one_probability_per_class():
    rng = np.random.default_rng(0)
    model = make_model(rng, "sigmoid", NUMBERS, n_outputs=3, n_trees=6)
    model = replace(model, classes=(np.arange(3),))
    rows = make_rows(model)
    expected = np.array([predict_row(model, row) for row in rows])
    np.testing.assert_allclose(predict(model, np.array(rows)), expected, rtol=1e-12)


@pytest.mark.parametrize("name", HELD)
def test_fitted_models(name):
    model, rows, expected = fit(name)
    found = predict(model, encode_table(model, rows))
    rtol = SINGLE if name in ("multiclass", "ada_3") else 1e-12
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=1e-12)


def test_models_are_serialized(tmp_path):
    model, rows, expected = fit("multiclass")
    to_treelite(model).serialize(tmp_path / "model.bin")
    again = treelite.Model.deserialize(tmp_path / "model.bin")
    found = treelite.gtil.predict(again, encode_table(model, rows), nthread=1)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=SINGLE)


def test_what_treelite_cannot_hold_is_refused():
    check_refused(to_treelite)
    check_statistics_refused(to_treelite)


def test_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "treelite", None)
    with pytest.raises(ImportError, match="sumwise\\[treelite\\]"):
        to_treelite(make_model(np.random.default_rng(0)))
