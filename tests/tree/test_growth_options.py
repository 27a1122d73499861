"""Smoothed paths and random splits: the compiled grower against its naive twin, bit for bit."""

from dataclasses import replace

import numpy as np
import pytest

from tests.kernels.grow.storage.test_presorted import check_twin, make_values
from tests.kernels.grow.storage.test_presorted import draw_options as draw_exact_options
from tests.naive import grow as naive
from tests.tree.test_category_growth import Problem
from tests.tree.test_grower import (
    _leaves,
    assert_same_tree,
    draw_constraints,
    grow_compiled,
    make_problem,
)

GROWTHS = ["leaf", "depth", "symmetric"]
KEY = 7
CHOICES = {
    "smooth": {"path_smooth": 12.0},
    "random": {"random_key": KEY},
    "both": {"path_smooth": 0.7, "random_key": KEY},
}


def draw_options(rng, growth, **choices):
    return naive.GrowOptions(
        growth=growth,
        max_depth=int(rng.integers(2, 6)),
        max_leaves=int(rng.integers(4, 30)),
        min_samples_leaf=int(rng.integers(1, 8)),
        min_child_weight=float(rng.choice([0.0, 2.0])),
        l1=float(rng.choice([0.0, 0.5])),
        l2=float(rng.choice([0.0, 1.0])),
        max_delta_step=float(rng.choice([0.0, 0.3])),
        learning_rate=0.3,
        **choices,
    )


def check_binned(problem, options, exact_rows):
    twin = naive.grow_tree(*problem, options)
    for n_threads in (1, 2, 4):
        tree, scores = grow_compiled(*problem, options, n_threads, exact_rows, key=KEY)
        assert_same_tree(tree, twin)
        assert scores.tolist() == tree.value[:, 0][_leaves(tree, problem[0])].tolist()
    return twin


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("wide", [True, False])
@pytest.mark.parametrize("choice", CHOICES)
def test_tree_equals_naive_twin(choice, wide, growth):
    n_leaves = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        problem = make_problem(seed, int(rng.integers(2, 22)), int(rng.integers(60, 400)), 0.3)
        options = draw_options(rng, growth, wide=wide, **CHOICES[choice])
        n_leaves.append(check_binned(problem, options, 10**9 if wide else 0).n_leaves)
    assert max(n_leaves) > 4


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("choice", CHOICES)
def test_constrained_tree_equals_naive_twin(choice, growth):
    for seed in range(8):
        rng = np.random.default_rng(seed)
        n_features = int(rng.integers(2, 6))
        problem = make_problem(seed, n_features, int(rng.integers(60, 300)), missing=0.3)
        directions, groups, most = draw_constraints(rng, n_features, problem[0])
        rules = {"directions": directions, "groups": groups, "max_path_features": most}
        options = draw_options(rng, growth, wide=seed % 2 == 0, **rules, **CHOICES[choice])
        check_binned(problem, options, 0 if seed % 2 else 10**9)


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("choice", CHOICES)
def test_sets_of_categories_equal_naive_twin(choice, growth):
    for seed in range(6):
        problem = Problem(seed, 300)
        options = draw_options(np.random.default_rng(seed), growth, wide=True, **CHOICES[choice])
        options = replace(options, categorical=problem.kinds, native=problem.native)
        twin = problem.grow_twin(options)
        for n_threads in (1, 2):
            problem.check(*problem.grow(options, n_threads, 10**9, key=KEY), twin)


@pytest.mark.parametrize("growth", GROWTHS)
@pytest.mark.parametrize("choice", CHOICES)
def test_exact_splits_equal_naive_twin(choice, growth):
    for seed in range(6):
        rng = np.random.default_rng(seed)
        n_rows = int(rng.integers(20, 400))
        X = make_values(rng, n_rows, int(rng.integers(1, 7)), missing=0.3 * (seed % 3 > 0))
        g, h = rng.normal(size=n_rows) + np.nan_to_num(X[:, 0]), rng.random(n_rows) + 0.01
        rows = np.sort(rng.choice(n_rows, size=int(0.7 * n_rows), replace=False))
        options = replace(draw_exact_options(rng, seed, growth), **CHOICES[choice])
        check_twin(X, g, h, rows, options, key=KEY)


def test_smoothing_draws_leaves_to_their_parents():
    """By half where a leaf has as many rows as ``path_smooth``; the root stays as it is."""
    codes, n_value_bins, rows = np.array([[1] * 30 + [2] * 10], dtype=np.uint8), [2], np.arange(40)
    g, h = np.where(codes[0] == 1, 1.0, -3.0), np.ones(40)
    for smooth, shares in ((0.0, (1, 1)), (10.0, (0.75, 0.5)), (30.0, (0.5, 0.25))):
        options = naive.GrowOptions(growth="leaf", max_depth=1, wide=True, path_smooth=smooth)
        tree, _ = grow_compiled(codes, np.array(n_value_bins), g, h, rows, options, 1, 10**9)
        assert tree.value[:, 0] == pytest.approx([0.0, -1.0 * shares[0], 3.0 * shares[1]])
        assert tree.gain[0] == pytest.approx(
            0.5 * (30 * (1 - (1 - shares[0]) ** 2) + 90 * (1 - (1 - shares[1]) ** 2))
        )


def test_random_splits_are_uniform_among_the_bins_of_the_node():
    """The rows lie in bins 3 to 7, and some are missing: five splits, all as likely."""
    rng = np.random.default_rng(0)
    codes = rng.choice([0, 3, 4, 6, 7], 200).astype(np.uint8)[None]
    g, n_draws = rng.normal(size=200), 2000
    options = naive.GrowOptions(growth="leaf", max_depth=1, wide=True, random_key=0)
    counts = np.zeros(10)
    for key in range(n_draws):
        keyed = replace(options, random_key=key)
        split = naive.grow_tree(codes, [9], g, np.ones(200), np.arange(200), keyed).split_bin[0]
        counts[split] += 1
    assert counts[[0, 1, 2, 7, 8]].tolist() == [0] * 5
    deviation = np.sqrt(n_draws * 0.2 * 0.8)
    assert (np.abs(counts[[3, 4, 5, 6, 9]] - n_draws / 5) < 4 * deviation).all()
