"""Leaf-wise and level-wise growth: split the first node of a heap, one at a time.

Only the order of the heap differs: by gain, or by level and then by gain. So with ``max_leaves``,
level-wise growth splits the better nodes of a level first.
"""

from sumwise.kernels.grow.constraints import restrict_features
from sumwise.kernels.grow.decide import (
    adopt_split,
    create_children,
    find_best_feature,
    smaller_child,
)
from sumwise.kernels.grow.frontier import place_children, pop_next, queue_node
from sumwise.kernels.grow.layout import (
    COUNT,
    GROWING,
    MODE,
    NO_HISTOGRAMS,
    NODE,
    SMALL,
    STATUS,
    SUBTRACT,
)
from sumwise.kernels.grow.steps import leave_records, partition_node, subtract_histogram
from sumwise.kernels.grow.verbs import build_histogram, merge_parts, score_node
from sumwise.kernels.runtime.jit import NONE, ZERO, inlined
from sumwise.kernels.runtime.threads import wait_for_all


@inlined
def _settle_node(job, node, child):
    """Thread 0: queue a node whose best split is good enough."""
    gain, f = find_best_feature(job, child)
    queue_node(job, node, job.nodes[node].splittable and adopt_split(job, node, child, f, gain))


@inlined
def _choose_next(job):
    """Thread 0: pop the next node, create its children and say what is to be done for them."""
    node = pop_next(job)
    if node >= 0:
        left = create_children(job, node, NONE)
        place_children(job, node, smaller_child(job, node, COUNT))
        if job.work.control[MODE] != NO_HISTOGRAMS:
            for child in range(2):
                restrict_features(job, left + child, child)


@inlined
def grow_best_first(job):
    """Split the best leaf, or the best of the highest level, until nothing is left to split."""
    work, nodes, control = job.work, job.nodes, job.work.control
    if nodes[0].slot >= 0:
        score_node(job, ZERO, ZERO)
    wait_for_all(job.sync, job.n_threads)
    first, last = 0, 1 if nodes[0].slot >= 0 else 0  # nodes that have just been scored
    while True:
        if job.thread == 0:
            for node in range(first, last):
                if nodes[node].slot >= 0:
                    _settle_node(job, node, node - first)
            _choose_next(job)
        wait_for_all(job.sync, job.n_threads)
        if control[STATUS] != GROWING:
            break
        node, small, mode = control[NODE], control[SMALL], control[MODE]
        first = nodes[node].left
        last = first + 2
        if mode == NO_HISTOGRAMS:
            leave_records(job, node)
        else:
            partition_node(job, node)
        wait_for_all(job.sync, job.n_threads)
        if mode == NO_HISTOGRAMS:
            continue
        large = 2 * first + 1 - small
        for which in range(1 if mode == SUBTRACT else 2):
            build_histogram(job, small if which == 0 else large, which)
        if work.n_shared[0] > 0:
            wait_for_all(job.sync, job.n_threads)
            for which in range(1 if mode == SUBTRACT else 2):
                merge_parts(job, small if which == 0 else large, which)
        if mode == SUBTRACT:
            subtract_histogram(job, small, large, nodes[node].packed != 0)
        for child in range(2):
            if nodes[first + child].splittable:
                score_node(job, first + child, child)
        wait_for_all(job.sync, job.n_threads)
