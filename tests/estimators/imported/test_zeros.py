"""Splits that treat zero as missing, against a naive walk."""

import math

import numpy as np
import pytest

from sumwise.errors import ModelFileError
from sumwise.estimators.imported.nodes import SourceNodes
from sumwise.estimators.imported.zeros import ZERO, expand_zeros
from sumwise.tree import LeafModels

EDGES = [-ZERO, ZERO, 0.0, -0.0, 5e-324]
NEAR = [x for edge in EDGES for x in (edge, np.nextafter(edge, 9), np.nextafter(edge, -9))]
VALUES = [*NEAR, -2.0, -1.0, -0.5, 0.5, 1.0, 2.0, math.inf, -math.inf, math.nan]


def grow(rng, n_splits, n_features=3):
    """Return a random tree whose values are numbers of nodes, and which nodes are special."""
    n_nodes = 2 * n_splits + 1
    left, right = np.full(n_nodes, -1), np.full(n_nodes, -1)
    leaves = [0]
    for k in range(n_splits):
        node = leaves.pop(rng.integers(len(leaves)))
        left[node], right[node] = 2 * k + 1, 2 * k + 2
        leaves += [2 * k + 1, 2 * k + 2]
    nodes = SourceNodes(
        left=left,
        right=right,
        feature=rng.integers(0, n_features, n_nodes),
        threshold=rng.choice([x for x in VALUES if x == x], n_nodes),
        missing_left=rng.random(n_nodes) < 0.5,
        value=np.arange(n_nodes, dtype=np.float64)[:, None],
        gain=np.ones(n_nodes),
        weight=np.ones(n_nodes),
        n_rows=np.ones(n_nodes),
    )
    return nodes, (rng.random(n_features) < 0.7)[nodes.feature]


def walk(nodes, row, by_zero=None):
    node = 0
    while nodes.left[node] >= 0:
        x = row[nodes.feature[node]]
        is_missing = math.isnan(x)
        if by_zero is not None and by_zero[node]:
            is_missing |= -ZERO <= x <= ZERO
        goes_left = nodes.missing_left[node] if is_missing else x <= nodes.threshold[node]
        node = nodes.left[node] if goes_left else nodes.right[node]
    return nodes.value[node, 0]


@pytest.mark.parametrize("seed", range(12))
def test_rows_reach_the_same_leaves(seed):
    rng = np.random.default_rng(seed)
    nodes, by_zero = grow(rng, n_splits=int(rng.integers(0, 9)))
    plain = expand_zeros(nodes, by_zero)
    for row in rng.choice(VALUES, size=(80, 3)):
        assert walk(plain, row) == walk(nodes, row, by_zero)


def test_copies_share_the_rows_and_have_the_same_models():
    nodes, _ = grow(np.random.default_rng(0), 1)
    models = LeafModels(
        size=np.array([0, 1, 0], dtype=np.int32),
        constant=np.array([0.0, 5.0, 0.0]),
        low=np.full(3, -9.0),
        high=np.full(3, 9.0),
        feature=np.array([2], dtype=np.int32),
        coefficient=np.array([0.5]),
    )
    nodes = SourceNodes(
        **vars(nodes)
        | {"threshold": np.full(3, -1.0), "missing_left": np.ones(3), "models": models}
    )
    plain = expand_zeros(nodes, np.array([True, False, False]))
    assert plain.n_nodes == 7
    assert sorted(plain.value[plain.left < 0, 0].tolist()) == [1, 1, 2, 2]
    assert plain.weight[plain.left < 0].tolist() == [0.5] * 4
    assert plain.models.size.sum() == plain.models.feature.size == 2


def test_trees_that_would_become_too_large_are_refused():
    n_splits = 60
    nodes, _ = grow(np.random.default_rng(0), n_splits)
    chain = np.arange(n_splits)
    left, right = np.full(nodes.n_nodes, -1), np.full(nodes.n_nodes, -1)
    left[2 * chain], right[2 * chain] = 2 * chain + 1, 2 * chain + 2
    changed = {
        "left": left,
        "right": right,
        "feature": np.arange(nodes.n_nodes),
        "threshold": np.ones(nodes.n_nodes),
        "missing_left": np.zeros(nodes.n_nodes),
    }
    with pytest.raises(ModelFileError, match="zero_as_missing"):
        expand_zeros(SourceNodes(**vars(nodes) | changed), np.ones(nodes.n_nodes, dtype=bool))


def test_cycles_end():
    nodes, _ = grow(np.random.default_rng(0), 1)
    nodes = SourceNodes(**vars(nodes) | {"left": np.array([0, -1, -1])})
    with pytest.raises(ModelFileError):
        expand_zeros(nodes, np.ones(3, dtype=bool))
