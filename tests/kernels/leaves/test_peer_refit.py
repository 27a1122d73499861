"""Rows of several processes, grouped by leaf, and what nodes have of all of them."""

import numpy as np
import pytest

from sumwise.kernels.leaves import peer_refit as kernels
from sumwise.kernels.leaves.refit import RefitBuffers, RefitRule
from sumwise.kernels.losses.influence import CLIPPED
from sumwise.kernels.runtime.threads import Team

# Node 0 has the children 1 and 2, node 2 has 3 and 4; 1 has 5 and 6.
LEFT = np.array([1, 5, 3, -1, -1, -1, -1], dtype=np.int32)


def make_buffers(n_rows, n_threads, weighted):
    return RefitBuffers(
        residual=np.empty(n_rows),
        units=np.empty(n_rows if weighted else 0, dtype=np.int64),
        keys=np.empty(0, dtype=np.uint64),
        mass=np.empty(0, dtype=np.int64),
        counters=np.empty((n_threads, 0), dtype=np.int64),
        place=np.empty((n_threads, LEFT.size), dtype=np.int64),
        first=np.empty(LEFT.size, dtype=np.int64),
        n_rows=np.empty(LEFT.size, dtype=np.int64),
        center=np.zeros(LEFT.size),
    )


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_rows", [0, 1, 40])
def test_rows_are_grouped_by_leaf(n_rows, weighted, n_threads):
    rng = np.random.default_rng(n_rows)
    leaf = rng.choice([3, 4, 6], 50).astype(np.uint32)  # leaf 5 has no rows
    target, scores = rng.normal(size=(2, 50))
    units = rng.integers(1, 9, 50) if weighted else np.empty(0, dtype=np.int64)
    rows = np.sort(rng.choice(50, n_rows, replace=False)).astype(np.uint32)
    buffers = make_buffers(n_rows, n_threads, weighted)
    with Team(n_threads) as team:
        team.run(kernels.group_rows, rows, leaf, LEFT, target, units, buffers, scores)
    for node, inside in enumerate(([3, 4, 5, 6], [5, 6], [3, 4], [3], [4], [5], [6])):
        own = rows[np.isin(leaf[rows], inside)]
        own = own[np.argsort([[5, 6, 3, 4].index(number) for number in leaf[own]], kind="stable")]
        begin = buffers.first[node]
        place = slice(begin, begin + buffers.n_rows[node])
        assert buffers.residual[place].tolist() == (target[own] - scores[own]).tolist()
        if weighted:
            assert buffers.units[place].tolist() == units[own].tolist()


def test_nodes_have_what_their_leaves_have():
    totals = np.zeros((2, 7), dtype=np.int64)
    totals[:, 3:] = [[4, 0, 2, 1], [9, 0, 5, 3]]
    anchor = np.arange(7, dtype=np.int32)
    anchor[6] = 1
    kernels.settle_nodes(LEFT, totals, anchor)
    assert totals.tolist() == [[7, 3, 4, 4, 0, 2, 1], [17, 8, 9, 9, 0, 5, 3]]
    # Leaf 4 has no rows; leaf 6 has the value of node 1 anyway.
    assert anchor.tolist() == [0, 1, 2, 3, 2, 5, 1]


def test_leaves_take_the_centers_of_their_anchors():
    buffers = make_buffers(0, 1, False)
    buffers.center[:] = [0.0, 5.0, 0.0, -9.0, 1.0, 2.0, 100.0]
    anchor = np.array([0, 1, 2, 3, 4, 5, 1], dtype=np.int32)
    weight, value = np.array([4.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0]), np.empty((7, 1))
    rule = RefitRule(0.5, np.inf, CLIPPED, 6.0, 0.1)
    kernels.set_node_values(LEFT, anchor, weight, rule, buffers, value)
    assert value[3:, 0] == pytest.approx([-0.6, 0.1, 0.2, 0.5])
    assert value[:3, 0] == pytest.approx([0.05, 0.35, -0.25])
