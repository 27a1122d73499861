"""Constraints while a tree grows. A compile-time choice, made by the type of ``job.constraints``.

The growth loops call the functions below. For :class:`Unconstrained` they are the payload's own, or
do nothing.

Monotone, leaf-wise and level-wise
    Every node has bounds. A split on a constrained feature is allowed only if the values of the
    children are in order, and the middle between the two becomes a bound of both; any child keeps
    the bounds of its parent. So whatever lies below the left child is on one side of the middle and
    whatever lies below the right child on the other, after any number of splits. The final values
    come from exact sums, not from histograms, so they are clipped to the bounds once more. Missing
    values have no order: the constraint holds among the others, and a split that parts missing from
    all values is free.
Monotone, symmetric
    A node where a split on a constrained feature would put the two values in the wrong order adds
    no gain, and its children keep its value. The leaves are projected in the end; see isotonic.py.
Interactions
    A node may split on a feature only if that and all features above it share a group.

Exactness: within a tree the order holds bit for bit, and the learning rate keeps it, because
rounding is monotone. So is every floating-point addition in each of its terms: sums over trees, in
whatever fixed order, are in order, too.
"""

from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from sumwise.kernels.grow import bounded, gradients
from sumwise.kernels.grow.bounded import BoundedGradients
from sumwise.kernels.grow.bounded import child_value as bounded_value
from sumwise.kernels.grow.gradients import Gradients
from sumwise.kernels.grow.isotonic import project_leaves
from sumwise.kernels.grow.layout import CHILD, NO, SYMMETRIC, ZERO
from sumwise.kernels.runtime.jit import ROUTINE_OPTIONS, inlined, rename, routine, unless


class Unconstrained(NamedTuple):
    """There are no constraints."""


class Constraints(NamedTuple):
    """What trees must obey, and buffers that live as long as a fit."""

    direction: Any  # int64 (n_features,): 1 values ascend with the feature, -1 descend, 0 any
    any_direction: bool
    max_path_features: int  # different features above a leaf; 0: the groups decide
    group_first: Any  # int64 (n_groups + 1,): first member of a group
    group_members: Any  # int64: features, group after group
    on_path: Any  # uint8 (n_features,): scratch
    parent: Any  # int32 (n_nodes,); -1 for the root
    lower: Any  # float64 (n_nodes,): bounds of values, before the learning rate;
    upper: Any  # infinite for the root, and in symmetric growth for all nodes
    chains: Any  # int64 CHAINS_SHAPE: see isotonic.py
    pools: Any  # float64 POOLS_SHAPE
    scratch: Any  # float64 (1 + most chains, n_leaves)


@inlined
def _center_payload(payload, node):
    """The payload with the value of the node whose splits are judged, where paths are smoothed."""
    center = payload.values[node] if payload.path_smooth > 0.0 else 0.0
    return Gradients(*payload[:-1], center)


@inlined
def _bind_payload(constraints, payload, place):
    """The payload by which a split is judged."""
    node, f, parts_missing = place
    # Missing values have no order.
    direction = ZERO if parts_missing else constraints.direction[f]
    centered = _center_payload(payload, node)
    return BoundedGradients(centered, constraints.lower[node], constraints.upper[node], direction)


def _by_place(name: str) -> Any:
    """Make a function of ``(constraints, payload, place, ...)`` out of the payload's function.

    The place is (node, feature, whether the split parts missing from all values).
    """
    free, bounded_function = getattr(gradients, name), getattr(bounded, name)

    def function(constraints, payload, place, *args):
        raise TypeError(f"{name} is called from kernels only")

    @overload(function, jit_options=ROUTINE_OPTIONS)
    def choose(constraints, payload, place, *args):
        def call_free(constraints, payload, place, *args):
            return free(_center_payload(payload, place[0]), *args)

        def call_bounded(constraints, payload, place, *args):
            return bounded_function(_bind_payload(constraints, payload, place), *args)

        if constraints.instance_class is Unconstrained:
            return rename(call_free, f"free_{name}")
        return rename(call_bounded, f"bounded_{name}")

    return function


# See gradients.py.
child_value = _by_place("child_value")
node_score = _by_place("node_score")
split_gain = _by_place("split_gain")
penalized_gain = _by_place("penalized_gain")
fill_gains = _by_place("fill_gains")
gains_after = _by_place("gains_after")
best_split = _by_place("best_split")
best_packed_split = _by_place("best_packed_split")


def _only_if_constrained(implementation: Any) -> Any:
    """Make a function of ``(constraints, ...)``; see :func:`unless`."""
    return unless(Unconstrained, implementation.__name__, None, lambda _: implementation)


@_only_if_constrained
@routine
def note_children(constraints, payload, nodes, totals, n_value_bins, growth, node):
    """Give new children their parent, and their bounds where nodes have some."""
    lower, upper = constraints.lower, constraints.upper
    left, f = np.int64(nodes[node].left), np.int64(nodes[node].feature)
    for child in range(left, left + 2):
        constraints.parent[child] = node
        lower[child], upper[child] = lower[node], upper[node]
    direction = constraints.direction[f]
    parts_missing = nodes[node].split_bin == n_value_bins[f]
    if direction == 0 or parts_missing or growth == SYMMETRIC:
        return
    limits = _bind_payload(constraints, payload, (node, f, NO))
    middle = 0.0
    for child in range(left, left + 2):
        # Halved first: the sum might overflow.
        middle += 0.5 * bounded_value(limits, totals[child])
    middle = min(max(middle, lower[node]), upper[node])
    below = left if direction > 0 else left + 1
    upper[below] = middle
    lower[2 * left + 1 - below] = middle


@_only_if_constrained
@routine
def restrict_features(constraints, nodes, allowed, node, child):
    """Keep, of the features a node has drawn, those that may meet the features above it."""
    on_path, most = constraints.on_path, constraints.max_path_features
    first, members = constraints.group_first, constraints.group_members
    if most == 0 and first.size == 1:
        return
    on_path[:] = 0
    n_path = 0
    above = constraints.parent[node]
    while above >= 0:
        f = nodes[above].feature
        n_path += 1 - on_path[f]
        on_path[f] = 1
        above = constraints.parent[above]
    chosen = allowed[CHILD + child]
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


@_only_if_constrained
@routine
def constrain_values(constraints, payload, nodes, n_value_bins, growth, n_nodes, values):
    """Make the values (n_nodes, 1) of the finished tree obey."""
    if not constraints.any_direction:
        return
    value = values[:, 0]
    if growth == SYMMETRIC:
        project_leaves(
            constraints.direction,
            n_value_bins,
            nodes,
            n_nodes,
            constraints.chains,
            constraints.pools,
            constraints.scratch,
            value,
        )
        return
    rate = payload.learning_rate
    for node in range(n_nodes):
        lower, upper = rate * constraints.lower[node], rate * constraints.upper[node]
        value[node] = min(max(value[node], lower), upper)


@_only_if_constrained
@routine
def clip_value(constraints, payload, node, value):
    """Clip the value (n_outputs,) of a node of the finished tree to its bounds."""
    rate = payload.learning_rate
    lower, upper = rate * constraints.lower[node], rate * constraints.upper[node]
    value[0] = min(max(value[0], lower), upper)
