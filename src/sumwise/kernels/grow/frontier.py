"""What waits while a tree grows: nodes that can be split, and free places for histograms.

Trees with one value per leaf and trees with vector leaves share this. The pool of histograms is
limited: those of 10,000 features take 61 MB per node. If a node finds no free slot, its children
are summed from scratch, which costs about as much as subtraction when nodes are small.
"""

import numpy as np

from sumwise.kernels.grow.feature_sampling import draw_for_node
from sumwise.kernels.grow.heap import pop_node, push_node
from sumwise.kernels.grow.layout import (
    ABORTED,
    BUILD_BOTH,
    DONE,
    GROWING,
    LEVEL_FIRST,
    LEVEL_SIZE,
    N_FREE,
    N_HEAP,
    N_LEAVES,
    NO_HISTOGRAMS,
    STATUS,
    SUBTRACT,
)
from sumwise.kernels.runtime.jit import NONE, ZERO, inlined, routine
from sumwise.kernels.runtime.threads import ABORT, atomic_load


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


@inlined
def keep_slot(job, node, is_split):
    """Take the histogram of a node, unless its split was adopted."""
    # A scratch slot is for the moment only: such a node's children are both summed anew.
    if not is_split or job.nodes[node].slot >= job.work.free_slots.size:
        release_slot(job.work.control, job.work.free_slots, job.nodes, node)


@inlined
def queue_node(job, node, is_split):
    """Queue a node whose split was adopted; take the histogram of any other."""
    work, nodes = job.work, job.nodes
    if is_split:
        push_node(work.control, work.heap, nodes, job.options.growth, node)
    keep_slot(job, node, is_split)


@inlined
def pop_next(job):
    """Return the node that is to be split next; -1 and the status if growth has ended."""
    control = job.work.control
    if atomic_load(job.sync, ABORT):
        control[STATUS] = ABORTED
        return NONE
    if control[N_HEAP] == 0 or control[N_LEAVES] >= job.options.max_leaves:
        control[STATUS] = DONE
        return NONE
    return np.int64(pop_node(control, job.work.heap, job.nodes, job.options.growth))


@routine
def place_children(job, node, small, child):
    """Say where the children of a node get their histograms; draw their features.

    ``child`` is the row of ``allowed`` of the left one. Returns how they get their histograms.
    """
    work, nodes, options, control = job.work, job.nodes, job.options, job.work.control
    left = np.int64(nodes[node].left)
    large = 2 * left + 1 - small
    # The larger child has at least as many rows at the same depth: if it cannot, neither can.
    if not nodes[large].splittable or control[N_LEAVES] >= options.max_leaves:
        release_slot(control, work.free_slots, nodes, node)
        return NO_HISTOGRAMS
    depth = np.int64(nodes[left].depth)
    for which in range(2):
        draw_for_node(work.allowed, options, job.key, depth, left + which, child + which)
    nodes[small].slot = take_slot(control, work.free_slots, ZERO)
    if nodes[node].slot >= 0:
        nodes[large].slot = nodes[node].slot
        nodes[node].slot = -1
        return SUBTRACT
    nodes[large].slot = take_slot(control, work.free_slots, ZERO + 1)
    return BUILD_BOTH


@inlined
def place_level_children(job, node, small):
    """The same where a level is split at once: the pool has room for every node that will be."""
    work, nodes = job.work, job.nodes
    left = np.int64(nodes[node].left)
    large = 2 * left + 1 - small
    if nodes[node].slot >= 0 and nodes[large].splittable:
        # A child that will not be split needs its histogram only to be subtracted; such children
        # take turns in the scratch slots.
        if nodes[small].splittable:
            nodes[small].slot = take_slot(work.control, work.free_slots, ZERO)
        else:
            nodes[small].slot = work.free_slots.size
        nodes[large].slot = nodes[node].slot
        nodes[node].slot = -1
    else:
        nodes[left].splittable = 0
        nodes[left + 1].splittable = 0
        release_slot(work.control, work.free_slots, nodes, node)


@inlined
def begin_levels(job):
    """The root is the first level."""
    control = job.work.control
    control[LEVEL_FIRST], control[LEVEL_SIZE] = 0, 1
    control[STATUS] = GROWING if job.nodes[0].slot >= 0 else DONE


@inlined
def may_split_level(job, gain, noise):
    """Whether the best split of a level is worth it; write the status if not."""
    control = job.work.control
    if atomic_load(job.sync, ABORT):
        control[STATUS] = ABORTED
    elif not gain > job.options.min_gain + noise:
        control[STATUS] = DONE
    return control[STATUS] == GROWING


@inlined
def release_level(job, first, last):
    """Take the histograms of nodes [first, last) that will not be split."""
    for node in range(first, last):
        if not job.nodes[node].splittable:
            release_slot(job.work.control, job.work.free_slots, job.nodes, node)
