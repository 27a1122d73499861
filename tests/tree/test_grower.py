"""The compiled grower against its naive twin, node by node."""

from dataclasses import replace

import numpy as np
import pytest

from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.errors import TrainingError
from sumwise.kernels.grow import layout
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import Columns
from sumwise.tree import GrowthSettings, TreeConstraints, TreeGrower
from sumwise.tree import grower as grower_module
from tests.naive import grow as naive
from tests.naive.random import choose_share, extend

GROWTHS = ["leaf", "depth", "symmetric"]


def make_codes(rng, n_features, n_rows, missing):
    """Random bins: columns of few and of many values, some with missing rows, some constant."""
    n_value_bins = rng.choice([1, 2, 3, 9, 40, 255], size=n_features)
    codes = np.stack([rng.integers(1, n + 1, size=n_rows) for n in n_value_bins])
    codes[rng.random(codes.shape) < missing * rng.integers(0, 2, (n_features, 1))] = 0
    return codes.astype(np.uint8), n_value_bins.astype(np.int64)


def as_settings(options):
    return GrowthSettings(
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
        path_smooth=options.path_smooth,
        extra_trees=options.random_key is not None,
        constraints=as_constraints(options),
    )


def as_constraints(options):
    if options.directions is None:
        return None
    return TreeConstraints(options.directions, options.groups, options.max_path_features)


def make_mapper(n_value_bins):
    return BinMapper([np.arange(1.5, n) for n in n_value_bins])


def grow_compiled(
    codes, n_value_bins, g, h, rows, options, n_threads, exact_rows, columns=None, key=7
):
    scores = np.zeros(codes.shape[1])
    with Team(n_threads) as team:
        data = BinnedData.from_columns(codes, n_value_bins, team)
        grower = TreeGrower(
            data,
            make_mapper(n_value_bins),
            as_settings(options),
            columns or Columns(),
            rows.size,
            team,
            exact_rows=exact_rows,
        )
        tree = grower.grow_on_gradients(g, h, rows.astype(np.uint32), np.uint64(key), scores)
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


def assert_equal_bytes(tree, other):
    for name, values in vars(tree).items():
        if values is None:  # leaves are constant
            assert getattr(other, name) is None
        else:
            assert values.tobytes() == getattr(other, name).tobytes(), name


def make_problem(seed, n_features=10, n_rows=400, missing=0.1):
    rng = np.random.default_rng(seed)
    codes, n_value_bins = make_codes(rng, n_features, n_rows, missing)
    g = rng.normal(size=n_rows) + codes[0] / 100
    return codes, n_value_bins, g, rng.random(n_rows) + 0.1, np.arange(n_rows)


def depth_of(tree):
    depth = np.zeros(tree.n_nodes, dtype=int)
    for node in np.flatnonzero(tree.feature >= 0):
        depth[tree.left[node]] = depth[tree.left[node] + 1] = depth[node] + 1
    return depth


# More against the twin


@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("seed", range(10))
def test_deep_symmetric_tree_equals_naive_twin(seed, wide):
    """Many nodes of a level have too few rows for any split."""
    rng = np.random.default_rng(seed)
    problem = make_problem(seed, int(rng.integers(3, 12)), int(rng.integers(150, 500)))
    options = naive.GrowOptions(
        growth="symmetric",
        max_depth=int(rng.integers(4, 8)),
        min_samples_leaf=int(rng.integers(2, 12)),
        l2=1.0,
        wide=wide,
    )
    twin = naive.grow_tree(*problem, options)
    for n_threads in (1, 2):
        tree, _ = grow_compiled(*problem, options, n_threads, 10**9 if wide else 0)
        assert_same_tree(tree, twin)


def test_symmetric_level_with_many_small_siblings():
    """Each histogram must keep its own place, also where siblings too small need one for a while.

    Eight nodes: six split into 10 rows and 5, which is too few to go on; two into 10 and 10.
    """
    rows = [
        [1 + (node >> 2), 1 + (node >> 1 & 1), 1 + (node & 1), side, 1 + i % 2]
        for node in range(8)
        for side, n_rows in ((1, 10), (2, 5 if node < 6 else 10))
        for i in range(n_rows)
    ]
    codes = np.array(rows, dtype=np.uint8).T.copy()
    y = codes.T @ np.array([1000.0, 300.0, 100.0, 30.0, 3.0])
    y += np.random.default_rng(0).normal(size=y.size)
    problem = codes, np.full(5, 2), y.mean() - y, np.ones(y.size), np.arange(y.size)
    options = naive.GrowOptions(growth="symmetric", max_depth=6, min_samples_leaf=5, wide=True)
    twin = naive.grow_tree(*problem, options)
    assert twin.feature[:31] == [0] + [1] * 2 + [2] * 4 + [3] * 8 + [4] * 16
    for n_threads in (1, 2):
        tree, _ = grow_compiled(*problem, options, n_threads, 10**9)
        assert_same_tree(tree, twin)


