"""What one thread decides for all: which split a node gets, and what its children are."""

import numpy as np

from sumwise.kernels.grow.constraints import note_children
from sumwise.kernels.grow.feature_sampling import draw_for_node, draw_for_tree
from sumwise.kernels.grow.frontier import free_all_slots, take_slot
from sumwise.kernels.grow.gain import child_value, find_limits, node_score
from sumwise.kernels.grow.layout import CHILD, COUNT, N_LEAVES, N_NODES, NOISE, PACKED_ROWS, TREE
from sumwise.kernels.grow.verbs import take_side
from sumwise.kernels.runtime.jit import NONE, ZERO, inlined, routine


@routine
def create_node(nodes, node, depth, anchor):
    """Make a leaf; its rows and totals are set by the caller."""
    nodes[node].feature = -1
    nodes[node].left = -1
    nodes[node].depth = depth
    nodes[node].gain = 0.0
    nodes[node].anchor = node if anchor < 0 else anchor
    nodes[node].slot = -1
    nodes[node].splittable = 0


@inlined
def plant_root(work, nodes, options, key, n_rows):
    """Reset the buffers and create the root; where its records are is set by the caller."""
    control = work.control
    control[:] = 0
    free_all_slots(control, work.free_slots)
    draw_for_tree(work.allowed, options, key)
    draw_for_node(work.allowed, options, key, ZERO, ZERO, ZERO)
    root = ZERO
    create_node(nodes, root, ZERO, NONE)
    control[N_NODES] = control[N_LEAVES] = 1
    some_feature = False
    for f in range(work.allowed.shape[1]):
        some_feature |= work.allowed[TREE, f] != 0
    if some_feature and n_rows >= 2 * options.min_samples_leaf:
        if options.max_depth > 0 and options.max_leaves > 1:
            nodes[root].splittable = 1
            nodes[root].slot = take_slot(control, work.free_slots, ZERO)


@inlined
def _note_values(job, node, keeps_value):
    """Give new children the value of their node, if they keep it, or values of their own."""
    values, left = job.payload.values, np.int64(job.nodes[node].left)
    limits = find_limits(job, node, NONE)
    for child in range(left, left + 2):
        values[child] = values[node]
        if not keeps_value:
            values[child] = child_value(limits, job.work.totals[child])


@inlined
def append_children(job, node, left, anchor, rows):
    """Make the children of a node with the totals its split gives them, at ``left`` and behind it.

    ``rows`` is the place of the row count in the totals.
    """
    work, nodes = job.work, job.nodes
    depth = np.int64(nodes[node].depth) + 1
    create_node(nodes, left, depth, anchor)
    create_node(nodes, left + 1, depth, anchor)
    nodes[node].left = left
    for s in range(work.totals.shape[1]):
        work.totals[left, s] = work.left_totals[node, s]
        work.totals[left + 1, s] = work.totals[node, s] - work.left_totals[node, s]
    for child in range(left, left + 2):
        enough = work.totals[child, rows] >= 2 * job.options.min_samples_leaf
        nodes[child].splittable = enough and depth < job.options.max_depth


@inlined
def children_may_split(job, node):
    """Whether rows and depth will allow to split a child of a node whose split is known."""
    n_rows, n_left = job.work.totals[node, COUNT], job.work.left_totals[node, COUNT]
    enough = max(n_left, n_rows - n_left) >= 2 * job.options.min_samples_leaf
    return enough and job.nodes[node].depth + 1 < job.options.max_depth


@routine
def create_children(job, node, left, anchor):
    """Make the children of a node, and note what their own splits depend on."""
    append_children(job, node, left, anchor, COUNT)
    for child in range(left, left + 2):
        n_rows = job.work.totals[child, COUNT]
        job.nodes[child].packed = job.pack and n_rows <= PACKED_ROWS
    note_children(job, node)
    if job.payload.path_smooth > 0.0:
        _note_values(job, node, anchor >= 0)


@inlined
def smaller_child(job, node, rows):
    """Return the child with fewer rows, the left one if equal."""
    totals, left = job.work.totals, np.int64(job.nodes[node].left)
    return left + 1 if totals[left + 1, rows] < totals[left, rows] else left


@routine
def find_best_feature(job, child):
    """Return (gain, feature) of the best candidate, the lowest feature of equals."""
    gain, feature = -np.inf, -1
    for f in range(job.work.candidates.shape[1]):
        if job.work.allowed[CHILD + child, f] and job.work.candidates[child, f].gain > gain:
            gain, feature = job.work.candidates[child, f].gain, f
    return gain, feature


@routine
def adopt_split(job, node, child, f, gain):
    """Give a node its best candidate if the gain is enough; return whether it is."""
    score = node_score(find_limits(job, node, NONE), job.work.totals[node])
    if not gain > job.options.min_gain + NOISE * abs(score):
        return False
    own = job.nodes[node]
    own.split_bin = job.work.candidates[child, f].split_bin
    own.missing_left = take_side(job, node, child, f)
    own.feature = f
    own.gain = gain
    return True
