"""The level-wise tree is the one that XGBoost's exact method grows."""

import json

import numpy as np
import pytest
import xgboost

from sumwise import Columns, GradientBoostingClassifier, GradientBoostingRegressor, Tweedie
from tests.equivalence.trees import collect_nodes, collect_our_nodes, make_table


def train_rival(X, y, weight, objective, params, n_rounds=1):
    renamed = {"l1": "alpha", "l2": "lambda", "min_gain": "gamma"}
    rival = {renamed.get(name, name): value for name, value in params.items()}
    # XGBoost does not halve the gain.
    rival["gamma"] = 2 * rival.get("gamma", 0.0)
    matrix = xgboost.DMatrix(X, label=y, weight=weight)
    booster = xgboost.train(
        {
            "objective": objective,
            "tree_method": "exact",
            "base_score": 0.5 if objective == "binary:logistic" else 0.0,
            "nthread": 1,
            **rival,
        },
        matrix,
        num_boost_round=n_rounds,
    )
    return booster, matrix


def collect_rival_nodes(X, booster):
    (text,) = booster.get_dump(dump_format="json")

    def open_node(node):
        if "leaf" in node:
            return None
        children = {child["nodeid"]: child for child in node["children"]}
        missing_left = node["missing"] == node["yes"]

        def goes_left(values):
            return np.where(np.isnan(values), missing_left, values < node["split_condition"])

        feature = int(node["split"].removeprefix("f"))
        return feature, goes_left, children[node["yes"]], children[node["no"]]

    return collect_nodes(X, json.loads(text), open_node)


PENALTIES = [
    {"l2": 0.0},
    {"l2": 3.0},
    {"l2": 50.0, "l1": 5000.0},
    {"l2": 1.0, "max_delta_step": 3000.0},
    {"l2": 0.0, "min_child_weight": 200.0},
    {"l2": 1.0, "min_child_weight": 400.0},
    {"l2": 0.0, "min_gain": 3e8},
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("max_depth", [3, 4, 5])
@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
def test_squared_loss(penalty, with_missing, max_depth, seed):
    X, y, weight, _ = make_table(seed, with_missing)
    params = {"max_depth": max_depth, "learning_rate": 1.0, "min_child_weight": 0.0, **penalty}
    rival, matrix = train_rival(X, y, weight, "reg:squarederror", params)
    model = GradientBoostingRegressor(
        growth="depth", n_estimators=1, min_samples_leaf=1, **params
    ).fit(X, y, weight, init_score=np.zeros(len(y)))
    nodes = collect_our_nodes(X, model)
    assert len(nodes) > 5
    assert nodes == collect_rival_nodes(X, rival)
    np.testing.assert_allclose(model.predict(X), rival.predict(matrix), rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize("l2", [0.0, 1.0])
def test_logistic_loss(l2, with_missing, seed):
    X, _, weight, labels = make_table(seed, with_missing)
    params = {"max_depth": 4, "learning_rate": 0.5, "min_child_weight": 5.0, "l2": l2}
    rival, matrix = train_rival(X, labels, weight, "binary:logistic", params)
    model = GradientBoostingClassifier(
        growth="depth", n_estimators=1, min_samples_leaf=1, **params
    ).fit(X, labels, weight, init_score=np.zeros(len(X)))
    assert collect_our_nodes(X, model) == collect_rival_nodes(X, rival)
    scores = rival.predict(matrix, output_margin=True)
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-6)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], rival.predict(matrix), rtol=1e-6)


POSITIVE = [
    ("gamma", "reg:gamma", {}),
    (Tweedie(power=1.3), "reg:tweedie", {"tweedie_variance_power": 1.3}),
    ("cross_entropy", "reg:logistic", {"base_score": 0.5}),
]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("loss", "objective", "extra"), POSITIVE, ids=["gamma", "tweedie", "ce"])
def test_losses_with_a_link(loss, objective, extra, seed):
    X, y, weight, _ = make_table(seed, with_missing=True)
    y = np.exp(y / np.abs(y).max() - 1)  # in (0, 1]
    params = {"max_depth": 3, "learning_rate": 0.5, "min_child_weight": 0.0, "l2": 1.0}
    model = GradientBoostingRegressor(
        loss=loss, growth="depth", n_estimators=1, min_samples_leaf=1, **params
    )
    start = 0.0 if loss == "cross_entropy" else np.log(np.average(y, weights=weight))
    model.fit(X, y, weight, init_score=np.full(len(y), start))
    extra = {"base_score": np.exp(start), **extra}
    rival, matrix = train_rival(X, y, weight, objective, {**params, **extra})
    link = np.exp if loss != "cross_entropy" else lambda raw: 1 / (1 + np.exp(-raw))
    raw = model._predict_raw(X)[:, 0]
    np.testing.assert_allclose(link(start + raw), rival.predict(matrix), rtol=1e-5)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("max_depth", [3, 5])
