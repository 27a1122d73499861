"""Scores of linear models; for the descent see tests/training/boosters/test_linear.py."""

import numpy as np
import pytest

from sumwise.data.matrix import FlatMatrix
from sumwise.kernels.linear.dense import add_linear_scores
from sumwise.kernels.runtime.threads import Team


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("by_column", [False, True])
def test_terms_are_added_in_order(by_column, n_outputs, n_threads, kind):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5)).astype(kind)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[0, 4] = np.inf  # no matter: its coefficient is zero
    coefficient = rng.normal(size=(n_outputs, 5))
    coefficient[:, 4] = 0.0
    start = rng.normal(size=(600, n_outputs))
    expected = start.copy()
    for f in range(4):
        value = X[:, f].astype(np.float64)
        terms = np.where(np.isnan(value), 0.0, value)[:, None] * coefficient[:, f]
        expected += terms
    flat = np.ascontiguousarray(X.T if by_column else X).ravel()
    flat.flags.writeable = False
    strides = (1, 600) if by_column else (5, 1)
    found = start.copy()
    with Team(n_threads) as team:
        team.run(add_linear_scores, FlatMatrix(flat, *strides, 600), coefficient, found)
    assert np.array_equal(found, expected)
