"""Trees of the twin equal those of XGBoost and LightGBM."""

from __future__ import annotations

import math
import sys
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from .grow import GrowOptions, Tree
from .tables import grow_on, partition_of

Floats = NDArray[np.float64]
NAN = math.nan
INF = math.inf
LARGEST = sys.float_info.max
TINY = 5e-324  # the smallest positive double


# Rivals: distinct random gradients leave no ties, so the trees must be the same.


def partition_by(leaves: NDArray[Any]) -> set[frozenset[int]]:
    return {frozenset(np.flatnonzero(leaves == leaf).tolist()) for leaf in set(leaves)}


def value_of_rows(tree: Tree) -> Floats:
    values = np.zeros(sum(tree.n_rows[leaf] for leaf in tree.leaf_rows))
    for leaf, rows in tree.leaf_rows.items():
        values[rows] = tree.value[leaf]
    return values


def integer_table(seed: int, with_missing: bool) -> tuple[Floats, Floats, Floats]:
    """Return X of few integers and integer y, h that float32 holds exactly."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 12, (60, 4)).astype(np.float64)
    y = rng.integers(-9999, 10000, 60) + 1000 * X[:, 0] - 800 * X[:, 1]
    h = rng.integers(1, 64, 60).astype(np.float64)
    if with_missing:
        X[rng.random(X.shape) < 0.2] = NAN
    return X, y, h


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize(
    "penalty",
    [
        {},
        {"l2": 3.0},
        {"l1": 5000.0, "l2": 1.0},
        {"max_delta_step": 100.0, "l2": 1.0},
        {"min_child_weight": 120.0},
        {"min_gain": 200000.0},
    ],
    ids=str,
)
def test_level_wise_tree_equals_xgboost(
    penalty: dict[str, float], with_missing: bool, seed: int
) -> None:
    import xgboost

    X, y, h = integer_table(seed, with_missing)
    options = GrowOptions(growth="depth", max_depth=4, wide=True, **penalty)  # type: ignore[arg-type]
    tree = grow_on(X, -y, h, options)
    matrix = xgboost.DMatrix(X, label=y)
    rival = xgboost.train(
        {
            "tree_method": "exact",
            "max_depth": 4,
            "learning_rate": 1.0,
            "base_score": 0.0,
            "lambda": options.l2,
            "alpha": options.l1,
            "max_delta_step": options.max_delta_step,
            "min_child_weight": options.min_child_weight,
            # XGBoost does not halve the gain, and removes weak splits bottom up.
            "gamma": 2 * options.min_gain,
            "nthread": 1,
        },
        matrix,
        num_boost_round=1,
        obj=lambda raw, data: (-y, h),
    )
    leaves = rival.predict(matrix, pred_leaf=True).astype(int).ravel()
    assert tree.n_leaves > 4
    assert partition_of(tree) == partition_by(leaves)
    values = rival.predict(matrix, output_margin=True)
    np.testing.assert_allclose(value_of_rows(tree), values, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize(
    "penalty",
    [{}, {"l2": 0.1}, {"l1": 100.0}, {"min_samples_leaf": 4}],
    ids=str,
)
def test_leaf_wise_tree_equals_lightgbm(
    penalty: dict[str, float], with_missing: bool, seed: int
) -> None:
    # Penalties are mild: LightGBM gives up a feature in all descendants of a node
    # where no split of it has a positive gain, and a penalty makes gains negative.
    import lightgbm

    X, y, _ = integer_table(seed, with_missing)
    options = GrowOptions(growth="leaf", max_leaves=10, wide=True, **penalty)  # type: ignore[arg-type]
    tree = grow_on(X, -y, np.ones(len(y)), options)
    rival = lightgbm.train(
        {
            "objective": "regression",
            "boost_from_average": False,
            "num_leaves": 10,
            "learning_rate": 1.0,
            "lambda_l1": options.l1,
            "lambda_l2": options.l2,
            "min_data_in_leaf": options.min_rows,
            "min_sum_hessian_in_leaf": 0.0,
            "min_data_in_bin": 1,
            "feature_pre_filter": False,
            "num_threads": 1,
            "verbosity": -1,
        },
        lightgbm.Dataset(X, y),
        num_boost_round=1,
    )
    leaves = rival.predict(X, pred_leaf=True).astype(int).ravel()
    assert tree.n_leaves == 10
    assert partition_of(tree) == partition_by(leaves)
    np.testing.assert_allclose(value_of_rows(tree), rival.predict(X), rtol=1e-6)
