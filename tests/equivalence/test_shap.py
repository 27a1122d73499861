"""Shapley values of LightGBM's and XGBoost's trees, against their own and against shap's."""

import json

import lightgbm
import numpy as np
import pytest
import xgboost

from sumwise.inspection.shap import shap_interactions, shap_values
from sumwise.kernels.runtime.threads import Team
from sumwise.tree import Tree, TreeEnsemble

N_TREES = 8


def make_tree(root, read):
    """Number the nodes of nested dicts; ``read`` returns (split or None, cover, value, children).

    A split is (feature, threshold, whether missing goes left); children are the left and the right.
    """
    nodes, left = [root], []
    for node in nodes:  # grows
        split, _, _, children = read(node)
        left.append(len(nodes) if split else -1)
        nodes += children
    splits, covers, values, _ = zip(*map(read, nodes), strict=True)
    feature, threshold, missing = zip(*(s or (-1, 0.0, 0) for s in splits), strict=True)
    zeros = np.zeros(len(nodes))
    return Tree(
        feature=np.array(feature, dtype=np.int32),
        split_bin=zeros.astype(np.uint8),
        missing_left=np.array(missing, dtype=np.uint8),
        left=np.array(left, dtype=np.int32),
        value=np.array(values)[:, None],
        gain=zeros,
        n_rows=np.array(covers),
        weight=np.array(covers),
        threshold=np.array(threshold, dtype=np.float64),
    )


def read_lightgbm(node):
    if "leaf_value" in node:
        return None, float(node.get("leaf_count", 1)), node["leaf_value"], []
    split = node["split_feature"], node["threshold"], node["default_left"]
    return split, float(node["internal_count"]), 0.0, [node["left_child"], node["right_child"]]


def read_xgboost(node):
    if "leaf" in node:
        return None, node["cover"], node["leaf"], []
    children = {child["nodeid"]: child for child in node["children"]}
    # Values below the condition go left there.
    threshold = np.nextafter(np.float32(node["split_condition"]), np.float32(-np.inf))
    split = int(node["split"][1:]), threshold, node["missing"] == node["yes"]
    return split, node["cover"], 0.0, [children[node["yes"]], children[node["no"]]]


def join(trees, base_score):
    return TreeEnsemble.from_trees(trees, np.array([base_score]), "identity", 6)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6)).astype(np.float32)
    y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + (X[:, 3] > 0.5)
    X[rng.random(X.shape) < 0.1] = np.nan
    return X, y


@pytest.fixture(scope="module")
def from_lightgbm(table):
    params = {"num_leaves": 12, "min_data_in_leaf": 5, "verbose": -1, "num_threads": 1}
    booster = lightgbm.train(params, lightgbm.Dataset(*table), N_TREES)
    infos = booster.dump_model()["tree_info"]
    trees = [make_tree(info["tree_structure"], read_lightgbm) for info in infos]
    return booster, join(trees, 0.0)


def test_lightgbm(table, from_lightgbm) -> None:
    X, _ = table
    booster, ensemble = from_lightgbm
    right = booster.predict(X, pred_contrib=True)
    values, expected = shap_values(ensemble, X, Team(1))
    np.testing.assert_allclose(values[:, :, 0], right[:, :-1], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(expected, right[:1, -1], rtol=1e-9)


def test_xgboost(table) -> None:
    X, y = table
    params = {"max_depth": 4, "base_score": 0.5, "nthread": 1}
    booster = xgboost.train(params, xgboost.DMatrix(X, y), N_TREES)
    dump = booster.get_dump(dump_format="json", with_stats=True)
    ensemble = join([make_tree(json.loads(text), read_xgboost) for text in dump], 0.5)
    data = xgboost.DMatrix(X)
    right = booster.predict(data, pred_contribs=True)
    values, expected = shap_values(ensemble, X, Team(1))
    np.testing.assert_allclose(values[:, :, 0], right[:, :-1], atol=2e-5)
    np.testing.assert_allclose(expected, right[:1, -1], atol=2e-5)
    right = booster.predict(data, pred_interactions=True)
    pairs, _ = shap_interactions(ensemble, X, Team(1))
    np.testing.assert_allclose(pairs[:, :, :, 0], right[:, :-1, :-1], atol=5e-5)


def test_shap(table, from_lightgbm) -> None:
    shap = pytest.importorskip("shap", reason="shap is not installed")
    X, _ = table
    booster, ensemble = from_lightgbm
    right = shap.TreeExplainer(booster).shap_interaction_values(X[:50])
    pairs, _ = shap_interactions(ensemble, X[:50], Team(1))
    np.testing.assert_allclose(pairs[:, :, :, 0], right, rtol=1e-6, atol=1e-8)
    explainer = shap.TreeExplainer(booster, X[:40], feature_perturbation="interventional")
    values, expected = shap_values(ensemble, X[50:120], Team(1), X[:40])
    right = explainer.shap_values(X[50:120], check_additivity=False)
    np.testing.assert_allclose(values[:, :, 0], right, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(expected, explainer.expected_value, rtol=1e-6)
