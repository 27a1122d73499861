"""The nursery: children of nodes that will probably be split, before their turn has come.

Growth splits one node after the other, and each split decides what comes next. To split several at
once, it guesses: if no other child were to come, these nodes would be next. Their children are
created in the *nursery*, behind all places that nodes of the tree can have. When it is a node's
turn, its children move to the places that they would have had, so the tree is the very same. What
remains in the nursery in the end is dropped.
"""

from sumwise.kernels.grow.layout import N_LEAVES, N_NODES, N_NURSERY
from sumwise.kernels.runtime.jit import inlined, routine


@inlined
def nursery_start(job):
    """The first place of the nursery."""
    return 2 * job.options.max_leaves - 1


@routine
def clear_nursery(control, free_pairs, start):
    """Begin with every pair of places free."""
    for pair in range(free_pairs.size):
        free_pairs[pair] = start + 2 * pair
    control[N_NURSERY] = free_pairs.size


@routine
def take_pair(job):
    """Return a place for siblings; there must be one."""
    control = job.work.control
    control[N_NURSERY] -= 1
    return job.work.plan.free_pairs[control[N_NURSERY]]


@routine
def claim_pair(control):
    """Return the next place of the tree for siblings, which make one leaf more."""
    left = control[N_NODES]
    control[N_NODES] += 2
    control[N_LEAVES] += 1
    return left


@routine
def _move_node(job, source, target):
    """Move all that is known of a node to another place."""
    nodes, work, rules = job.nodes, job.work, job.constraints
    nodes[target] = nodes[source]
    nodes[target].anchor = target
    for s in range(work.totals.shape[1]):
        work.totals[target, s] = work.totals[source, s]
        work.left_totals[target, s] = work.left_totals[source, s]
    work.first[target], work.last[target] = work.first[source], work.last[source]
    if job.payload.path_smooth > 0.0:
        job.payload.values[target] = job.payload.values[source]
    if rules.parent.size > 0:
        rules.parent[target] = rules.parent[source]
        rules.lower[target], rules.upper[target] = rules.lower[source], rules.upper[source]
        left = nodes[target].left
        if left >= 0:
            rules.parent[left] = rules.parent[left + 1] = target
    sets = work.categories
    if sets.node_size.size > 0:
        sets.node_size[target] = sets.node_size[source]
        for i in range(sets.node_set.shape[1]):
            sets.node_set[target, i] = sets.node_set[source, i]


@routine
def adopt_children(job, node):
    """Move the children of a node from the nursery to their places in the tree."""
    control, nodes = job.work.control, job.nodes
    old, left = nodes[node].left, claim_pair(control)
    for child in range(2):
        _move_node(job, old + child, left + child)
    nodes[node].left = left
    job.work.plan.free_pairs[control[N_NURSERY]] = old
    control[N_NURSERY] += 1


@routine
def _restore_records(job, node):
    """Put the records of a leaf back where they were before its children took them."""
    work, nodes, stack = job.work, job.nodes, job.work.plan.guess_heap
    target = work.records[nodes[node].depth & 1]
    stack[0] = node
    n = 1
    while n > 0:
        n -= 1
        below = stack[n]
        left = nodes[below].left
        if left >= 0:
            stack[n], stack[n + 1] = left, left + 1
            n += 2
        elif (nodes[below].depth ^ nodes[node].depth) & 1:
            source = work.records[nodes[below].depth & 1]
            for i in range(work.first[below], work.last[below]):
                target[i] = source[i]


@routine
def drop_nursery(job):
    """Make leaves of the nodes whose children are still in the nursery: the tree is complete."""
    for node in range(job.work.control[N_NODES]):
        if job.nodes[node].left >= nursery_start(job):
            _restore_records(job, node)
            job.nodes[node].left = -1
