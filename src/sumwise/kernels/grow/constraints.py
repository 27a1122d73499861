"""Constraints while a tree grows; without any, the functions below do nothing.

Monotone, leaf-wise and level-wise
    Every node has bounds. A split on a constrained feature is allowed only if the values of the
    children are in order, and the middle between the two becomes a bound of both; any child keeps
    the bounds of its parent. So whatever lies below the left child is on one side of the middle and
    whatever lies below the right child on the other, after any number of splits. The final values
    come from exact sums, not from histograms, so they are clipped to the bounds once more. Missing
    values have no order: the constraint holds among the others, and a split of all values against
    the missing ones is free.
Monotone, symmetric
    A node where a split on a constrained feature would put the two values in the wrong order adds
    no gain, and its children keep its value. The leaves are projected in the end; see isotonic.py.
Interactions
    A node may split on a feature only if that and all features above it share a group. Features
    are drawn first; those that share no group with all ancestors are then removed. In symmetric
    growth, the ancestors are the splits of the levels above.

Exactness: within a tree the order holds bit for bit, and the learning rate keeps it, because
rounding is monotone. Floating-point addition is monotone in each term, so sums over trees in a
fixed order keep the order, too.
"""

import numpy as np

from sumwise.kernels.grow.gain import child_value, find_limits
from sumwise.kernels.grow.layout import CHILD, SYMMETRIC
from sumwise.kernels.grow.verbs import project_leaves
from sumwise.kernels.runtime.jit import routine


@routine
def note_children(job, node):
    """Give new children their parent, and their bounds where nodes have some."""
    rules, nodes = job.constraints, job.nodes
    if rules.parent.size == 0:
        return
    lower, upper = rules.lower, rules.upper
    left, f = np.int64(nodes[node].left), np.int64(nodes[node].feature)
    for child in range(left, left + 2):
        rules.parent[child] = node
        lower[child], upper[child] = lower[node], upper[node]
    direction = rules.direction[f]
    is_missing_alone = nodes[node].split_bin == job.table.n_value_bins[f]
    if direction == 0 or is_missing_alone or job.options.growth == SYMMETRIC:
        return
    limits = find_limits(job, node, f)
    middle = 0.0
    for child in range(left, left + 2):
        # Halved first: the sum might overflow.
        middle += 0.5 * child_value(limits, job.work.totals[child])
    middle = min(max(middle, lower[node]), upper[node])
    below = left if direction > 0 else left + 1
    upper[below] = middle
    lower[2 * left + 1 - below] = middle


@routine
def restrict_features(job, node, child):
    """Remove the features of a node that share no group with all features above it."""
    rules = job.constraints
    most, on_path = rules.max_path_features, rules.on_path
    first, members = rules.group_first, rules.group_members
    if most == 0 and first.size <= 1:
        return
    on_path[:] = 0
    n_path = 0
    above = rules.parent[node]
    while above >= 0:
        f = job.nodes[above].feature
        n_path += 1 - on_path[f]
        on_path[f] = 1
        above = rules.parent[above]
    chosen = job.work.allowed[CHILD + child]
    if most > 0:
        for f in range(chosen.size):
            chosen[f] &= n_path < most or on_path[f]
        return
    # A second bit marks the members of groups that hold the whole path.
    for group in range(first.size - 1):
        n_shared = 0
        for i in range(first[group], first[group + 1]):
            n_shared += on_path[members[i]] & 1
        if n_shared == n_path:
            for i in range(first[group], first[group + 1]):
                on_path[members[i]] |= 2
    for f in range(chosen.size):
        chosen[f] &= on_path[f] >> 1


@routine
def constrain_values(job, n_nodes):
    """Make the values of the finished tree obey."""
    rules, value = job.constraints, job.work.value
    if not rules.any_direction:
        return
    if job.options.growth == SYMMETRIC:
        project_leaves(job, n_nodes)
        return
    for node in range(n_nodes):
        clip_value(job, node, value[node])


@routine
def clip_value(job, node, value):
    """Clip the value (n_outputs,) of a node of the finished tree to its bounds."""
    rules, rate = job.constraints, job.payload.learning_rate
    if rules.any_direction:
        lower, upper = rate * rules.lower[node], rate * rules.upper[node]
        value[0] = min(max(value[0], lower), upper)
