"""Partial dependence by the trees alone, against a walk for each point."""

import itertools

import numpy as np
import pandas as pd
import pytest

from sumwise import (
    DecisionTreeRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sumwise.inspection import dependence
from sumwise.inspection.dependence import depend_on

RNG = np.random.default_rng(0)
N = 300
X = pd.DataFrame(
    {
        "a": np.where(RNG.random(N) < 0.1, np.nan, RNG.normal(size=N)),
        "color": RNG.choice(["red", "green", "blue", "gray", "pink"], N),
        "b": RNG.normal(size=N).round(1),
    }
)
Y = np.nan_to_num(X["a"]) ** 2 + 2 * X["color"].isin(["red", "blue"]) + np.sign(X["b"])
THREE = np.digitize(Y, np.quantile(Y, [0.3, 0.7]))
AXES = [
    np.array([-1.0, 0.0, 0.7, np.nan]),
    np.array([0.0, 2.0, 4.0, np.nan]),
    np.array([0.05, 1.0]),
]


def walk(tree, weight, node, point):
    """The mean of the leaves that a point comes to; ``point`` has its values by feature."""
    left, feature = int(tree.left[node]), int(tree.feature[node])
    if left < 0:
        return tree.value[node]
    if feature not in point:
        both = weight[left] + weight[left + 1]
        share = weight[left] / both if both else 0.5
        sides = walk(tree, weight, left, point), walk(tree, weight, left + 1, point)
        return share * sides[0] + (1 - share) * sides[1]
    value = point[feature]
    if np.isnan(value):
        goes_left = bool(tree.missing_left[node])
    elif node in tree.set_node:
        place = tree.set_node.tolist().index(node)
        end = tree.set_size[: place + 1].sum()
        goes_left = value in tree.set_categories[end - tree.set_size[place] : end]
    else:
        goes_left = value <= tree.threshold[node]
    return walk(tree, weight, left if goes_left else left + 1, point)


def depend_slowly(model, features):
    axes = [AXES[f] for f in features]
    points = [dict(zip(features, values, strict=True)) for values in itertools.product(*axes)]
    shape = [axis.size for axis in axes]
    if hasattr(model, "forest_"):
        trees = [model.forest_.to_tree(k) for k in range(model.forest_.n_trees)]
        found = [np.mean([walk(t, t.weight, 0, point) for t in trees], axis=0) for point in points]
        return np.array(found).T.reshape(-1, *shape)
    ensemble = model.ensemble_
    found = np.zeros((ensemble.n_outputs, len(points))) + ensemble.base_score[:, None]
    for number, output in enumerate(ensemble.output.tolist()):
        tree = ensemble.to_tree(number)
        found[output] += [walk(tree, tree.n_rows, 0, point)[0] for point in points]
    return found.reshape(-1, *shape)


SMALL = {"n_estimators": 4, "min_samples_leaf": 3, "categorical_encoding": "native"}
MODELS = {
    "leaf": GradientBoostingRegressor(**SMALL, max_leaves=12),
    "depth": GradientBoostingRegressor(**SMALL, growth="depth", max_depth=4),
    "symmetric": GradientBoostingRegressor(**SMALL, growth="symmetric", max_depth=4),
    "dart": GradientBoostingRegressor(**SMALL, booster="dart", random_state=0),
    "classes": GradientBoostingClassifier(**SMALL, max_leaves=6),
    "forest": RandomForestRegressor(3, random_state=0),
    "forest of classes": RandomForestClassifier(3, random_state=0),
    "tree": DecisionTreeRegressor(max_depth=4),
}


@pytest.mark.parametrize("features", [(0,), (1,), (2, 0), (0, 1, 2)])
@pytest.mark.parametrize("name", MODELS)
def test_it_is_the_mean_of_walks(name, features):
    model = MODELS[name].fit(X, THREE if "classes" in name else Y)
    trees = getattr(model, "forest_", None) or model.ensemble_
    found = depend_on(trees, features, [AXES[f] for f in features])
    np.testing.assert_allclose(found, depend_slowly(model, features), rtol=1e-10, atol=1e-12)


def test_many_trees_are_followed_in_parts(monkeypatch):
    model = MODELS["classes"].fit(X, THREE)
    expected = depend_on(model.ensemble_, (0, 2), [AXES[0], AXES[2]])
    monkeypatch.setattr(dependence, "_MOST_FOLLOWED", 10)
    found = depend_on(model.ensemble_, (0, 2), [AXES[0], AXES[2]])
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_all_features_together_are_the_prediction():
    model = MODELS["leaf"].fit(X, Y)
    codes = model.schema_.dictionaries[1].find(X["color"].to_numpy()[:5])
    for row in range(5):
        point = [np.array([X["a"][row]]), np.array([float(codes[row])]), np.array([X["b"][row]])]
        found = depend_on(model.ensemble_, (0, 1, 2), point)
        np.testing.assert_allclose(found.ravel(), model.predict(X[row : row + 1]), rtol=1e-12)
