"""Leaves of rows by another table, and new values for them."""

import numpy as np
import pytest

from sumwise.data.binning import BinMapper
from sumwise.kernels.runtime import random
from sumwise.kernels.runtime.threads import Team
from sumwise.sampling import Columns
from sumwise.tree import GrowthSettings, LeafSolver, TreeGrower

N_ROWS = 700


def make_tables(kind, team):
    """Two tables with the same bins and other rows."""
    rng = np.random.default_rng(4)
    matrices = []
    for _ in range(2):
        X = rng.normal(size=(N_ROWS, 4)).round(1)
        X[:, 1] = rng.integers(0, {"numbers": 5, "narrow": 12, "wide": 300}[kind], N_ROWS)
        X[rng.random(X.shape) < 0.1] = np.nan
        matrices.append(X)
    n_categories = np.array([0, 0 if kind == "numbers" else 300, 0, 0])
    mapper = BinMapper.fit(matrices[0], n_categories=n_categories)
    return mapper, [mapper.transform(X, team) for X in matrices], matrices


@pytest.mark.parametrize("kind", ["numbers", "narrow", "wide"])
@pytest.mark.parametrize("growth", ["leaf", "depth", "symmetric"])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_leaves_in_another_table(kind, growth, n_threads):
    rows = np.arange(N_ROWS, dtype=np.uint32)
    rng = np.random.default_rng(5)
    with Team(n_threads) as team:
        mapper, tables, matrices = make_tables(kind, team)
        effect = np.nan_to_num(matrices[0][:, 1]) % 3 + np.nan_to_num(matrices[0][:, 0])
        gradient, hessian = effect - effect.mean() + rng.normal(size=N_ROWS), np.ones(N_ROWS)
        settings = GrowthSettings(growth=growth, min_samples_leaf=5, learning_rate=0.5)
        grower = TreeGrower(tables[0], mapper, settings, Columns(), N_ROWS, team)
        solver = LeafSolver(grower, N_ROWS, team)
        for number in range(3):
            grower.turn_to(tables[number % 2])
            key = random.make_key(0, random.TREES, number)
            tree = grower.grow_on_gradients(gradient, hessian, rows, key, np.empty(0))
            own = grower.get_leaves(tree)[0].copy()
            np.testing.assert_array_equal(grower.find_leaves(tree, rows), own)
            # The values of its own gradients are those it has.
            np.testing.assert_allclose(
                solver.solve(tree, rows, gradient, hessian).value, tree.value, rtol=1e-9
            )
            grower.turn_to(tables[(number + 1) % 2])
            leaf = grower.find_leaves(tree, rows).astype(np.int64)
            scores = np.zeros(N_ROWS)
            grower.add_to_scores(tree, rows, scores)
            np.testing.assert_array_equal(tree.value[leaf, 0], scores)
            found = solver.solve(tree, rows[::2], 2.0 * gradient, hessian)
            if growth != "symmetric":  # whose leaves may have the values of their parents
                sums = np.bincount(leaf[::2], 2.0 * gradient[::2], tree.n_nodes)
                expected = -0.5 * sums / (np.bincount(leaf[::2], minlength=tree.n_nodes) + 1.0)
                is_leaf = tree.left < 0
                np.testing.assert_allclose(found.value[is_leaf, 0], expected[is_leaf], atol=1e-9)
            grower.turn_to(tables[number % 2])
