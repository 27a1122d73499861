"""Ordered statistics are those of CatBoost, where its permutation is the order of the rows.

CatBoost does not show the statistics of its training rows. But its first tree does: how many rows
a leaf has, and the value of the leaf, follow from the statistics and the borders of the splits.
"""

import json

import numpy as np
import pandas as pd
import pytest
from catboost import CatBoostClassifier

from sumwise.data.categories.groups import Group
from sumwise.data.categories.target_statistics import CategorySums, find_places
from sumwise.kernels.runtime.threads import Team

DEPTH = 4


def make_table(seed, n_rows=400):
    rng = np.random.default_rng(seed)
    codes = {0: rng.integers(0, 9, n_rows), 1: rng.integers(0, 3, n_rows)}
    y = rng.random(n_rows) < (1 + codes[0] + 3 * codes[1]) / 16
    return codes, y.astype(np.float64)


def fit_rival(codes, y, prior, path):
    model = CatBoostClassifier(
        iterations=1,
        depth=DEPTH,
        learning_rate=1.0,
        has_time=True,
        boosting_type="Plain",
        bootstrap_type="No",
        random_strength=0,
        one_hot_max_size=1,
        simple_ctr=[f"Borders:Prior={prior}/1"],
        combinations_ctr=[f"Borders:Prior={prior}/1"],
        max_ctr_complexity=2,
        leaf_estimation_iterations=1,
        leaf_estimation_method="Newton",
        l2_leaf_reg=1.0,
        logging_level="Silent",
        allow_writing_files=False,
        thread_count=1,
    )
    frame = pd.DataFrame({f"f{f}": own.astype(str) for f, own in codes.items()})
    model.fit(frame, y, cat_features=list(frame))
    model.save_model(path, format="json")
    return json.loads(path.read_text())


def find_statistics(codes, features, y, prior):
    rows = np.arange(y.size, dtype=np.uint32)
    group = Group.of_rows(features, np.array([9, 3]), codes, rows)
    places, values = find_places([group], codes), y[None, :]
    out = np.empty((1, 1, y.size))
    with Team(1) as team:
        options = (np.empty(0), np.array([prior]), 1.0, team)
        sums = CategorySums.of_rows(places, [group.n_places], rows, values, *options)
        sums.ordered(places, rows, values, np.empty(0), out, team)
    return out[0, 0]


@pytest.mark.parametrize("prior", [0.5, 0.25])
@pytest.mark.parametrize("seed", range(4))
def test_the_first_tree_has_the_same_rows_in_its_leaves(seed, prior, tmp_path):
    codes, y = make_table(seed)
    rival = fit_rival(codes, y, prior, tmp_path / "rival.json")
    (tree,) = rival["oblivious_trees"]
    ctrs, n_borders = rival["features_info"]["ctrs"], 0
    leaf = np.zeros(y.size, dtype=int)
    for bit, split in enumerate(tree["splits"]):
        # Splits are numbered by the borders of all statistics, one after the other.
        before = 0
        for ctr in ctrs:
            if split["split_index"] < before + len(ctr["borders"]):
                break
            before += len(ctr["borders"])
        features = tuple(e["cat_feature_index"] for e in ctr["elements"])
        statistics = find_statistics(codes, features, y, prior)
        scaled = np.float32(ctr["scale"]) * (statistics.astype(np.float32) + ctr["shift"])
        leaf |= (scaled > split["border"]).astype(int) << bit
        n_borders += 1
    assert n_borders >= 2
    n_leaves = len(tree["leaf_values"])
    np.testing.assert_array_equal(np.bincount(leaf, minlength=n_leaves), tree["leaf_weights"])
    gradient = np.bincount(leaf, y - 0.5, n_leaves)
    hessian = np.bincount(leaf, np.full(y.size, 0.25), n_leaves)
    np.testing.assert_allclose(gradient / (hessian + 1.0), tree["leaf_values"], atol=1e-12)
