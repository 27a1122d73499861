"""The gain of an ensemble over its members."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import is_regressor
from sklearn.linear_model import LinearRegression

from sumwise import (
    AveragingRegressor,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingRegressor,
    OutputCodeClassifier,
    RandomForestClassifier,
    StackingRegressor,
)
from sumwise.diversity import ambiguity_decomposition, vote_decomposition
from sumwise.estimators.members import member_predictions
from sumwise.report.blocks import Figure, Table
from sumwise.report.members import describe_contenders, describe_members, find_members
from sumwise.report.predictions import Predictions, predict_rows

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(150, 3)), columns=list("abc"))
Y = X["a"].to_numpy() + 0.3 * RNG.normal(size=150)
MEMBERS = [("tree", DecisionTreeRegressor(max_depth=3)), ("line", LinearRegression())]


def describe(model, y=Y):
    section = describe_members(model, X, predict_rows(model, X, y))
    return {b.key: b for b in section.blocks if isinstance(b, Figure)}, section.blocks[-1]


def test_numbers_of_an_average():
    model = AveragingRegressor(MEMBERS, weights=[3, 1]).fit(X, Y)
    figures, table = describe(model)
    expected = ambiguity_decomposition(member_predictions(model, X).values, Y, weights=[0.75, 0.25])
    assert figures["gain"].data["ambiguity"] == pytest.approx(expected.ambiguity)
    assert "other combination" not in figures["gain"].svg
    assert figures["pairs"].data["correlation"][0, 1] == pytest.approx(
        np.corrcoef((member_predictions(model, X).values - Y[:, None]).T)[0, 1]
    )
    columns = table.to_dict()["columns"]
    assert columns["Member"][0] == "the ensemble"
    assert set(columns["Member"][1:]) == {"tree", "line"}
    assert sorted(columns["Weight"][1:]) == [0.25, 0.75]


def test_a_stack_has_no_weights_and_says_what_its_combination_adds():
    model = StackingRegressor(MEMBERS).fit(X, Y)
    figures, table = describe(model)
    assert "other combination" in figures["gain"].svg
    error = np.mean((model.predict(X) - Y) ** 2)
    assert figures["gain"].data["error_of_the_model"] == pytest.approx(error)
    assert table.to_dict()["columns"]["Weight"] == [None, None, None]


def test_votes_of_a_forest():
    y = np.where(Y > 0, "yes", "no")
    model = RandomForestClassifier(15, random_state=0).fit(X, y)
    figures, table = describe(model, y)
    values = member_predictions(model, X).values
    expected = vote_decomposition(values, y, vote=model.predict(X))
    assert figures["gain"].data == pytest.approx(expected._asdict())
    assert figures["kappa-error"].data["kappa"].size == 15 * 14 // 2
    assert figures["pairs"].data["kappa"].shape == (15, 15)
    assert table.to_dict()["columns"]["Member"][1].startswith("member ")


def test_log_loss_of_averaged_probabilities():
    y = np.where(Y > 0, "yes", "no")
    model = RandomForestClassifier(15, random_state=0).fit(X, y)
    parts = describe(model, y)[0]["gain-log-loss"].data
    shares = model.predict_proba(X)[np.arange(150), (y == "yes").astype(int)]
    assert parts["ensemble_error"] == pytest.approx(-np.log(shares).mean())
    assert parts["mean_error"] - parts["ambiguity"] == pytest.approx(parts["ensemble_error"])


def test_calibrated_probabilities_are_no_average():
    y = np.where(Y > 0, "yes", "no")
    model = RandomForestClassifier(15, random_state=0, calibrate="isotonic").fit(X, y)
    figures, _ = describe(model, y)
    assert "gain" in figures
    assert "gain-log-loss" not in figures


def test_many_members_are_cut():
    y = Y > 0
    model = RandomForestClassifier(70, random_state=0, max_depth=2).fit(X, y)
    figures, table = describe(model, y)
    assert len(figures["kappa-error"].data["members"]) == 40
    assert "first 40 of 70" in figures["kappa-error"].caption
    assert figures["pairs"].data["kappa"].shape == (24, 24)
    assert table.caption == "The best 60 of 70 members"


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingRegressor(n_estimators=3),
        DecisionTreeRegressor(max_depth=2),
        OutputCodeClassifier(DecisionTreeClassifier(), random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_without_members_have_no_section(model):
    y = Y if is_regressor(model) else RNG.choice(list("abc"), 150)
    assert find_members(model.fit(X, y), X) is None
    assert describe_members(model, X, predict_rows(model, X, y)) is None


def test_contenders_are_averaged():
    known = [Predictions(Y, Y + RNG.normal(size=150)) for _ in range(3)]
    section = describe_contenders(list("abc"), known)
    _, gain, pairs = section.blocks
    values = np.column_stack([own.predicted for own in known])
    assert gain.data["ambiguity"] == ambiguity_decomposition(values, Y).ambiguity
    assert pairs.data["correlation"].shape == (3, 3)
    assert describe_contenders(["a"], known[:1]) is None


def test_contenders_with_labels_have_pairs_only():
    y = np.where(Y > 0, "yes", "no")
    known = [Predictions(y, RNG.permutation(y), np.array(["no", "yes"])) for _ in range(3)]
    figures = [b for b in describe_contenders(list("abc"), known).blocks if isinstance(b, Figure)]
    assert [figure.key for figure in figures] == ["kappa-error", "pairs"]
    assert not [b for b in describe_contenders(list("abc"), known).blocks if isinstance(b, Table)]
