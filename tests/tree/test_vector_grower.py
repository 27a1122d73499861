"""The compiled grower of vector leaves against its naive twin, node by node."""

import numpy as np
import pytest

from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.errors import TrainingError
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import Columns
from sumwise.tree import GrowthSettings, TreeGrower, workspace
from sumwise.tree.vector_grower import VectorGrower
from tests.naive.grow import GrowOptions
from tests.naive.random import choose_share, extend
from tests.naive.vectors import VectorGrower as Twin

GROWTHS = ["leaf", "depth", "symmetric"]


def make_codes(rng, n_features, n_rows, missing=0.3):
    n_value_bins = rng.choice([1, 2, 3, 9, 40, 255], size=n_features)
    codes = np.stack([rng.integers(1, n + 1, size=n_rows) for n in n_value_bins])
    codes[rng.random(codes.shape) < missing * rng.integers(0, 2, (n_features, 1))] = 0
    return codes.astype(np.uint8), n_value_bins.astype(np.int64)


def make_problem(seed, n_outputs, n_hessians, n_features=8, n_rows=200):
    """Codes, bins, gradients of very different sizes, hessians, rows."""
    rng = np.random.default_rng(seed)
    codes, n_value_bins = make_codes(rng, n_features, n_rows)
    g = rng.normal(size=(n_outputs, n_rows)) * 10.0 ** rng.integers(-3, 4, (n_outputs, 1))
    g += codes[0] / 50
    own = rng.random((n_outputs, n_rows)) + 0.01
    shared = np.tile(own[:1], (n_outputs, 1))
    h = {0: np.ones_like(g), 1: shared}.get(n_hessians, own)
    rows = np.sort(rng.choice(n_rows, size=int(0.8 * n_rows), replace=False))
    return codes, n_value_bins, g, h, rows


def as_settings(options):
    return GrowthSettings(
        **{
            name: getattr(options, name)
            for name in (
                "growth",
                "max_leaves",
                "max_depth",
                "min_samples_leaf",
                "min_child_weight",
                "min_gain",
                "l1",
                "l2",
                "max_delta_step",
                "learning_rate",
            )
        }
    )


def grow_compiled(problem, options, n_hessians, n_threads=1, columns=None, key=7):
    codes, n_value_bins, g, h, rows = problem
    scores = np.zeros_like(g)
    with Team(n_threads) as team:
        data = BinnedData.from_columns(codes, n_value_bins, team)
        mapper = BinMapper([np.arange(1.5, n) for n in n_value_bins])
        sizes = rows.size, len(g), n_hessians
        settings, columns = as_settings(options), columns or Columns()
        grower = VectorGrower(data, mapper, settings, columns, *sizes, team)
        rows = rows.astype(np.uint32)
        trees = grower.grow(g, h, rows, np.uint64(key))
        others = np.setdiff1d(np.arange(codes.shape[1]), rows).astype(np.uint32)
        for tree, own in zip(trees, scores, strict=True):
            grower.add_leaf_values(tree, rows, own)
            grower.add_to_scores(tree, others, own)
    return trees, scores


def assert_same_trees(trees, twin):
    for k, tree in enumerate(trees):
        for name in ("feature", "split_bin", "missing_left", "left", "n_rows"):
            assert getattr(tree, name).tolist() == getattr(twin, name), name
        assert tree.value[:, 0].tolist() == [own[k] for own in twin.value]
        assert tree.weight.tolist() == [own[k] for own in twin.weight]
        assert tree.gain.tolist() == [own[k] for own in twin.gain]


