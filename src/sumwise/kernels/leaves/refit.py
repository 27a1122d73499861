"""Give leaves new values: the quantile or robust location of the residuals of their rows.

For losses whose hessian does not say how far a leaf should go. Rows are grouped by leaf with a
counting sort, leaves in the order of a walk through the tree, so that the rows of every node are
contiguous. Threads share the rows, then the leaves. A group keeps the order of its rows and belongs
to one thread, so nothing depends on the number of threads.

A leaf without rows takes the location of its nearest ancestor that has some. This happens if other
rows chose the splits: other permutations encode them differently.
"""

from typing import Any, NamedTuple

from sumwise.kernels.leaves.location import locate
from sumwise.kernels.runtime.jit import inlined, kernel, routine
from sumwise.kernels.runtime.threads import share, wait_for_all


class RefitRule(NamedTuple):
    """How the value of a leaf is found."""

    level: float
    delta: float  # inf for the quantile alone
    kind: int  # the influence function, see influence.py
    max_step: float  # largest value before the learning rate; 0 for no limit
    learning_rate: float


class RefitBuffers(NamedTuple):
    """Scratch that lives as long as a fit."""

    residual: Any  # float64 (n_rows,): grouped by leaf
    units: Any  # int64 (n_rows,): their weights; empty if all are one
    keys: Any  # uint64 (n_rows,)
    mass: Any  # int64 (n_rows,); empty if all weights are one
    counters: Any  # int64 (n_threads, N_DIGIT_VALUES)
    place: Any  # int64 (n_threads, n_nodes)
    first: Any  # int64 (n_nodes,): the first row of a node in its group
    n_rows: Any  # int64 (n_nodes,)
    center: Any  # float64 (n_nodes,)


@inlined
def _lay_out_groups(left, n_threads, buffers):
    """Thread 0: find where the rows of each node begin, and those of each thread in a leaf."""
    place, first, n_rows = buffers.place, buffers.first, buffers.n_rows
    for node in range(left.size - 1, -1, -1):  # children come after parents
        child = left[node]
        if child < 0:
            n_rows[node] = 0
            for t in range(n_threads):
                n_rows[node] += place[t, node]
        else:
            n_rows[node] = n_rows[child] + n_rows[child + 1]
    first[0] = 0
    for node in range(left.size):
        child = left[node]
        if child < 0:
            begin = first[node]
            for t in range(n_threads):
                count = place[t, node]
                place[t, node] = begin
                begin += count
        else:
            first[child] = first[node]
            first[child + 1] = first[node] + n_rows[child]


@inlined
def count_rows(thread, n_threads, sync, rows, leaf, left, buffers):
    """Find where the rows of each node begin in the groups, and how many there are."""
    first, last = share(rows.size, thread, n_threads)
    place = buffers.place[thread]
    for node in range(left.size):
        place[node] = 0
    for i in range(first, last):
        place[leaf[rows[i]]] += 1
    wait_for_all(sync, n_threads)
    if thread == 0:
        _lay_out_groups(left, n_threads, buffers)
    wait_for_all(sync, n_threads)


@inlined
def move_rows(thread, n_threads, sync, rows, leaf, target, row_units, buffers, scores):
    """Put the residuals and weights of rows into their groups, once rows are counted."""
    first, last = share(rows.size, thread, n_threads)
    place, has_units = buffers.place[thread], row_units.size > 0
    for i in range(first, last):
        row = rows[i]
        node = leaf[row]
        buffers.residual[place[node]] = target[row] - scores[row]
        if has_units:
            buffers.units[place[node]] = row_units[row]
        place[node] += 1
    wait_for_all(sync, n_threads)


@inlined
def pass_over_empty_nodes(left, n_rows, anchor):
    """Thread 0: a node whose anchor has no rows takes the anchor of its parent."""
    for node in range(left.size):  # parents come before children
        child = left[node]
        if child >= 0:
            for side in range(2):
                if n_rows[anchor[child + side]] == 0:
                    anchor[child + side] = anchor[node]


@routine
def _locate_node(node, rule, buffers, counters):
    """Find the location of the residuals of a node."""
    begin, end = buffers.first[node], buffers.first[node] + buffers.n_rows[node]
    buffers.center[node] = locate(
        buffers.residual[begin:end],
        buffers.units[begin:end],  # empty stays empty
        rule.level,
        rule.delta,
        rule.kind,
        buffers.keys[begin:end],
        buffers.mass[begin:end],
        counters,
    )


@inlined
def set_values(left, anchor, weight, rule, buffers, value):
    """Thread 0: set values of leaves; an inner node has the weighted mean of its leaves."""
    for node in range(left.size - 1, -1, -1):
        child = left[node]
        if child < 0:
            step = buffers.center[anchor[node]]
            if rule.max_step > 0.0:
                step = min(max(step, -rule.max_step), rule.max_step)
            value[node, 0] = rule.learning_rate * step
        else:
            low, high = value[child, 0], value[child + 1, 0]
            total = weight[child] + weight[child + 1]
            share_right = weight[child + 1] / total if total > 0.0 else 0.0
            value[node, 0] = low + (high - low) * share_right


@kernel
def refit_leaves(
    thread, n_threads, sync, rows, tree, target, row_units, rule, buffers, scores, value
):
    """Write new values of the nodes to ``value`` (n_nodes, 1).

    ``row_units`` and ``scores`` have an item per row of the table. ``tree`` is as in
    ``newton.solve_leaves``, with the weights of the nodes. It was grown on ``rows``, at least one.
    An anchor without rows is replaced.
    """
    leaf, left, anchor, weight = tree
    count_rows(thread, n_threads, sync, rows, leaf, left, buffers)
    if thread == 0:
        pass_over_empty_nodes(left, buffers.n_rows, anchor)
    move_rows(thread, n_threads, sync, rows, leaf, target, row_units, buffers, scores)
    first, last = share(rows.size, thread, n_threads)
    n_nodes = left.size
    counters = buffers.counters[thread]
    for node in range(n_nodes):
        # A group belongs to the thread among whose rows it begins.
        if left[node] < 0 and anchor[node] == node and first <= buffers.first[node] < last:
            _locate_node(node, rule, buffers, counters)
    wait_for_all(sync, n_threads)
    if thread == 0:
        # A few leaves have the value of an inner node: those without rows, and those of symmetric
        # trees that are too small.
        for node in range(n_nodes):
            if left[node] < 0 and anchor[node] != node:
                _locate_node(anchor[node], rule, buffers, counters)
        set_values(left, anchor, weight, rule, buffers, value)


@kernel
def add_leaf_values(thread, n_threads, sync, rows, leaf, value, scores):
    """Add the values of their leaves to the scores of ``rows``."""
    first, last = share(rows.size, thread, n_threads)
    for i in range(first, last):
        scores[rows[i]] += value[leaf[rows[i]], 0]
