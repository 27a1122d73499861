"""The first leaf-wise tree splits by the sets that LightGBM chooses, where the rules are the same.

No missing values and no rare categories here (LightGBM keeps them out of its order), and features
that are one-hot for both or for none: LightGBM counts one category more than there are.
"""

import lightgbm
import numpy as np
import pytest

from sumwise import GradientBoostingRegressor, Native
from tests.equivalence.trees import collect_nodes


def make_table(seed, n_rows=600):
    """Columns of 12 categories, of 3 categories, and of few numbers; no ties."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.permutation(np.arange(n_rows) % n) for n in (12, 3, 8)],
    ).astype(np.float64)
    effects = rng.integers(-9999, 10000, (3, 12))
    y = rng.integers(-9999, 10000, n_rows) + sum(effects[f, X[:, f].astype(int)] for f in range(3))
    return X, y.astype(np.float64)


def collect_rival_nodes(X, booster):
    (tree,) = booster.dump_model()["tree_info"]
    n_sets = 0

    def open_node(node):
        nonlocal n_sets
        if "leaf_value" in node:
            return None
        if node["decision_type"] == "==":
            n_sets += 1
            members = [int(code) for code in node["threshold"].split("||")]

            def goes_left(values):
                return np.isin(values, members)
        else:

            def goes_left(values):
                return values <= node["threshold"]

        return node["split_feature"], goes_left, node["left_child"], node["right_child"]

    return collect_nodes(X, tree["tree_structure"], open_node), n_sets


def collect_our_nodes(X, model):
    tree = model.ensemble_
    starts = np.append(0, np.cumsum(tree.set_size))
    sets = {
        node: tree.set_categories[starts[i] : starts[i + 1]] for i, node in enumerate(tree.set_node)
    }

    def open_node(node):
        if tree.feature[node] < 0:
            return None

        def goes_left(values):
            if node in sets:
                return np.isin(values, sets[node])
            return values <= tree.threshold[node]

        return tree.feature[node], goes_left, tree.left[node], tree.left[node] + 1

    return collect_nodes(X, 0, open_node)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("native", "rival"),
    [
        ({}, {}),
        ({"smoothing": 3.0}, {"cat_smooth": 3.0}),
        ({"l2": 0.0}, {"cat_l2": 0.0}),
        ({"max_categories": 2}, {"max_cat_threshold": 2}),
        ({"min_rows": 60}, {"min_data_per_group": 60}),
    ],
    ids=lambda value: str(list(value)) if value else "",
)
def test_sets_of_the_first_tree(native, rival, seed):
    X, y = make_table(seed)
    parameters = {
        "smoothing": 1.0,
        "l2": 0.1,
        "max_categories": 32,
        "min_rows": 10,
        "onehot_limit": 4,
        **native,
    }
    booster = lightgbm.train(
        {
            "objective": "regression",
            "boost_from_average": False,
            "num_leaves": 8,
            "learning_rate": 1.0,
            "lambda_l2": 0.0,
            "min_data_in_leaf": 5,
            "min_sum_hessian_in_leaf": 0.0,
            "min_data_in_bin": 1,
            "feature_pre_filter": False,
            "num_threads": 1,
            "verbosity": -1,
            "cat_smooth": 1.0,
            "cat_l2": 0.1,
            "min_data_per_group": 10,
            **rival,
        },
        lightgbm.Dataset(X, y, categorical_feature=[0, 1]),
        num_boost_round=1,
    )
    model = GradientBoostingRegressor(
        n_estimators=1,
        max_leaves=8,
        learning_rate=1.0,
        l2=0.0,
        min_samples_leaf=5,
        min_child_weight=0.0,
        categorical_features=[0, 1],
        categorical_encoding=Native(**parameters),
    ).fit(X, y, init_score=np.zeros(y.size))
    expected, n_sets = collect_rival_nodes(X, booster)
    assert n_sets > 0
    assert collect_our_nodes(X, model) == expected