@pytest.mark.parametrize("directions", [(1, -1, 0, 0), (-1, 1, 1, -1)], ids=str)
@pytest.mark.parametrize("penalty", [{"l2": 3.0}, {"l2": 50.0, "max_delta_step": 5e3}], ids=str)
def test_monotone_constraints(penalty, directions, max_depth, seed):
    """Without missing values, which XGBoost orders, too; and without l1, which its gains lack.

    With a penalty, because without one a split between two values at the same bound gains nothing,
    which XGBoost may take for something after rounding.
    """
    X, y, weight, _ = make_table(seed, with_missing=False)
    params = {"max_depth": max_depth, "learning_rate": 1.0, "min_child_weight": 0.0, **penalty}
    rival, matrix = train_rival(
        X, y, weight, "reg:squarederror", {**params, "monotone_constraints": directions}
    )
    model = GradientBoostingRegressor(
        growth="depth", n_estimators=1, min_samples_leaf=1, monotonic_cst=directions, **params
    ).fit(X, y, weight, init_score=np.zeros(len(y)))
    assert collect_our_nodes(X, model) == collect_rival_nodes(X, rival)
    np.testing.assert_allclose(model.predict(X), rival.predict(matrix), rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize("groups", [[[0, 1], [2, 3]], [[0, 1, 2], [1, 3]]], ids=str)
def test_interaction_constraints(groups, with_missing, seed):
    X, y, weight, _ = make_table(seed, with_missing)
    params = {"max_depth": 5, "learning_rate": 1.0, "min_child_weight": 0.0, "l2": 1.0}
    rival, matrix = train_rival(
        X, y, weight, "reg:squarederror", {**params, "interaction_constraints": str(groups)}
    )
    model = GradientBoostingRegressor(
        growth="depth", n_estimators=1, min_samples_leaf=1, interaction_cst=groups, **params
    ).fit(X, y, weight, init_score=np.zeros(len(y)))
    assert collect_our_nodes(X, model) == collect_rival_nodes(X, rival)
    np.testing.assert_allclose(model.predict(X), rival.predict(matrix), rtol=1e-6)


@pytest.mark.parametrize("with_missing", [False, True])
def test_many_rounds_end_at_the_same_predictions(with_missing):
    # Rounding to float32 adds up, so this is less strict than the trees above.
    X, y, weight, _ = make_table(7, with_missing)
    params = {"max_depth": 3, "learning_rate": 0.3, "min_child_weight": 0.0, "l2": 1.0}
    rival, matrix = train_rival(X, y, weight, "reg:squarederror", params, n_rounds=20)
    model = GradientBoostingRegressor(
        growth="depth", n_estimators=20, min_samples_leaf=1, **params
    ).fit(X, y, weight, init_score=np.zeros(len(y)))
    np.testing.assert_allclose(model.predict(X), rival.predict(matrix), rtol=1e-3, atol=1.0)


def test_weights_of_features():
    """A stump has the one feature that its node has drawn: as often as its weight says."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 5)), rng.normal(size=200)
    weights, n_trees = np.array([1.0, 2.0, 0.0, 4.0, 1.0]), 2000
    matrix = xgboost.DMatrix(X, y)
    matrix.set_info(feature_weights=weights)
    params = {"max_depth": 1, "colsample_bynode": 0.2, "nthread": 1}
    scores = xgboost.train(params, matrix, n_trees).get_score(importance_type="weight")
    theirs = np.array([scores.get(f"f{feature}", 0.0) for feature in range(5)])
    columns = Columns(by_node=0.2, weights=weights)
    model = GradientBoostingRegressor(
        n_estimators=n_trees, max_depth=1, growth="depth", columns=columns, random_state=0
    ).fit(X, y)
    ours = model.get_feature_importances("count", normalize=False)
    shares = weights / weights.sum()
    for counts in (ours, theirs):
        n = counts.sum()
        assert n > 0.9 * n_trees
        assert (np.abs(counts - n * shares) <= 4.5 * np.sqrt(n * shares)).all()
