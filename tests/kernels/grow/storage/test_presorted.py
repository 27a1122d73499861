"""Exact splits against their naive twin, bit for bit."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sumwise.data.binning import BinMapper
from sumwise.data.presorted import presort
from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import Columns
from sumwise.tree import TreeGrower
from tests.naive.exact import find_thresholds, grow_exact_tree
from tests.naive.grow import GrowOptions
from tests.tree.test_grower import as_settings, assert_equal_bytes, assert_same_tree, draw_features

GROWTHS = ["leaf", "depth", "symmetric"]


def make_values(rng, n_rows, n_features, missing=0.2):
    """Columns with many values and with few, one of them constant; some with missing values."""
    X = np.empty((n_rows, n_features))
    for f in range(n_features):
        kind = rng.integers(0, 4)
        X[:, f] = rng.normal(size=n_rows) if kind < 2 else rng.integers(0, 2 + kind * 9, n_rows)
    X[:, -1] = 3.0 if n_features > 3 else X[:, -1]
    X[(rng.random(X.shape) < missing) & (rng.random(n_features) < 0.6)] = np.nan
    return X


def rank_values(X, rows):
    """Ranks among the values of rows, by feature; 0 for missing."""
    ranks = np.zeros(X.T.shape, dtype=np.uint32)
    for own, column in zip(ranks, X.T, strict=True):
        values = np.unique(column[rows])
        values = values[~np.isnan(values)]
        is_value = ~np.isnan(column)
        own[is_value] = 1 + np.searchsorted(values, column[is_value])
    return ranks


def grow_compiled(X, g, h, rows, options, n_threads, columns=None, key=7, order=None):
    """Grow a tree on ``rows`` of those in ``order``; return it with the scores of all rows."""
    scores = np.zeros(len(X))
    order = np.arange(len(X)) if order is None else order
    with Team(n_threads) as team:
        data, mapper = presort(X, order.astype(np.uint32), team)
        limits = as_settings(options)
        grower = TreeGrower(data, mapper, limits, columns or Columns(), rows.size, team)
        tree = grower.grow_on_gradients(g, h, rows.astype(np.uint32), np.uint64(key), scores)
        others = np.setdiff1d(np.arange(len(X)), rows).astype(np.uint32)
        grower.add_to_scores(tree, others, scores)
    return tree, scores


def predict(tree, X):
    """The value of each row by the thresholds of the finished tree."""
    found = np.empty(len(X))
    for i, row in enumerate(X):
        node = 0
        while tree.feature[node] >= 0:
            value = row[tree.feature[node]]
            left = tree.missing_left[node] if np.isnan(value) else value <= tree.threshold[node]
            node = tree.left[node] + (0 if left else 1)
        found[i] = tree.value[node, 0]
    return found


def check_twin(X, g, h, rows, options, n_threads=(1, 2, 3), **drawn):
    all_rows = np.arange(len(X))
    twin = grow_exact_tree(rank_values(X, all_rows), g, h, rows, options)
    first = None
    for n in n_threads:
        tree, scores = grow_compiled(X, g, h, rows, options, n, **drawn)
        assert_same_tree(tree, twin)
        first = first or tree
        assert_equal_bytes(tree, first)
        assert scores.tolist() == predict(tree, X).tolist()
    assert first.threshold.tolist() == find_thresholds(X.T, twin, rows, options.growth)
    return first


def draw_options(rng, seed, growth):
    return GrowOptions(
        growth=growth,
        max_leaves=int(rng.integers(2, 20)) if seed % 2 else None,
        max_depth=int(rng.integers(1, 6)),
        min_samples_leaf=int(rng.integers(1, 8)),
        min_child_weight=float(rng.choice([0.0, 2.0])),
        min_gain=float(rng.choice([0.0, 0.2])),
        l1=float(rng.choice([0.0, 0.5])),
        l2=float(rng.choice([0.0, 1.0])),
        max_delta_step=float(rng.choice([0.0, 0.3])),
        learning_rate=0.5,
    )


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("seed", range(16))
def test_trees_equal_the_naive_twin(growth, seed):
    rng = np.random.default_rng(seed)
    n_rows, n_features = int(rng.integers(20, 700)), int(rng.integers(1, 7))
    X = make_values(rng, n_rows, n_features, missing=0.3 * (seed % 3 > 0))
    g = rng.normal(size=n_rows) + np.nan_to_num(X[:, 0])
    h = np.ones(n_rows) if seed % 4 == 0 else rng.random(n_rows) + 0.01
    rows = np.arange(n_rows)
    if seed % 2:
        rows = np.sort(rng.choice(n_rows, size=int(0.7 * n_rows), replace=False))
    check_twin(X, g, h, rows, draw_options(rng, seed, growth))


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("seed", range(8))
def test_constrained_trees_equal_the_naive_twin(growth, seed):
    rng = np.random.default_rng(100 + seed)
    X = make_values(rng, 300, 5, missing=0.2 * (seed % 2))
    g = rng.normal(size=300) - np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1])
    options = GrowOptions(
        growth=growth,
        max_depth=5,
        min_samples_leaf=int(rng.integers(1, 10)),
        l2=1.0,
        directions=[1, -1, 0, 1, 0],
        groups=[[0, 1, 2], [2, 3, 4]] if seed % 3 == 0 else (),
        max_path_features=2 if seed % 3 == 1 else 0,
    )
    check_twin(X, g, rng.random(300) + 0.1, np.arange(300), options)


@pytest.mark.parametrize("growth", GROWTHS)
def test_drawn_columns_equal_the_naive_twin(growth):
    rng = np.random.default_rng(1)
    X = make_values(rng, 300, 8)
    columns, key = Columns(by_tree=0.8, by_level=0.7, by_node=0.6), 12345
    usable = [f for f in range(8) if len(set(rank_values(X, np.arange(300))[f])) > 1]
    features = draw_features(columns, usable, key, growth)
    options = GrowOptions(growth=growth, max_depth=4, min_samples_leaf=3, features=features)
    g, h = rng.normal(size=300), rng.random(300) + 0.1
    tree = check_twin(X, g, h, np.arange(300), options, columns=columns, key=key)
    assert tree.n_leaves > 4


@settings(max_examples=25, deadline=None)
@given(
    values=st.lists(
        st.sampled_from([-np.inf, -1e300, -1.0, -0.0, 0.0, 5e-324, 1.0, 1e300, np.inf, np.nan]),
        min_size=8,
        max_size=60,
    ),
    growth=st.sampled_from(GROWTHS),
    seed=st.integers(0, 99),
)
def test_any_values_equal_the_naive_twin(values, growth, seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([values, rng.permutation(values)])
    g = rng.integers(-9, 10, len(X)).astype(float)
    options = GrowOptions(growth=growth, max_depth=3, min_samples_leaf=1, l2=1.0)
    rows = np.arange(len(X))
    twin = grow_exact_tree(rank_values(X, rows), g, np.ones(len(X)), rows, options)
    tree, scores = grow_compiled(X, g, np.ones(len(X)), rows, options, 1)
    assert_same_tree(tree, twin)
    assert scores.tolist() == predict(tree, X).tolist()


def test_thresholds_lie_between_neighbors_of_the_node():
    """Of the values 0, 1, 2, ..., 9, the right half of the first split has no 5."""
    X = np.column_stack([np.repeat([0.0, 1.0], 9), np.r_[0:9, [0, 1, 2, 3, 4, 6, 7, 8, 9]]])
    g = np.where(X[:, 0] == 0, 50.0, -50.0) + np.where(X[:, 1] > 5, 3.0, -3.0) * (X[:, 0] == 1)
    options = GrowOptions(growth="leaf", max_leaves=3, min_samples_leaf=1)
    tree, _ = grow_compiled(X, g, np.ones(18), np.arange(18), options, 1)
    assert tree.threshold[tree.feature == 0].tolist() == [0.5]
    assert tree.threshold[tree.feature == 1].tolist() == [5.0]  # between 4 and 6


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("seed", range(4))
def test_rows_that_are_never_seen_shape_nothing(growth, seed):
    """Neither ranks nor thresholds of a tree depend on rows that it does not have."""
    rng = np.random.default_rng(seed)
    X = make_values(rng, 400, 4)
    g, h = rng.normal(size=400) + np.nan_to_num(X[:, 0]), np.ones(400)
    rows = np.sort(rng.choice(400, size=250, replace=False))
    options = GrowOptions(growth=growth, max_depth=4, min_samples_leaf=5)
    by_all, scores = grow_compiled(X, g, h, rows, options, 2)
    by_own, own_scores = grow_compiled(X, g, h, rows, options, 2, order=rows)
    assert by_all.threshold.tolist() == by_own.threshold.tolist()
    assert scores.tolist() == own_scores.tolist()


@pytest.mark.parametrize("growth", GROWTHS)
def test_more_rows_than_a_chunk_with_ties_across_its_end(growth):
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.integers(0, n, 2000) for n in (2, 5, 700, 10**6)]).astype(float)
    X[:60, 1] = np.nan
    g = rng.normal(size=2000) + X[:, 2] / 300
    options = GrowOptions(growth=growth, max_depth=4, min_samples_leaf=20, l2=1.0)
    tree = check_twin(X, g, np.ones(2000), np.arange(2000), options)
    assert tree.n_leaves > 8


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("drawn", [False, True])
def test_ranks_of_bins_grow_the_trees_of_histograms(drawn, growth):
    """Bit for bit, if histograms sum exact values. Missing rows are another matter: exact splits
    part them from all values at infinity.
    """
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = make_values(rng, 400, 5, missing=0.0)
        g, h = rng.normal(size=400) + X[:, 0], rng.random(400) + 0.01
        rows = np.sort(rng.choice(400, size=300, replace=False)).astype(np.uint32)
        options = draw_options(rng, seed, growth)
        options = replace(options, random_key=7) if drawn else options
        trees = []
        with Team(2) as team:
            mapper = BinMapper.fit(X, 30, team=team)
            everything = np.arange(400, dtype=np.uint32)
            ranked, _ = presort(X, everything, team, bins=mapper)
            for data in (mapper.transform(X, team), ranked):
                own = (data, mapper, as_settings(options), Columns(), rows.size, team, 10**9)
                scores = np.zeros(400)
                tree = TreeGrower(*own).grow_on_gradients(g, h, rows, np.uint64(7), scores)
                trees.append((tree, scores))
        (binned, binned_scores), (tree, scores) = trees
        assert_equal_bytes(replace(tree, split_bin=tree.split_bin.astype(np.uint8)), binned)
        assert scores.tolist() == binned_scores.tolist()