@pytest.mark.parametrize("growth", GROWTHS)
def test_packed_values_of_many_rows_equal_naive_twin(growth):
    """More rows than a packed word holds, and more features than a tile."""
    problem = make_problem(5, n_features=20, n_rows=9000)
    options = naive.GrowOptions(growth=growth, max_depth=3, min_samples_leaf=20, l2=1.0)
    twin = naive.grow_tree(*problem, options)
    assert twin.n_leaves == 8
    for n_threads in (1, 2, 3):
        tree, _ = grow_compiled(*problem, options, n_threads, 0)
        assert_same_tree(tree, twin)


# Column sampling


def draw_features(columns, usable, key, growth):
    """What a node may split on, by the contract of kernels.columns."""
    given = columns.weights
    weights = None if given is None else {f: w / max(given) for f, w in enumerate(given)}
    tree_key = extend(key, random.COLUMNS_BY_TREE)
    tree_features = choose_share(tree_key, usable, columns.by_tree, weights)

    def features(node_idx, depth):
        level_key = extend(extend(key, random.COLUMNS_BY_LEVEL), depth)
        level = choose_share(level_key, tree_features, columns.by_level, weights)
        number = depth if growth == "symmetric" else node_idx
        node_key = extend(extend(key, random.COLUMNS_BY_NODE), number)
        return choose_share(node_key, level, columns.by_node, weights)

    return features


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize(
    "columns",
    [
        Columns(by_tree=0.5),
        Columns(by_level=0.4),
        Columns(by_node=0.3),
        Columns(by_tree=0.7, by_level=0.7, by_node=0.5),
        Columns(by_node=1e-9),
        Columns(by_tree=0.5, weights=[*range(19)]),
        Columns(by_level=0.6, by_node=0.5, weights=[0.1, 9.0] * 9 + [0.0]),
        Columns(weights=[1, 0] * 9 + [1]),
    ],
    ids=repr,
)
def test_drawn_columns_equal_naive_twin(growth, columns):
    for seed in range(3):
        problem = make_problem(seed, n_features=19)
        codes = problem[0]
        usable = np.flatnonzero(codes.min(axis=1) < codes.max(axis=1)).tolist()
        key = int(random.make_key(seed, random.TREES, 5))
        options = naive.GrowOptions(
            growth=growth,
            max_depth=4,
            min_samples_leaf=5,
            l2=1.0,
            wide=True,
            features=draw_features(columns, usable, key, growth),
        )
        twin = naive.grow_tree(*problem, options)
        assert twin.n_leaves > 1
        for n_threads in (1, 2, 4):
            tree, _ = grow_compiled(*problem, options, n_threads, 10**9, columns, key)
            assert_same_tree(tree, twin)


def grow_many(columns, growth="leaf", n_keys=30, n_features=12, **settings):
    """Trees on noise, where any feature may be the best."""
    rng = np.random.default_rng(0)
    codes = rng.integers(1, 6, (n_features, 300)).astype(np.uint8)
    n_value_bins = np.full(n_features, 5)
    rows = np.arange(300, dtype=np.uint32)
    settings = GrowthSettings(growth=growth, min_samples_leaf=5, **settings)
    with Team(1) as team:
        data = BinnedData.from_columns(codes, n_value_bins, team)
        grower = TreeGrower(data, make_mapper(n_value_bins), settings, columns, 300, team)
        for key in range(n_keys):
            g = rng.normal(size=300)
            yield grower.grow_on_gradients(g, np.ones(300), rows, np.uint64(key), np.zeros(300))


@pytest.mark.parametrize("growth", GROWTHS)
def test_a_tree_draws_its_share(growth):
    used = [set(t.feature[t.feature >= 0]) for t in grow_many(Columns(by_tree=0.25), growth)]
    assert max(len(features) for features in used) == 3
    assert set.union(*used) == set(range(12))  # another share for each tree


