"""Nodes that are split before their turn: the tree is that of one thread, byte by byte."""

import numpy as np
import pytest

from sumwise.data.binned import BinnedData
from sumwise.kernels.grow import layout
from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import Columns
from sumwise.tree import GrowthSettings, TreeConstraints, TreeGrower, workspace
from tests.tree.test_grower import assert_equal_bytes, make_mapper, make_problem


def grow(problem, settings, n_threads, exact_rows=0, columns=None):
    """Return a tree, the leaf of each row, and how many pairs were guessed in vain."""
    codes, n_value_bins, g, h, rows = problem
    with Team(n_threads) as team:
        data = BinnedData.from_columns(codes, n_value_bins, team)
        shape = (data, make_mapper(n_value_bins), settings, columns or Columns(), rows.size, team)
        grower = TreeGrower(*shape, exact_rows=exact_rows)
        scores = np.zeros(codes.shape[1])
        tree = grower.grow_on_gradients(g, h, rows.astype(np.uint32), np.uint64(7), scores)
        work = grower._work
        n_dropped = work.plan.free_pairs.size - work.control[layout.N_NURSERY]
        return tree, work.leaf[rows].copy(), n_dropped


def assert_same_for_threads(problem, settings, counts=(3, 4, 8, 16), **options):
    """Grow with one thread and with many; return how many pairs were guessed in vain."""
    tree, leaf, n_dropped = grow(problem, settings, 1, **options)
    assert n_dropped == 0
    for n_threads in counts:
        other, other_leaf, n_more = grow(problem, settings, n_threads, **options)
        assert_equal_bytes(other, tree)
        assert np.array_equal(other_leaf, leaf)
        n_dropped += n_more
    return n_dropped


def draw_settings(rng, growth):
    return GrowthSettings(
        growth=growth,
        max_leaves=int(rng.integers(2, 60)) if rng.random() < 0.7 else None,
        max_depth=int(rng.integers(2, 9)) if rng.random() < 0.4 else None,
        min_samples_leaf=int(rng.choice([1, 3, 20])),
        min_gain=float(rng.choice([0.0, 0.0, 0.5])),
        l1=float(rng.choice([0.0, 0.3])),
        max_delta_step=float(rng.choice([0.0, 0.0, 0.3])),
        path_smooth=float(rng.choice([0.0, 0.0, 3.0])),
    )


@pytest.mark.parametrize("growth", ["leaf", "depth"])
@pytest.mark.parametrize("seed", range(25))
def test_many_threads_grow_the_same_tree(growth, seed):
    rng = np.random.default_rng([seed, len(growth)])
    n_features, n_rows = int(rng.integers(2, 30)), int(rng.choice([200, 1500, 6000]))
    codes, n_value_bins, g, h, rows = make_problem(seed, n_features, n_rows)
    if seed % 3 == 0:  # gains that are equal
        codes, g = np.tile(codes[:, : n_rows // 4], 4), np.tile(np.sign(g[: n_rows // 4]), 4)
        codes[1::2], n_value_bins[1::2] = codes[0], n_value_bins[0]
        h = np.ones(4 * (n_rows // 4))
        rows = np.arange(h.size)
    if seed % 4 == 1:
        rows = np.sort(rng.choice(rows, int(0.7 * rows.size), replace=False))
    problem = codes, n_value_bins, g, h, rows
    exact_rows = 10**9 if seed % 5 == 4 else 0
    assert_same_for_threads(problem, draw_settings(rng, growth), exact_rows=exact_rows)


@pytest.mark.parametrize("growth", ["leaf", "depth"])
def test_what_was_guessed_in_vain_is_dropped(growth):
    n_dropped = 0
    for seed in range(6):
        settings = GrowthSettings(growth=growth, max_leaves=20, min_samples_leaf=3)
        n_dropped += assert_same_for_threads(make_problem(seed, 6, 900), settings)
    # No child comes before the rest of a level.
    assert n_dropped == 0 if growth == "depth" else n_dropped > 0


@pytest.mark.parametrize("columns", [Columns(by_node=0.5), Columns(by_level=0.5, by_tree=0.8)])
def test_drawn_features(columns):
    settings = GrowthSettings(max_leaves=25, min_samples_leaf=3)
    assert_same_for_threads(make_problem(2, 19, 900), settings, columns=columns)


@pytest.mark.parametrize("seed", range(6))
def test_constraints(seed):
    directions, groups = [1, -1, 0, 0, 1, 0], [[0, 1, 2], [2, 3, 4, 5]]
    constraints = TreeConstraints(directions, groups if seed % 2 else (), seed % 3)
    settings = GrowthSettings(max_leaves=30, min_samples_leaf=3, constraints=constraints)
    assert_same_for_threads(make_problem(seed, 6, 1200), settings)


@pytest.mark.parametrize("n_bytes", [1, 60_000, 200_000])
def test_few_histograms(n_bytes, monkeypatch):
    """Guesses need free histograms; the next node in turn does without."""
    monkeypatch.setattr(workspace, "_POOL_BYTES", n_bytes)
    settings = GrowthSettings(max_leaves=40, min_samples_leaf=3)
    assert_same_for_threads(make_problem(4, 9, 2000), settings)


def test_a_small_nursery(monkeypatch):
    monkeypatch.setattr(workspace, "_MOST_FAMILIES", 2)
    settings = GrowthSettings(max_leaves=60, min_samples_leaf=3)
    assert_same_for_threads(make_problem(5, 9, 3000), settings)
