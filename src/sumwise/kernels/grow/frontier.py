"""What waits while a tree grows: nodes that can be split, and free places for histograms."""

import numpy as np

from sumwise.kernels.grow.layout import LEVEL_WISE, N_FREE, N_HEAP
from sumwise.kernels.runtime.jit import routine


@routine
def _comes_before(nodes, growth, a, b):
    """Whether node a is split before node b: by level if asked, by gain, by number."""
    if growth == LEVEL_WISE and nodes[a].depth != nodes[b].depth:
        return nodes[a].depth < nodes[b].depth
    if nodes[a].gain != nodes[b].gain:
        return nodes[a].gain > nodes[b].gain
    return a < b


@routine
def push_node(control, heap, nodes, growth, node):
    """Add a node to the heap."""
    i = control[N_HEAP]
    control[N_HEAP] += 1
    heap[i] = node
    while i > 0 and _comes_before(nodes, growth, heap[i], heap[(i - 1) >> 1]):
        parent = (i - 1) >> 1
        heap[i], heap[parent] = heap[parent], heap[i]
        i = parent


@routine
def pop_node(control, heap, nodes, growth):
    """Remove the node that is to be split next and return it."""
    top = heap[0]
    control[N_HEAP] -= 1
    n = control[N_HEAP]
    heap[0] = heap[n]
    i = 0
    while True:
        child = 2 * i + 1
        if child >= n:
            return top
        if child + 1 < n and _comes_before(nodes, growth, heap[child + 1], heap[child]):
            child += 1
        if not _comes_before(nodes, growth, heap[child], heap[i]):
            return top
        heap[i], heap[child] = heap[child], heap[i]
        i = child


@routine
def free_all_slots(control, free_slots):
    """Begin with every slot free, the first on top."""
    n_slots = free_slots.size
    for slot in range(n_slots):
        free_slots[slot] = n_slots - 1 - slot
    control[N_FREE] = n_slots


@routine
def take_slot(control, free_slots, scratch):
    """Return a free slot, or a scratch one if the pool is used up."""
    if control[N_FREE] == 0:
        return np.int32(free_slots.size + scratch)
    control[N_FREE] -= 1
    return free_slots[control[N_FREE]]


@routine
def release_slot(control, free_slots, nodes, node):
    """Take a node's histogram away from it."""
    slot = nodes[node].slot
    if 0 <= slot < free_slots.size:
        free_slots[control[N_FREE]] = slot
        control[N_FREE] += 1
    nodes[node].slot = -1
