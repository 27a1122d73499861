"""The compiled grower against its naive twin, node by node."""

import numpy as np
import pytest

from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.kernels.threads import Team
from sumwise.sampling import Columns
from sumwise.tree import GrowthSettings, TreeGrower
from tests.naive import grow as naive

GROWTHS = ["leaf", "depth", "symmetric"]


def make_codes(rng, n_features, n_rows, missing):
    """Random bins: columns of few and of many values, some with missing rows, some constant."""
    n_value_bins = rng.choice([1, 2, 3, 9, 40, 255], size=n_features)
    codes = np.stack([rng.integers(1, n + 1, size=n_rows) for n in n_value_bins])
    codes[rng.random(codes.shape) < missing * rng.integers(0, 2, (n_features, 1))] = 0
    return codes.astype(np.uint8), n_value_bins.astype(np.int64)


def grow_compiled(codes, n_value_bins, g, h, rows, options, n_threads, exact_rows):
    settings = GrowthSettings(
        growth=options.growth,
        max_leaves=options.max_leaves,
        max_depth=options.max_depth,
        min_samples_leaf=options.min_samples_leaf,
        min_child_weight=options.min_child_weight,
        min_gain=options.min_gain,
        l1=options.l1,
        l2=options.l2,
        max_delta_step=options.max_delta_step,
        learning_rate=options.learning_rate,
    )
    mapper = BinMapper([np.arange(1.5, n) for n in n_value_bins])
    scores = np.zeros(codes.shape[1])
    with Team(n_threads) as team:
        data = BinnedData.from_columns(codes, n_value_bins, team)
        grower = TreeGrower(
            data, mapper, settings, Columns(), rows.size, team, exact_rows=exact_rows
        )
        tree = grower.grow_on_gradients(g, h, rows.astype(np.uint32), 7, scores)
        others = np.setdiff1d(np.arange(codes.shape[1]), rows).astype(np.uint32)
        grower.add_to_scores(tree, others, scores)
    return tree, scores


def assert_same_tree(tree, twin):
    assert tree.feature.tolist() == twin.feature
    assert tree.split_bin.tolist() == twin.split_bin
    assert tree.missing_left.tolist() == twin.missing_left
    assert tree.left.tolist() == twin.left
    assert tree.n_rows.tolist() == twin.n_rows
    assert tree.gain.tolist() == twin.gain
    assert tree.weight.tolist() == twin.sum_hessian
    assert tree.value[:, 0].tolist() == twin.value


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_tree_equals_naive_twin(growth, wide, seed):
    rng = np.random.default_rng(seed)
    n_features, n_rows = int(rng.integers(1, 22)), int(rng.integers(30, 200))
    codes, n_value_bins = make_codes(rng, n_features, n_rows, missing=0.3)
    g = rng.normal(size=n_rows)
    h = np.ones(n_rows) if seed % 3 == 0 else rng.random(n_rows) + 0.01
    rows = np.sort(rng.choice(n_rows, size=int(0.8 * n_rows), replace=False))
    options = naive.GrowOptions(
        growth=growth,
        max_leaves=int(rng.integers(2, 20)) if seed % 2 else None,
        max_depth=int(rng.integers(1, 5)) if growth == "symmetric" or seed % 4 else None,
        min_samples_leaf=int(rng.integers(1, 8)),
        min_child_weight=float(rng.choice([0.0, 2.0])),
        min_gain=float(rng.choice([0.0, 0.2])),
        l1=float(rng.choice([0.0, 0.5])),
        l2=float(rng.choice([0.0, 1.0])),
        max_delta_step=float(rng.choice([0.0, 0.3])),
        wide=wide,
        learning_rate=0.5,
    )
    if options.max_leaves is None and options.max_depth is None:
        options = naive.GrowOptions(**{**vars(options), "max_leaves": 10**6})
    exact_rows = 10**9 if wide else 0
    twin = naive.grow_tree(codes, n_value_bins, g, h, rows, options)
    for n_threads in (1, 2, 3):
        tree, scores = grow_compiled(
            codes, n_value_bins, g, h, rows, options, n_threads, exact_rows
        )
        assert_same_tree(tree, twin)
        expected = tree.value[:, 0][_leaves(tree, codes)]
        assert scores.tolist() == expected.tolist()


def _leaves(tree, codes):
    leaves = np.zeros(codes.shape[1], dtype=int)
    for row in range(codes.shape[1]):
        node = 0
        while tree.feature[node] >= 0:
            code = codes[tree.feature[node], row]
            left = bool(tree.missing_left[node]) if code == 0 else code <= tree.split_bin[node]
            node = tree.left[node] + (0 if left else 1)
        leaves[row] = node
    return leaves
