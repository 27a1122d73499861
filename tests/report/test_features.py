"""Importances and SHAP values, as far as a model has them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from sumwise import (
    AveragingRegressor,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    StackingRegressor,
)
from sumwise.report.blocks import Figure, Text
from sumwise.report.features import describe_features, explain_sample
from sumwise.report.predictions import predict_rows

RNG = np.random.default_rng(0)
X = pd.DataFrame(
    {
        "size": RNG.normal(size=300),
        "noise": RNG.normal(size=300),
        "kind": RNG.choice(list("ab"), 300),
    }
)
Y = 3 * X["size"].to_numpy() + (X["kind"] == "a")


def describe(model, y=Y, rows=X):
    section = describe_features(model, rows, predict_rows(model, rows, y))
    figures = {b.key: b for b in section.blocks if isinstance(b, Figure)}
    return figures, [b.text for b in section.blocks if isinstance(b, Text)]


@pytest.fixture(scope="module")
def boosting():
    return GradientBoostingRegressor(n_estimators=10, random_state=0).fit(X, Y)


def test_importances_of_both_kinds(boosting):
    figures, texts = describe(boosting)
    assert figures["importances"].data["features"][0] == "size"
    found = figures["importances"].data["importance"]
    assert found == pytest.approx(np.sort(boosting.feature_importances_)[::-1])
    permuted = figures["permutation"].data
    assert permuted["features"][0] == "size"
    assert permuted["decrease"][0] > 0.5
    assert texts == []


def test_shap_values_are_those_of_the_sample(boosting):
    figures, _ = describe(boosting)
    data = figures["shap"].data
    explained, remark = explain_sample(boosting, X)
    assert remark == ""
    assert len(explained) == 250
    assert "250 of 300 rows" in figures["shap"].caption
    place = data["features"].index("size")
    own = explained[:, "size"].values
    assert data["contributions"][:, place] == pytest.approx(own, abs=1e-5)
    assert len(data["values"][data["features"].index("kind")]) == 250
    # A point per row and feature; categories have no color of their own.
    svg = figures["shap"].svg
    assert svg.count("<circle") == 3 * 250
    assert svg.count('class="none"') == 250


def test_several_classes_are_summed():
    y = np.digitize(Y, [-2, 2])
    model = GradientBoostingClassifier(n_estimators=4).fit(X, y)
    data = describe(model, y)[0]["shap"].data
    explained, _ = explain_sample(model, X)
    assert data["mean_size"].shape == (3, 3)
    assert data["mean_size"].sum() == pytest.approx(explained.importances.sum())


def test_what_cannot_be_explained_says_why():
    rows = X[["size", "noise"]]
    members = [("tree", DecisionTreeRegressor(max_depth=2)), ("line", LinearRegression())]
    figures, texts = describe(AveragingRegressor(members).fit(rows, Y), rows=rows)
    assert set(figures) == {"permutation"}
    assert "member 'line'" in texts[0]
    assert "not a model of sumwise" in texts[0]
    texts = describe(StackingRegressor(members).fit(rows, Y), rows=rows)[1]
    assert texts == ["SHAP values are left out: StackingRegressor cannot be explained this way."]


def test_wide_tables_are_permuted_less_often_or_not_at_all():
    captions = []
    for n_features in (5, 60, 90):
        wide = RNG.normal(size=(40, n_features))
        model = DecisionTreeRegressor(max_depth=2).fit(wide, wide[:, 0])
        figure = describe(model, wide[:, 0], wide)[0].get("permutation")
        captions.append("" if figure is None else figure.caption)
    assert captions[0].endswith("mean of 5 shuffles.")
    assert captions[1].endswith("mean of 2 shuffles.")
    assert captions[2] == ""
