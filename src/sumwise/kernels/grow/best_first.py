"""Leaf-wise and level-wise growth: split the node that comes first, one at a time."""

import numpy as np

from sumwise.kernels.grow.constraints import restrict_features
from sumwise.kernels.grow.decide import (
    adopt_split,
    create_children,
    find_best_feature,
    smaller_child,
)
from sumwise.kernels.grow.feature_sampling import draw_for_node
from sumwise.kernels.grow.frontier import pop_node, push_node, release_slot, take_slot
from sumwise.kernels.grow.layout import (
    ABORTED,
    BUILD_BOTH,
    DONE,
    GROWING,
    MODE,
    N_HEAP,
    N_LEAVES,
    NO_HISTOGRAMS,
    NODE,
    SMALL,
    STATUS,
    SUBTRACT,
)
from sumwise.kernels.grow.steps import leave_records, partition_node, subtract_histogram
from sumwise.kernels.grow.verbs import build_histogram, merge_parts, score_node
from sumwise.kernels.runtime.jit import NONE, ZERO, inlined
from sumwise.kernels.runtime.threads import ABORT, atomic_load, wait_for_all


@inlined
def _settle_node(job, node, child):
    """Queue a node whose best split is good enough; take the histogram of any other."""
    work, nodes = job.work, job.nodes
    gain, f = find_best_feature(job, child)
    found = nodes[node].splittable and adopt_split(job, node, child, f, gain)
    if found:
        push_node(work.control, work.heap, nodes, job.options.growth, node)
    # A scratch slot is for the moment only: such a node's children are both summed anew.
    if not found or nodes[node].slot >= work.free_slots.size:
        release_slot(work.control, work.free_slots, nodes, node)


@inlined
def _choose_next(job):
    """Thread 0: pop the next node, create its children and say what is to be done for them."""
    work, nodes, options = job.work, job.nodes, job.options
    control = work.control
    if atomic_load(job.sync, ABORT):
        control[STATUS] = ABORTED
    elif control[N_HEAP] == 0 or control[N_LEAVES] >= options.max_leaves:
        control[STATUS] = DONE
    else:
        node = pop_node(control, work.heap, nodes, options.growth)
        left = create_children(job, node, NONE)
        small = smaller_child(job, node)
        large = 2 * left + 1 - small
        control[NODE] = node
        control[SMALL] = small
        # The larger child has at least as many rows at the same depth: if it cannot, neither can.
        if not nodes[large].splittable or control[N_LEAVES] >= options.max_leaves:
            control[MODE] = NO_HISTOGRAMS
            release_slot(control, work.free_slots, nodes, node)
        else:
            for child in range(2):
                depth = np.int64(nodes[left].depth)
                draw_for_node(work.allowed, options, job.key, depth, left + child, child)
                restrict_features(job, left + child, child)
            nodes[small].slot = take_slot(control, work.free_slots, ZERO)
            if nodes[node].slot >= 0:
                control[MODE] = SUBTRACT
                nodes[large].slot = nodes[node].slot
                nodes[node].slot = -1
            else:
                control[MODE] = BUILD_BOTH
                nodes[large].slot = take_slot(control, work.free_slots, ZERO + 1)


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
