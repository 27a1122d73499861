"""Leaf values of a finished tree from gradients that it was not grown on."""

import numpy as np

from sumwise.kernels.grow.gain import leaf_value
from sumwise.kernels.runtime.fixed_point import (
    exact_gradient,
    exact_hessian,
    exact_limit,
    power_scale,
)
from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.threads import share, wait_for_all


@routine
def find_exact_scales(thread, n_threads, sync, rows, gradient, hessian, ranges):
    """The scales under which gradients and hessians of ``rows`` become exact integers."""
    first, last = share(rows.size, thread, n_threads)
    max_g, max_h = 0.0, 0.0
    for i in range(first, last):
        max_g = max(max_g, abs(gradient[rows[i]]))
        max_h = max(max_h, hessian[rows[i]])
    ranges[thread, 0] = max_g
    ranges[thread, 1] = max_h
    wait_for_all(sync, n_threads)
    for t in range(n_threads):
        max_g = max(max_g, ranges[t, 0])
        max_h = max(max_h, ranges[t, 1])
    limit = exact_limit(rows.size)
    return power_scale(max_g, limit), power_scale(max_h, limit)


@routine
def set_node_values(left, anchor, scales, rule, own, totals, value):
    """Add the sums of threads, ``own``, to the totals of leaves and clear them.

    Writes the values of all nodes. ``rule`` is (l1, l2, largest step, learning rate).
    """
    l1, l2, max_step, learning_rate = rule
    for node in range(left.size - 1, -1, -1):  # children come after parents
        child = np.int64(left[node])
        for s in range(2):
            if child < 0:
                for t in range(own.shape[0]):
                    totals[node, s] += own[t, node, s]
                    own[t, node, s] = 0
            else:
                totals[node, s] = totals[child, s] + totals[child + 1, s]
        sum_g, sum_h = totals[node, 0] / scales[0], totals[node, 1] / scales[1]
        value[node] = learning_rate * leaf_value(sum_g, sum_h, l1, l2, max_step)
    for node in range(left.size):
        value[node] = value[anchor[node]]


@kernel
def solve_leaves(thread, n_threads, sync, rows, tree, gradient, hessian, rule, ranges, sums, value):
    """Write the Newton steps of all nodes to ``value`` (n_nodes, 1), from exact sums over ``rows``.

    ``gradient`` and ``hessian`` have an item per row of the table. ``tree`` is (leaf of each row,
    left child of each node, anchor of each node): the rows of its anchor decide a node's value.
    ``sums`` (n_threads, n_nodes, 2) is scratch.
    """
    leaf, left, anchor = tree
    scales = find_exact_scales(thread, n_threads, sync, rows, gradient, hessian, ranges)
    own, n_nodes = sums[thread], left.size
    own[:n_nodes] = 0
    first, last = share(rows.size, thread, n_threads)
    for i in range(first, last):
        row = rows[i]
        node = leaf[row]
        own[node, 0] += exact_gradient(gradient[row], scales[0])
        own[node, 1] += exact_hessian(hessian[row], scales[1])
    wait_for_all(sync, n_threads)
    if thread == 0:
        set_node_values(left, anchor, scales, rule, sums[1:n_threads], sums[0], value[:, 0])


@kernel
def set_leaf_values(left, anchor, maxima, n_rows, rule, none, totals, value):
    """Write the Newton steps of all nodes to ``value`` (n_nodes, 1), from the sums of leaves.

    ``totals`` (n_nodes, 2) are exact sums of ``n_rows`` rows, whose largest |g| and h are
    ``maxima``. ``none`` has shape (0, n_nodes, 2).
    """
    limit = exact_limit(n_rows)
    scales = power_scale(maxima[0], limit), power_scale(maxima[1], limit)
    set_node_values(left, anchor, scales, rule, none, totals, value[:, 0])
