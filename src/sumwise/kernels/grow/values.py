"""Give every node its value from exact sums, and every row the value of its leaf.

The rows of a leaf are scattered over the whole table. So the leaf of each row is written first, and
then rows are visited in their own order, which keeps memory access sequential.
"""

import numpy as np

from sumwise.kernels.grow.constraints import clip_value, constrain_values
from sumwise.kernels.grow.gain import leaf_value, smooth_value
from sumwise.kernels.grow.layout import COUNT, N_NODES, N_STATS
from sumwise.kernels.grow.quantize import has_no_gap
from sumwise.kernels.grow.verbs import name_leaves
from sumwise.kernels.runtime.fixed_point import exact_gradient, exact_hessian
from sumwise.kernels.runtime.jit import inlined, kernel, routine
from sumwise.kernels.runtime.threads import share, wait_for_all

_ROW = np.uint64(32)


@inlined
def _name_all_leaves(job, first, last):
    """Write the leaf of each row of the records in [first, last), and how many rows a leaf has."""
    work, thread = job.work, job.thread
    n_nodes, rows = work.control[N_NODES], COUNT
    work.sums[thread, :n_nodes] = 0
    for node in range(n_nodes):
        left = job.nodes[node].left
        begin, end = max(first, work.first[node]), min(last, work.last[node])
        if begin >= end:
            continue
        if left < 0:
            work.sums[thread, node, rows] += end - begin
            records = work.records[job.nodes[node].depth & 1, begin:end]
            for i in range(records.size):
                work.leaf[records[i] >> _ROW] = node
        elif work.first[left] == work.last[left] and work.first[left + 1] == work.last[left + 1]:
            # The records have not been moved to the children, which are leaves.
            n_right = name_leaves(job, node, begin, end)
            work.sums[thread, left, rows] = end - begin - n_right
            work.sums[thread, left + 1, rows] = n_right


@routine
def _sum_block(gradient, hessian, leaf, scale_g, scale_h, exact, sums):
    """Add the exact values of neighboring rows to the sums of their leaves.

    They are computed first, by a loop that vectorizes.
    """
    exact_g, exact_h = exact[0], exact[1]
    for i in range(leaf.size):
        exact_g[i] = exact_gradient(gradient[i], scale_g)
        exact_h[i] = exact_hessian(hessian[i], scale_h)
    for i in range(np.uint64(leaf.size)):
        node = np.uint64(leaf[i])
        sums[node, 0] += exact_g[i]
        sums[node, 1] += exact_h[i]


@routine
def sum_rows(payload, rows, leaf, exact, sums):
    """Add the exact values of rows to the sums of their leaves; ``exact`` is scratch."""
    scale_g, scale_h = 1.0 / payload.units[2], 1.0 / payload.units[3]
    gradient, hessian = payload.gradient, payload.hessian
    if has_no_gap(rows):
        end = np.int64(rows[0]) + rows.size
        for first in range(np.int64(rows[0]), end, exact.shape[1]):
            last = min(first + exact.shape[1], end)
            block = gradient[first:last], hessian[first:last], leaf[first:last]
            _sum_block(*block, scale_g, scale_h, exact, sums)
        return
    for i in range(rows.size):
        row = rows[i]
        node = leaf[row]
        sums[node, 0] += exact_gradient(gradient[row], scale_g)
        sums[node, 1] += exact_hessian(hessian[row], scale_h)


@routine
def set_value(payload, sums, value):
    """Write a node's value from its exact sums; return its weight, the sum of hessians."""
    gradient = sums[0] * payload.units[2]
    hessian = sums[1] * payload.units[3]
    step = payload.max_delta_step
    weight = leaf_value(gradient, hessian, payload.l1, payload.l2, step)
    value[0] = payload.learning_rate * weight
    return hessian


@inlined
def draw_children(left, node, n_rows, smooth, value):
    """Draw the values of a node's children to its own."""
    if left >= 0:
        for child in range(left, left + 2):
            value[child, 0] = smooth_value(value[child, 0], n_rows[child], smooth, value[node, 0])


@kernel
def smooth_values(left, anchor, n_rows, smooth, value):
    """Smooth the values (n_nodes, 1) of a finished tree along its paths.

    A node with another ``anchor`` than itself keeps the value of that.
    """
    for node in range(left.size):  # parents come before children
        value[node, 0] = value[anchor[node], 0]
        draw_children(np.int64(left[node]), node, n_rows, smooth, value)


@inlined
def _merge_sums(job):
    """Add up the sums of all threads, for the thread's share of the nodes."""
    sums = job.work.sums
    first, last = share(job.work.control[N_NODES], job.thread, job.n_threads)
    for t in range(1, job.n_threads):
        for node in range(first, last):
            for s in range(N_STATS):
                sums[0, node, s] += sums[t, node, s]


@inlined
def _set_nodes(job):
    """Thread 0: exact sums of every node, from the leaves up; children come after parents."""
    work, nodes = job.work, job.nodes
    n_nodes = work.control[N_NODES]
    for node in range(n_nodes - 1, -1, -1):
        sums = work.sums[0, node]
        left = nodes[node].left
        if left < 0:
            nodes[node].feature = -1
            nodes[node].split_bin = 0
            nodes[node].missing_left = 0
            nodes[node].gain = 0.0
        else:
            for s in range(N_STATS):
                sums[s] = work.sums[0, left, s] + work.sums[0, left + 1, s]
        nodes[node].weight = set_value(job.payload, sums, work.value[node])
    for node in range(n_nodes):
        anchor = nodes[node].anchor
        for k in range(work.value.shape[1]):
            work.value[node, k] = work.value[anchor, k]
        if job.payload.path_smooth > 0.0:
            clip_value(job, node, work.value[node])
            n_rows, smooth = work.sums[0, :, COUNT], job.payload.path_smooth
            draw_children(np.int64(nodes[node].left), node, n_rows, smooth, work.value)
    constrain_values(job, n_nodes)


@inlined
def _add_values(rows, leaf, value, scores):
    """Add the values of their leaves to the scores of rows."""
    n = rows.size
    if has_no_gap(rows):
        first = np.int64(rows[0])
        own, nodes = scores[first : first + n], leaf[first : first + n]
        for i in range(n):
            own[i] += value[nodes[i], 0]
    else:
        for i in range(n):
            scores[rows[i]] += value[leaf[rows[i]], 0]


@inlined
def set_values(job, rows, scores):
    """Give every node its value; add the leaves' values to the scores, if there are any."""
    work, thread = job.work, job.thread
    first, last = share(rows.size, thread, job.n_threads)
    own = rows[first:last]
    _name_all_leaves(job, first, last)
    wait_for_all(job.sync, job.n_threads)  # a node's records are not in the order of rows
    sum_rows(job.payload, own, work.leaf, work.prefix[thread], work.sums[thread])
    wait_for_all(job.sync, job.n_threads)
    if job.n_threads > 1:
        _merge_sums(job)
        wait_for_all(job.sync, job.n_threads)
    if thread == 0:
        _set_nodes(job)
    wait_for_all(job.sync, job.n_threads)
    if scores.size > 0:
        _add_values(own, work.leaf, work.value, scores)