@pytest.mark.parametrize("growth", GROWTHS)
def test_a_level_draws_its_share(growth):
    n_used = []
    for tree in grow_many(Columns(by_level=0.25), growth, max_depth=4):
        depth = depth_of(tree)
        for level in range(3):
            features = tree.feature[(depth == level) & (tree.feature >= 0)]
            n_used.append(len(set(features)))
    assert max(n_used) == (1 if growth == "symmetric" else 3)


@pytest.mark.parametrize("growth", GROWTHS)
def test_a_node_draws_at_least_one_feature(growth):
    for tree in grow_many(Columns(by_tree=1e-9, by_level=0.5, by_node=0.5), growth):
        assert len(set(tree.feature[tree.feature >= 0])) <= 1
        assert tree.n_leaves > 1


def test_levels_draw_from_the_tree_and_nodes_from_the_level():
    """Half of half of half of 12 features: 6, 3, 2."""
    columns = Columns(by_tree=0.5, by_level=0.5, by_node=0.5)
    for tree in grow_many(columns, max_leaves=16, max_depth=3):
        depth = depth_of(tree)
        by_level = [set(tree.feature[(depth == level) & (tree.feature >= 0)]) for level in range(3)]
        assert len(set.union(*by_level)) <= 6
        assert all(len(features) <= 3 for features in by_level)


@pytest.mark.parametrize("growth", GROWTHS)
def test_trees_of_one_grower_do_not_meet(growth):
    """Buffers are used again; nothing of one tree is left for the next."""
    codes, n_value_bins, g, h, rows = make_problem(1)
    rows = rows.astype(np.uint32)
    settings = GrowthSettings(growth=growth, max_depth=5, min_samples_leaf=3)
    columns = Columns(by_node=0.7)
    with Team(2) as team:
        data = BinnedData.from_columns(codes, n_value_bins, team)
        grower = TreeGrower(data, make_mapper(n_value_bins), settings, columns, rows.size, team)

        def grow(gradient, some_rows):
            return grower.grow_on_gradients(gradient, h, some_rows, np.uint64(3), np.empty(0))

        first = grow(g, rows)
        before = vars(first)["value"].copy()
        grow(-(g**3), rows[::3].copy())
        assert np.array_equal(first.value, before)  # a tree owns its arrays
        assert_equal_bytes(grow(g, rows), first)


@pytest.mark.parametrize("growth", GROWTHS)
def test_another_learning_rate_scales_the_values_and_binds_nothing_again(growth, monkeypatch):
    codes, n_value_bins, g, h, rows = make_problem(2)
    settings = GrowthSettings(growth=growth, max_depth=4, learning_rate=0.1)
    mapper, key = make_mapper(n_value_bins), np.uint64(3)
    with Team(2) as team:
        data = BinnedData.from_columns(codes, n_value_bins, team)

        def make_grower(rate):
            own = replace(settings, learning_rate=rate)
            return TreeGrower(data, mapper, own, Columns(), rows.size, team)

        def grow(grower, gradient):
            return grower.grow_on_gradients(
                gradient, h, rows.astype(np.uint32), key, np.zeros(rows.size)
            )

        grower = make_grower(0.1)
        grow(grower, g)
        expected = grow(make_grower(0.5), -g)
        monkeypatch.setattr(grower_module, "bind_jobs", None)
        grower.set_learning_rate(0.5)
        assert_equal_bytes(grow(grower, -g), expected)


# Limits


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("max_depth", [0, 1, 2, 5])
def test_max_depth(growth, max_depth):
    options = naive.GrowOptions(growth=growth, max_depth=max_depth, max_leaves=1000)
    tree, _ = grow_compiled(*make_problem(0), options, 1, 10**9)
    assert depth_of(tree).max() == max_depth
    assert tree.n_leaves <= 2**max_depth


@pytest.mark.parametrize(
    ("growth", "max_leaves", "n_leaves"),
    [("leaf", 1, 1), ("leaf", 2, 2), ("leaf", 13, 13), ("depth", 13, 13), ("symmetric", 13, 8)],
)
def test_max_leaves(growth, max_leaves, n_leaves):
    options = naive.GrowOptions(growth=growth, max_leaves=max_leaves)
    tree, _ = grow_compiled(*make_problem(0), options, 1, 10**9)
    assert tree.n_leaves == n_leaves
    assert tree.n_nodes == 2 * n_leaves - 1


