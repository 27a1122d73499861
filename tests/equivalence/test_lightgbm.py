"""The leaf-wise tree is the one that LightGBM grows.

LightGBM counts the rows of a leaf by its hessian, which is right only if all rows have about the
same: hence no weights here, and no initial scores far from zero.
"""

import lightgbm
import numpy as np
import pytest

from sumwise import GradientBoostingClassifier, GradientBoostingRegressor
from tests.equivalence.trees import collect_nodes, collect_our_nodes, make_table


def train_rival(X, y, objective, params, init_score=None):
    renamed = {
        "l1": "lambda_l1",
        "l2": "lambda_l2",
        "max_leaves": "num_leaves",
        "min_samples_leaf": "min_data_in_leaf",
        "min_child_weight": "min_sum_hessian_in_leaf",
    }
    return lightgbm.train(
        {
            "objective": objective,
            "boost_from_average": False,
            "min_data_in_bin": 1,
            "feature_pre_filter": False,
            "num_threads": 1,
            "verbosity": -1,
            **{renamed.get(name, name): value for name, value in params.items()},
        },
        lightgbm.Dataset(X, y, init_score=init_score),
        num_boost_round=1,
    )


def collect_rival_nodes(X, booster):
    (tree,) = booster.dump_model()["tree_info"]

    def open_node(node):
        if "leaf_value" in node:
            return None
        assert node["decision_type"] == "<="

        def goes_left(values):
            return np.where(np.isnan(values), node["default_left"], values <= node["threshold"])

        return node["split_feature"], goes_left, node["left_child"], node["right_child"]

    return collect_nodes(X, tree["tree_structure"], open_node)


# Penalties are mild: LightGBM gives up a feature in all descendants of a node where no split of
# it has a positive gain, and a penalty makes gains negative.
PENALTIES = [
    {"l2": 0.0},
    {"l2": 0.1},
    {"l2": 0.0, "l1": 100.0},
    {"l2": 0.0, "min_samples_leaf": 4},
    {"l2": 0.0, "min_child_weight": 5.5},
]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("max_leaves", [5, 12])
@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize("penalty", PENALTIES, ids=str)
def test_squared_loss(penalty, with_missing, max_leaves, seed):
    X, y, _, _ = make_table(seed, with_missing)
    params = {
        "max_leaves": max_leaves,
        "learning_rate": 1.0,
        "min_samples_leaf": 1,
        "min_child_weight": 0.0,
        **penalty,
    }
    rival = train_rival(X, y, "regression", params)
    model = GradientBoostingRegressor(growth="leaf", n_estimators=1, **params)
    model.fit(X, y, init_score=np.zeros(len(y)))
    nodes = collect_our_nodes(X, model)
    assert len(nodes) > 5
    assert nodes == collect_rival_nodes(X, rival)
    np.testing.assert_allclose(model.predict(X), rival.predict(X), rtol=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize("l2", [0.0, 0.1])
def test_logistic_loss(l2, with_missing, seed):
    X, _, _, labels = make_table(seed, with_missing)
    # Different scores give different gradients, so that no two splits are as good.
    init_score = np.random.default_rng(seed).uniform(-0.5, 0.5, len(X))
    params = {
        "max_leaves": 8,
        "learning_rate": 0.5,
        "min_samples_leaf": 2,
        "min_child_weight": 1.0,
        "l2": l2,
    }
    rival = train_rival(X, labels, "binary", params, init_score)
    model = GradientBoostingClassifier(growth="leaf", n_estimators=1, **params)
    model.fit(X, labels, init_score=init_score)
    assert collect_our_nodes(X, model) == collect_rival_nodes(X, rival)
    scores = rival.predict(X, raw_score=True)
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], rival.predict(X), rtol=1e-6)


def test_three_classes():
    # Both take K / (K - 1) times the diagonal hessian.
    X, y, _, _ = make_table(3, with_missing=False)
    labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    params = {
        "max_leaves": 4,
        "learning_rate": 0.5,
        "min_samples_leaf": 5,
        "min_child_weight": 0.0,
        "l2": 0.0,
    }
    rival = train_rival(X, labels, "multiclass", {**params, "num_class": 3})
    model = GradientBoostingClassifier(growth="leaf", n_estimators=1, **params)
    model.fit(X, labels, init_score=np.zeros((len(X), 3)))
    scores = rival.predict(X, raw_score=True)
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-5, atol=1e-6)


# Smoothing is mild in deep trees for the same reason. LightGBM scores a
# node at a value between its own and the best, which changes the order of nodes, but no split.
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize(("smooth", "max_depth"), [(1.0, 3), (20.0, 1), (500.0, 1)])
def test_smoothed_paths(smooth, max_depth, with_missing, seed):
    X, y, _, _ = make_table(seed, with_missing)
    params = {
        "max_depth": max_depth,
        "max_leaves": 8,
        "learning_rate": 0.5,
        "min_samples_leaf": 2,
        "min_child_weight": 0.0,
        "l2": 0.0,
        "path_smooth": smooth,
    }
    rival = train_rival(X, y, "regression", params)
    model = GradientBoostingRegressor(growth="leaf", n_estimators=1, **params)
    model.fit(X, y, init_score=np.zeros(len(y)))
    assert collect_our_nodes(X, model) == collect_rival_nodes(X, rival)
    np.testing.assert_allclose(model.predict(X), rival.predict(X), rtol=1e-6)


def test_random_splits_are_spread_alike():
    """Ours over all 11 thresholds, as likely each; LightGBM's over all but the last."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 12, (400, 1)).astype(np.float64)
    y = rng.normal(size=400)
    params = {"max_leaves": 2, "min_samples_leaf": 1, "min_child_weight": 0.0, "extra_trees": True}
    n_fits = 300
    ours, theirs = np.zeros(12), np.zeros(12)
    for seed in range(n_fits):
        model = GradientBoostingRegressor(n_estimators=1, random_state=seed, **params).fit(X, y)
        ours[int(model.ensemble_.threshold[0])] += 1
        rival = train_rival(X, y, "regression", {**params, "extra_seed": seed})
        root = rival.dump_model()["tree_info"][0]["tree_structure"]
        theirs[int(root["threshold"])] += 1
    expected = n_fits / 11
    assert (np.abs(ours[:11] - expected) < 4.5 * np.sqrt(expected)).all()
    assert ((theirs > 0) <= (ours > 0)).all()
    assert np.count_nonzero(theirs) >= 9
