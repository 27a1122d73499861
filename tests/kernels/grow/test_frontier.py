"""The heap of nodes against Python's sorting, and the slots of the pool."""

import numpy as np
import pytest

from sumwise.kernels.grow import layout
from sumwise.kernels.grow.frontier import (
    free_all_slots,
    pop_node,
    push_node,
    release_slot,
    take_slot,
)
from sumwise.kernels.runtime.jit import kernel


@kernel
def push(control, heap, nodes, growth, node):
    push_node(control, heap, nodes, growth, node)


@kernel
def pop(control, heap, nodes, growth):
    return pop_node(control, heap, nodes, growth)


@kernel
def free_all(control, free_slots):
    free_all_slots(control, free_slots)


@kernel
def take(control, free_slots, scratch):
    return take_slot(control, free_slots, scratch)


@kernel
def release(control, free_slots, nodes, node):
    release_slot(control, free_slots, nodes, node)


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


def test_slots_are_handed_out_once_and_come_back():
    control = np.zeros(layout.CONTROL_LENGTH, dtype=np.int64)
    free_slots = np.empty(3, dtype=np.int32)
    nodes = np.zeros(5, dtype=layout.NODE_FIELDS)
    free_all(control, free_slots)
    assert [take(control, free_slots, 0) for _ in range(3)] == [0, 1, 2]
    # the pool is used up: scratch places, which are none of it
    assert [take(control, free_slots, which) for which in (0, 1)] == [3, 4]
    nodes["slot"] = np.arange(5)
    for node in (1, 3, 4):
        release(control, free_slots, nodes, node)
        assert nodes[node]["slot"] == -1
    assert take(control, free_slots, 0) == 1
    assert take(control, free_slots, 0) == 3
    release(control, free_slots, nodes, 1)  # it has none any more
    assert control[layout.N_FREE] == 0
    free_all(control, free_slots)
    assert control[layout.N_FREE] == 3
