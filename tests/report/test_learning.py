"""Learning curves: what training recorded, and scores by round or member."""

import numpy as np
import pytest

from sumwise import (
    AdaBoostClassifier,
    BaggingRegressor,
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    StackingRegressor,
)
from sumwise.report.learning import describe_learning
from sumwise.report.predictions import predict_rows

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
Y = X[:, 0] + 0.5 * RNG.normal(size=200)


def describe(model, y=Y, rows=X):
    section = describe_learning(model, rows, predict_rows(model, rows, y))
    return {figure.key: figure for figure in section.blocks}


def test_history_and_scores_by_round():
    model = GradientBoostingRegressor(
        n_estimators=30, track_training_loss=True, early_stopping=True, random_state=0
    ).fit(X, Y)
    figures = describe(model)
    history = figures["history"].data
    assert history["best_round"] == model.best_iteration_
    assert (history["training_loss"] == model.history_["training_loss"]).all()
    rounds = figures["rounds"].data
    assert rounds["round"].tolist() == list(range(1, model.best_iteration_ + 1))
    errors = [np.sqrt(np.mean((p - Y) ** 2)) for p in model.staged_predict(X)]
    assert rounds["rmse"] == pytest.approx(errors)


def test_many_rounds_are_thinned_and_the_last_is_kept():
    model = GradientBoostingClassifier(n_estimators=400, max_depth=1).fit(X, Y > 0)
    rounds = describe(model, Y > 0)["rounds"].data
    assert rounds["round"].size <= 151
    assert rounds["round"][-1] == 400
    shares = model.predict_proba(X)[np.arange(200), (Y > 0).astype(int)]
    assert rounds["log_loss"][-1] == pytest.approx(-np.log(shares).mean())


def test_adaboost_has_stages():
    model = AdaBoostClassifier(n_estimators=6, random_state=0).fit(X, Y > 0)
    assert describe(model, Y > 0)["rounds"].data["round"].size == len(model.estimators_)


def test_votes_and_means_by_number_of_members():
    forest = RandomForestClassifier(12, random_state=0).fit(X, Y > 0)
    assert describe(forest, Y > 0)["sizes"].data["members"].tolist() == list(range(1, 13))
    bagging = BaggingRegressor(n_estimators=8, random_state=0).fit(X, Y)
    error = describe(bagging)["sizes"].data["error"]
    assert error[-1] == pytest.approx(np.sqrt(np.mean((bagging.predict(X) - Y) ** 2)))


def test_models_without_rounds_have_no_section():
    tree = DecisionTreeRegressor(max_depth=2).fit(X, Y)
    assert describe_learning(tree, X, predict_rows(tree, X, Y)) is None
    stack = StackingRegressor([("a", tree), ("b", tree)]).fit(X, Y)
    assert describe_learning(stack, X, predict_rows(stack, X, Y)) is None


def test_samples_of_many_rows_are_said(monkeypatch):
    monkeypatch.setattr("sumwise.report.learning._MOST_ROWS", 50)
    model = GradientBoostingRegressor(n_estimators=5).fit(X, Y)
    assert "50 of 200 rows" in describe(model)["rounds"].caption
