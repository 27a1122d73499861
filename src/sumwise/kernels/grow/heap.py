"""A heap of nodes that can be split; the order decides the growth.

Leaf-wise growth splits the node with the largest gain, level-wise growth the shallowest first. The
nodes are any records with ``gain`` and ``depth``: forests with a limited number of leaves use the
same heap.
"""

from sumwise.kernels.grow.layout import LEVEL_WISE, N_HEAP
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
