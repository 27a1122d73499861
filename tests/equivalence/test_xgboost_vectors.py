"""The tree of several targets is the one that XGBoost's ``multi_output_tree`` grows."""

import json

import numpy as np
import pytest
import xgboost

from sumwise import GradientBoostingRegressor
from tests.equivalence.trees import collect_nodes, make_table

N_TARGETS = 3


def make_targets(seed, X, y):
    """Integers, which float32 holds; each depends on other features."""
    rng = np.random.default_rng(seed + 100)
    filled = np.nan_to_num(X)
    others = rng.integers(-9999, 10000, (len(X), N_TARGETS - 1))
    others += 1000 * filled[:, 2:4].astype(np.int64)
    return np.column_stack([y, others]).astype(np.float64)


def train_rival(X, targets, weight, params):
    renamed = {"l2": "lambda", "min_gain": "gamma"}
    rival = {renamed.get(name, name): value for name, value in params.items()}
    rival["gamma"] = 2 * rival.get("gamma", 0.0)  # XGBoost does not halve the gain
    matrix = xgboost.DMatrix(X, label=targets, weight=weight)
    options = {
        "objective": "reg:squarederror",
        "multi_strategy": "multi_output_tree",
        "tree_method": "hist",
        "base_score": 0.0,
        "nthread": 1,
        **rival,
    }
    return xgboost.train(options, matrix, num_boost_round=1), matrix


def collect_rival_nodes(X, booster):
    model = json.loads(booster.save_raw("json"))
    (tree,) = model["learner"]["gradient_booster"]["model"]["trees"]

    def open_node(node):
        if tree["left_children"][node] < 0:
            return None
        condition, missing_left = tree["split_conditions"][node], tree["default_left"][node]

        def goes_left(values):
            return np.where(np.isnan(values), missing_left, values < condition)

        children = tree["left_children"][node], tree["right_children"][node]
        return tree["split_indices"][node], goes_left, *children

    return collect_nodes(X, 0, open_node)


def collect_our_nodes(X, model, output):
    ensemble = model.ensemble_
    first = int(ensemble.start[output])

    def open_node(node):
        if ensemble.feature[node] < 0:
            return None
        threshold, missing_left = ensemble.threshold[node], ensemble.missing_left[node]

        def goes_left(values):
            return np.where(np.isnan(values), missing_left, values <= threshold)

        left = first + ensemble.left[node]
        return ensemble.feature[node], goes_left, left, left + 1

    return collect_nodes(X, first, open_node)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize("penalty", [{"l2": 0.0}, {"l2": 5.0}, {"l2": 1.0, "min_gain": 6e8}])
def test_one_tree(penalty, with_missing, seed):
    X, y, weight, _ = make_table(seed, with_missing)
    targets = make_targets(seed, X, y)
    params = {"max_depth": 4, "learning_rate": 1.0, "min_child_weight": 0.0, **penalty}
    rival, matrix = train_rival(X, targets, weight, params)
    model = GradientBoostingRegressor(
        multi_strategy="multi_output_tree",
        growth="depth",
        n_estimators=1,
        min_samples_leaf=1,
        **params,
    ).fit(X, targets, weight, init_score=np.zeros_like(targets))
    expected = collect_rival_nodes(X, rival)
    assert len(expected) > 5
    for output in range(N_TARGETS):
        assert collect_our_nodes(X, model, output) == expected
    np.testing.assert_allclose(model.predict(X), rival.predict(matrix), rtol=1e-5, atol=1e-2)
