"""Storages have the same verbs, and one grower serves them all; tests/tree judges what they do."""

import inspect

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from sumwise import GradientBoostingRegressor
from sumwise.kernels.grow.storage import bundled, categorical, dense, presorted
from sumwise.kernels.grow.tree import grow_best_first_tree, grow_symmetric_tree

# What the growers ask of the storage of a feature; see verbs.py.
PARAMETERS = {
    "score_node": ["job", "node", "child", "begin", "end"],
    "score_level": ["job", "first", "last", "begin", "end"],
    "take_side": ["job", "node", "child", "f"],
    "take_level_side": ["job", "node", "f"],
    "take_level_gain": ["job", "node", "f"],
    "count_left": ["job", "node", "first", "last"],
    "move_records": ["job", "node", "first", "last", "left", "right", "step"],
    "name_leaves": ["job", "node", "first", "last"],
}


@pytest.mark.parametrize("storage", [bundled, categorical, dense, presorted])
def test_storages_have_the_same_verbs(storage):
    for name, parameters in PARAMETERS.items():
        found = inspect.signature(getattr(storage, name).py_func).parameters
        assert list(found) == parameters, name


@pytest.mark.parametrize("growth", ["leaf", "symmetric"])
def test_one_grower_serves_all_tables(growth):
    """Types do not depend on the kind of table, nor on constraints: nothing is compiled twice."""
    X = np.random.default_rng(0).random((80, 3))
    codes, gaps, y = np.floor(9 * X), csr_matrix(np.where(X < 0.3, X, 0)), X.sum(axis=1)
    kernel = grow_symmetric_tree if growth == "symmetric" else grow_best_first_tree

    def fit(X, **parameters):
        model = GradientBoostingRegressor(n_estimators=1, growth=growth, min_samples_leaf=5)
        model.set_params(**parameters).fit(X, y)
        return set(kernel.signatures)

    before = fit(X)
    assert fit(codes, categorical_features=[0, 1]) == before
    assert fit(gaps) == before
    assert fit(X, splits="exact") == before
    assert fit(X, splits="approx", max_bins=9) == before
    assert fit(codes, splits="exact", categorical_features=[0]) == before
    assert fit(X, monotonic_cst=[1, 0, -1]) == before
    assert fit(X, interaction_cst=[[0, 1], [2]]) == before
    assert fit(X.astype(np.float32), path_smooth=1.0, extra_trees=True) == before
