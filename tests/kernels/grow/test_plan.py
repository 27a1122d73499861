"""Large nodes are cut into parts; what comes out does not depend on how."""

import numpy as np
import pytest

from sumwise.kernels.grow import plan
from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import Columns
from sumwise.tree import GrowthSettings, TreeGrower
from tests.kernels.grow.test_nursery import assert_same_for_threads
from tests.tree.test_grower import BinnedData, make_mapper, make_problem


@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
@pytest.mark.parametrize("n_features", [3, 20])
def test_large_nodes(growth, n_features):
    """So many rows that parts of a node are counted before they are moved."""
    settings = GrowthSettings(growth=growth, max_depth=4)
    problem = make_problem(n_features, n_features, 150_000)
    assert_same_for_threads(problem, settings, (2, 3, 5, 16))


@pytest.mark.parametrize("seed", range(8))
def test_symmetric_trees(seed):
    """Small siblings take turns in few scratch histograms, and levels are wider than a round."""
    rng = np.random.default_rng(seed)
    settings = GrowthSettings(
        growth="symmetric",
        max_depth=int(rng.integers(3, 9)),
        min_samples_leaf=int(rng.choice([2, 9, 40])),
    )
    problem = make_problem(seed, int(rng.integers(2, 20)), int(rng.choice([500, 6000])))
    assert_same_for_threads(problem, settings, (2, 3, 8, 16), exact_rows=seed % 2 * 10**9)


def plan_of(n_rows, n_features, n_threads, max_leaves=31):
    """The last plan of a tree on plain columns, and what it was made of."""
    rng = np.random.default_rng(0)
    codes = rng.integers(1, 256, (n_features, n_rows)).astype(np.uint8)
    n_value_bins = np.full(n_features, 255)
    settings = GrowthSettings(max_leaves=max_leaves)
    with Team(n_threads) as team:
        data = BinnedData.from_columns(codes, n_value_bins, team)
        shape = (data, make_mapper(n_value_bins), settings, Columns(), n_rows, team)
        grower = TreeGrower(*shape)
        return grower._work.plan, data


@pytest.mark.parametrize("n_threads", [1, 2, 3, 7, 16])
@pytest.mark.parametrize("n_features", [1, 16, 28, 100])
def test_units_hold_every_feature_once(n_threads, n_features):
    found, _ = plan_of(300, n_features, n_threads)
    assert sorted(found.features.tolist()) == list(range(n_features))
    spans = found.units[:, [plan.BEGIN, plan.END]]
    assert spans[0, 0] == 0
    assert spans[-1, 1] == n_features
    assert np.array_equal(spans[1:, 0], spans[:-1, 1])


def test_one_and_two_threads_guess_nothing():
    assert plan_of(300, 28, 1)[0].rules[plan.MOST_FAMILIES] == 1
    assert plan_of(300, 28, 2)[0].rules[plan.MOST_FAMILIES] == 1
    assert plan_of(300, 28, 4)[0].rules[plan.MOST_FAMILIES] > 1
    assert plan_of(300, 2000, 4)[0].rules[plan.MOST_FAMILIES] == 1  # many tiles