def find_leaves(tree, codes):
    leaves = np.zeros(codes.shape[1], dtype=int)
    for row in range(codes.shape[1]):
        node = 0
        while tree.feature[node] >= 0:
            code = codes[tree.feature[node], row]
            left = bool(tree.missing_left[node]) if code == 0 else code <= tree.split_bin[node]
            node = tree.left[node] + (0 if left else 1)
        leaves[row] = node
    return leaves


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("kind", ["unit", "shared", "own"])
@pytest.mark.parametrize("seed", range(8))
def test_trees_equal_the_naive_twin(growth, kind, seed):
    rng = np.random.default_rng(seed)
    n_outputs = int(rng.integers(1, 7))
    n_hessians = {"unit": 0, "shared": 1, "own": n_outputs}[kind]
    n_features, n_rows = int(rng.integers(1, 15)), int(rng.integers(30, 250))
    problem = make_problem(seed, n_outputs, n_hessians, n_features, n_rows)
    options = GrowOptions(
        growth=growth,
        max_leaves=int(rng.integers(2, 20)) if seed % 2 else None,
        max_depth=int(rng.integers(1, 5)) if growth == "symmetric" or seed % 4 else None,
        min_samples_leaf=int(rng.integers(1, 8)),
        min_child_weight=float(rng.choice([0.0, 2.0])),
        min_gain=float(rng.choice([0.0, 0.2])),
        l1=float(rng.choice([0.0, 0.5])),
        l2=float(rng.choice([0.0, 1.0])),
        max_delta_step=float(rng.choice([0.0, 0.3])),
        learning_rate=0.5,
    )
    if options.max_leaves is None and options.max_depth is None:
        options = GrowOptions(**{**vars(options), "max_leaves": 10**6})
    twin = Twin(*problem, options).grow()
    for n_threads in (1, 2, 3):
        trees, scores = grow_compiled(problem, options, n_hessians, n_threads)
        assert len(trees) == n_outputs
        assert_same_trees(trees, twin)
        leaves = find_leaves(trees[0], problem[0])
        for tree, own in zip(trees, scores, strict=True):
            assert own.tolist() == tree.value[leaves, 0].tolist()


@pytest.mark.parametrize("seed", range(6))
def test_deep_symmetric_trees_equal_the_naive_twin(seed):
    """Many nodes of a level have too few rows for any split."""
    problem = make_problem(seed, 3, 1, 9, 400)
    options = GrowOptions(growth="symmetric", max_depth=7, min_samples_leaf=seed + 2, l2=1.0)
    twin = Twin(*problem, options).grow()
    for n_threads in (1, 2):
        trees, _ = grow_compiled(problem, options, 1, n_threads)
        assert_same_trees(trees, twin)


@pytest.mark.parametrize("growth", GROWTHS)
def test_many_rows_equal_the_naive_twin(growth):
    """More rows than a block."""
    problem = make_problem(3, 4, 1, 6, 9000)
    options = GrowOptions(growth=growth, max_depth=5, min_samples_leaf=20, l2=1.0)
    trees, _ = grow_compiled(problem, options, 1, 2)
    assert_same_trees(trees, Twin(*problem, options).grow())


@pytest.mark.parametrize("growth", GROWTHS)
def test_one_output_is_the_tree_of_the_scalar_grower(growth):
    codes, n_value_bins, g, h, rows = make_problem(5, 1, 1, 10, 500)
    options = GrowOptions(growth=growth, max_depth=4, min_samples_leaf=5, l2=1.0, l1=0.1)
    (tree,), scores = grow_compiled((codes, n_value_bins, g, h, rows), options, 1)
    own = np.zeros(codes.shape[1])
    with Team(1) as team:
        data = BinnedData.from_columns(codes, n_value_bins, team)
        mapper = BinMapper([np.arange(1.5, n) for n in n_value_bins])
        settings = as_settings(options)
        grower = TreeGrower(data, mapper, settings, Columns(), rows.size, team, exact_rows=10**9)
        key = np.uint64(7)
        scalar = grower.grow_on_gradients(g[0], h[0], rows.astype(np.uint32), key, own)
    for name, values in vars(scalar).items():
        if values is not None:
            assert values.tobytes() == getattr(tree, name).tobytes(), name
    np.testing.assert_array_equal(scores[0, rows], own[rows])