def test_every_leaf_has_its_rows():
    codes, n_value_bins, g, h, rows = make_problem(4, n_rows=3000)
    for growth in ("leaf", "depth"):
        options = naive.GrowOptions(
            growth=growth, max_leaves=200, min_samples_leaf=17, min_child_weight=9.0
        )
        tree, _ = grow_compiled(codes, n_value_bins, g, h, rows, options, 2, 0)
        leaves = _leaves(tree, codes)
        counts = np.bincount(leaves, minlength=tree.n_nodes)
        is_leaf = tree.feature < 0
        assert tree.n_leaves > 50
        assert counts[is_leaf].min() >= 17
        assert tree.n_rows[is_leaf].tolist() == counts[is_leaf].tolist()
        weights = np.bincount(leaves, weights=h, minlength=tree.n_nodes)
        np.testing.assert_allclose(tree.weight[is_leaf], weights[is_leaf], rtol=1e-9)
        assert tree.weight[is_leaf].min() > 9 * 0.99  # histograms round hessians


# Nothing to split


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize(
    "codes",
    [
        np.full((3, 50), 2),
        np.zeros((3, 50)),
        np.empty((0, 50)),
        np.repeat([[1, 2]], 25, axis=1).reshape(1, 50),
    ],
    ids=["constant", "missing", "no features", "no gain"],
)
def test_unsplittable_data_gives_one_leaf(growth, n_threads, codes):
    codes = codes.astype(np.uint8)
    g, h, rows = np.full(50, 3.0), np.ones(50), np.arange(50)
    options = naive.GrowOptions(growth=growth, max_depth=4, l2=10.0, learning_rate=0.5)
    if codes.size:
        options = naive.GrowOptions(**{**vars(options), "l2": 0.0})
    n_value_bins = np.full(codes.shape[0], 2)
    tree, scores = grow_compiled(codes, n_value_bins, g, h, rows, options, n_threads, 10**9)
    assert tree.n_nodes == 1
    value = -0.5 * 150 / (50 + options.l2)
    assert tree.value.tolist() == [[value]]
    assert (tree.feature[0], tree.left[0], tree.gain[0]) == (-1, -1, 0.0)
    assert (tree.n_rows[0], tree.weight[0]) == (50, 50.0)
    assert scores.tolist() == [value] * 50


@pytest.mark.parametrize("growth", GROWTHS)
def test_too_few_rows_give_one_leaf(growth):
    codes, n_value_bins, g, h, rows = make_problem(0)
    options = naive.GrowOptions(growth=growth, max_depth=4, min_samples_leaf=20)
    for n_rows, may_split in ((1, False), (39, False), (40, True)):
        tree, _ = grow_compiled(codes, n_value_bins, g, h, rows[:n_rows], options, 2, 10**9)
        assert (tree.n_leaves > 1) == may_split
        assert tree.n_rows[0] == n_rows


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("bad", [np.nan, np.inf, 10 * layout.LARGEST_GRADIENT])
def test_gradients_out_of_range_are_an_error(bad, n_threads):
    codes, n_value_bins, g, h, rows = make_problem(0)
    g[-1] = bad
    with pytest.raises(TrainingError, match="gradients are not finite"):
        grow_compiled(
            codes, n_value_bins, g, h, rows, naive.GrowOptions(max_leaves=4), n_threads, 0
        )


@pytest.mark.parametrize("growth", GROWTHS)
def test_scores_that_overflow_give_one_leaf(growth):
    """G^2 / H is infinite everywhere, so no gain is a number; but the value is one."""
    codes, n_value_bins, _, _, rows = make_problem(0)
    g, h = np.full(400, 1e100), np.full(400, 1e-150)
    options = naive.GrowOptions(growth=growth, max_depth=3, wide=True)
    with np.errstate(over="ignore", invalid="ignore"):
        twin = naive.grow_tree(codes, n_value_bins, g, h, rows, options)
    tree, _ = grow_compiled(codes, n_value_bins, g, h, rows, options, 1, 10**9)
    assert tree.n_nodes == 1
    assert_same_tree(tree, twin)
    assert np.isfinite(tree.value).all()


@pytest.mark.parametrize("growth", GROWTHS)
def test_thresholds_come_from_the_mapper(growth):
    codes, n_value_bins, g, h, rows = make_problem(0, missing=0.3)
    options = naive.GrowOptions(growth=growth, max_depth=4)
    tree, _ = grow_compiled(codes, n_value_bins, g, h, rows, options, 1, 10**9)
    for node in range(tree.n_nodes):
        f, split_bin = tree.feature[node], int(tree.split_bin[node])
        if f < 0:
            assert tree.threshold[node] == 0.0
        elif split_bin == n_value_bins[f]:  # the missing against all values
            assert tree.threshold[node] == np.inf
        else:
            assert tree.threshold[node] == split_bin + 0.5


