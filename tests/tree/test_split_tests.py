"""Rows that follow the tests of codes arrive at the leaves of prediction."""

import numpy as np
import pytest

from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.runtime.threads import Team
from tests import forests
from tests.ensembles import draw_ensemble


def follow(trees, X):
    """Return the leaf of each row in each tree, by the codes of rows and the tests of splits."""
    tests, left = trees.find_tests(), trees.find_children()
    leaves = np.empty((len(X), trees.n_trees), dtype=np.int64)
    for first, rows in trees.code_rows(X, Team(1)):
        shape = -(-rows.n_rows // BLOCK), tests.n_columns, BLOCK
        codes = np.zeros(shape, dtype=np.uint8)
        rows.code(0, rows.n_rows, codes, Team(1))
        for i in range(rows.n_rows):
            for tree, node in enumerate(trees.start[:-1].tolist()):
                while left[node] >= 0:
                    code = codes[i // BLOCK, tests.column[node], i % BLOCK]
                    is_left = (int(code) - int(tests.skip[node])) % 256 <= tests.bound[node]
                    node = int(left[node]) + (0 if is_left else 1)
                leaves[first + i, tree] = node - trees.start[tree]
    return leaves


@pytest.mark.parametrize("seed", range(3))
def test_boosting(seed: int) -> None:
    ensemble, X = draw_ensemble(seed)
    np.testing.assert_array_equal(follow(ensemble, X), ensemble.apply(X, Team(1)))


def test_forests() -> None:
    grown = forests.grow()
    X = grown.X[:40].copy()
    X[:9, forests.CATEGORICAL] = np.arange(9)
    np.testing.assert_array_equal(follow(grown.forest, X), grown.forest.apply(X, Team(1)))