@pytest.mark.parametrize("growth", GROWTHS)
def test_an_optional_hessian_changes_nothing(growth):
    """Hessians of 1 may be counted, summed once, or summed for every output."""
    problem = make_problem(2, 3, 0)
    options = GrowOptions(growth=growth, max_depth=4, min_samples_leaf=3, l2=0.5)
    found = [grow_compiled(problem, options, n_hessians)[0] for n_hessians in (0, 1, 3)]
    for trees in found[1:]:
        for tree, other in zip(found[0], trees, strict=True):
            np.testing.assert_array_equal(tree.feature, other.feature)
            np.testing.assert_array_equal(tree.value, other.value)
            np.testing.assert_array_equal(tree.gain, other.gain)
            np.testing.assert_array_equal(tree.weight, other.weight)


@pytest.mark.parametrize("growth", ["leaf", "depth"])
def test_features_are_drawn_as_elsewhere(growth):
    problem = make_problem(4, 3, 1, 12, 300)
    columns, key = Columns(by_tree=0.7, by_level=0.8, by_node=0.5), 99
    usable = [f for f, n in enumerate(problem[1]) if n > 1 or (problem[0][f] == 0).any()]

    def draw(node, depth):
        of_tree = choose_share(extend(key, int(random.COLUMNS_BY_TREE)), usable, 0.7)
        level_key = extend(extend(key, int(random.COLUMNS_BY_LEVEL)), depth)
        of_level = choose_share(level_key, of_tree, 0.8)
        node_key = extend(extend(key, int(random.COLUMNS_BY_NODE)), node)
        return choose_share(node_key, of_level, 0.5)

    options = GrowOptions(growth=growth, max_leaves=12, min_samples_leaf=5, features=draw)
    twin = Twin(*problem, options).grow()
    for n_threads in (1, 3):
        trees, _ = grow_compiled(problem, options, 1, n_threads, columns, key)
        assert_same_trees(trees, twin)


def test_a_small_pool_of_histograms_changes_nothing(monkeypatch):
    problem = make_problem(6, 3, 1, 8, 400)
    options = GrowOptions(growth="leaf", max_leaves=30, min_samples_leaf=2)
    expected, _ = grow_compiled(problem, options, 1)
    monkeypatch.setattr(workspace, "_POOL_BYTES", 1)
    found, _ = grow_compiled(problem, options, 1, 2)
    for tree, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(tree.feature, other.feature)
        np.testing.assert_array_equal(tree.value, other.value)


def test_gains_of_the_outputs_add_up():
    """A split is worth what it is to all outputs; to one of them it may be worth nothing."""
    codes = np.array([[1, 1, 2, 2] * 10, [1, 2] * 20], dtype=np.uint8)
    g = np.stack([np.where(codes[0] == 1, 1.0, -1.0), np.where(codes[1] == 1, 3.0, -3.0)])
    problem = codes, np.array([2, 2]), g, np.ones_like(g), np.arange(40)
    trees, _ = grow_compiled(problem, GrowOptions(max_leaves=2), 0)
    assert [tree.feature[0] for tree in trees] == [1, 1]
    assert [tree.gain[0] for tree in trees] == [0.0, 180.0]
    assert trees[0].value[1:].tolist() == [[0.0], [0.0]]
    assert trees[1].value[1:].tolist() == [[-3.0], [3.0]]


@pytest.mark.parametrize("bad", [np.inf, np.nan, 1e150])
def test_gradients_out_of_range(bad):
    codes, n_value_bins, g, h, rows = make_problem(1, 2, 1)
    g[1, rows[3]] = bad
    with pytest.raises(TrainingError, match="gradients are not finite or beyond"):
        grow_compiled((codes, n_value_bins, g, h, rows), GrowOptions(max_leaves=4), 1, 2)


def test_many_outputs():
    problem = make_problem(8, 300, 1, 3, 60)
    options = GrowOptions(max_leaves=4, min_samples_leaf=3, l2=1.0)
    trees, _ = grow_compiled(problem, options, 1, 2)
    assert_same_trees(trees, Twin(*problem, options).grow())