# Constraints


def draw_constraints(rng, n_features, codes):
    """Some features monotone, and groups, a limit of the path, or neither."""
    directions = rng.choice([-1, 0, 1], size=n_features).tolist()
    kind = rng.integers(0, 3)
    groups = ()
    if kind == 1:
        n_groups = int(rng.integers(1, 4))
        groups = [
            rng.choice(n_features, rng.integers(1, n_features + 1), False) for _ in range(n_groups)
        ]
        rest = np.setdiff1d(np.arange(n_features), np.concatenate(groups))
        groups = [sorted(group.tolist()) for group in [*groups, rest] if len(group)]
    return directions, groups, int(rng.integers(1, 3)) if kind == 2 else 0


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("seed", range(12))
def test_constrained_tree_equals_naive_twin(growth, wide, seed):
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(1, 6))
    problem = make_problem(seed, n_features, int(rng.integers(60, 300)), missing=0.3)
    codes = problem[0]
    directions, groups, most = draw_constraints(rng, n_features, codes)
    columns, key = Columns(by_node=float(rng.choice([0.6, 1.0]))), 11
    usable = np.flatnonzero(codes.min(axis=1) < codes.max(axis=1)).tolist()
    options = naive.GrowOptions(
        growth=growth,
        max_depth=int(rng.integers(2, 7)),
        min_samples_leaf=int(rng.integers(1, 8)),
        min_child_weight=float(rng.choice([0.0, 2.0])),
        l1=float(rng.choice([0.0, 0.5])),
        l2=float(rng.choice([0.0, 1.0])),
        max_delta_step=float(rng.choice([0.0, 0.3])),
        wide=wide,
        learning_rate=0.3,
        features=draw_features(columns, usable, key, growth),
        directions=directions,
        groups=groups,
        max_path_features=most,
    )
    twin = naive.grow_tree(*problem, options)
    for n_threads in (1, 2, 3):
        tree, scores = grow_compiled(
            *problem, options, n_threads, 10**9 if wide else 0, columns, key
        )
        assert_same_tree(tree, twin)
        assert scores.tolist() == tree.value[:, 0][_leaves(tree, codes)].tolist()


@pytest.mark.parametrize("growth", GROWTHS)
def test_any_values_can_be_made_to_obey(growth):
    """As needed where leaves get other values than those of the gradients."""
    rng = np.random.default_rng(0)
    codes = rng.integers(1, 7, (4, 300)).astype(np.uint8)
    n_value_bins, rows, directions = np.full(4, 6), np.arange(300), [1, -1, 0, 1]
    g, h = rng.normal(size=300) - np.array(directions) @ codes, np.ones(300)
    settings = GrowthSettings(
        growth=growth,
        max_depth=4,
        min_samples_leaf=3,
        learning_rate=0.3,
        constraints=TreeConstraints(directions),
    )
    mapper = make_mapper(n_value_bins)
    with Team(1) as team:
        data = BinnedData.from_columns(codes, n_value_bins, team)
        grower = TreeGrower(data, mapper, settings, Columns(), rows.size, team)
        tree = grower.grow_on_gradients(g, h, rows.astype(np.uint32), np.uint64(0), np.empty(0))
        assert tree.n_leaves > 4
        # Its own values obey already.
        assert grower.constrain_values(tree.value[:, 0]).tolist() == tree.value[:, 0].tolist()
        others = rng.normal(size=tree.n_nodes)
        before = others.copy()
        obedient = grower.constrain_values(others)
    assert others.tolist() == before.tolist()
    assert obedient.tolist() != before.tolist()
    cells = rng.integers(1, 6, (4, 200))
    for feature, direction in enumerate(directions):
        steps = np.repeat(cells, 2, axis=1)
        steps[feature, 1::2] += 1
        low, high = obedient[_leaves(tree, steps)].reshape(-1, 2).T
        assert (direction * low <= direction * high).all()


def test_without_monotone_features_values_stay_as_they_are():
    settings = GrowthSettings(constraints=TreeConstraints([0, 0], max_path_features=1))
    codes = np.ones((2, 9), dtype=np.uint8)
    with Team(1) as team:
        data = BinnedData.from_columns(codes, np.array([1, 1]), team)
        grower = TreeGrower(data, make_mapper([1, 1]), settings, Columns(), 9, team)
        value = np.array([3.0])
        assert grower.constrain_values(value) is value
