"""The heap of nodes against Python's sorting."""

import numpy as np
import pytest

from sumwise.kernels.grow import layout
from sumwise.kernels.grow.heap import pop_node, push_node
from sumwise.kernels.runtime.jit import kernel


@kernel
def push(control, heap, nodes, growth, node):
    push_node(control, heap, nodes, growth, node)


@kernel
def pop(control, heap, nodes, growth):
    return pop_node(control, heap, nodes, growth)


@pytest.mark.parametrize("growth", [layout.LEAF_WISE, layout.LEVEL_WISE])
@pytest.mark.parametrize("seed", range(5))
def test_nodes_come_out_in_order(growth, seed):
    rng = np.random.default_rng(seed)
    nodes = np.zeros(60, dtype=layout.NODE_FIELDS)
    nodes["gain"] = rng.integers(0, 6, 60)  # many are equal
    nodes["depth"] = rng.integers(0, 4, 60)

    def rank(node):
        level = nodes[node]["depth"] if growth == layout.LEVEL_WISE else 0
        return level, -nodes[node]["gain"], node

    control = np.zeros(layout.CONTROL_LENGTH, dtype=np.int64)
    heap = np.full(60, -1, dtype=np.int32)
    waiting = []
    for node in rng.permutation(60):  # pushes and pops, as in a growing tree
        push(control, heap, nodes, growth, node)
        waiting.append(node)
        if rng.random() < 0.4:
            first = min(waiting, key=rank)
            assert pop(control, heap, nodes, growth) == first
            waiting.remove(first)
        assert control[layout.N_HEAP] == len(waiting)
    for first in sorted(waiting, key=rank):
        assert pop(control, heap, nodes, growth) == first
    assert control[layout.N_HEAP] == 0
