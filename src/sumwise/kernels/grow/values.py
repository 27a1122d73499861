"""Give every node its value from exact sums, and every row the value of its leaf.

The rows of a leaf are scattered over the whole table. So each row is first told its leaf, and then
the rows are gone through in their own order: memory likes that better.
"""

import numpy as np

from sumwise.kernels.grow.constraints import clip_value, constrain_values
from sumwise.kernels.grow.gradients import set_value, smooth_value, sum_rows
from sumwise.kernels.grow.layout import N_NODES
from sumwise.kernels.grow.partition import left_range
from sumwise.kernels.grow.storage.bundles import is_bundled, name_by_code
from sumwise.kernels.grow.storage.categories import is_categorical, name_by_set
from sumwise.kernels.grow.storage.presorted import is_ranked, name_by_rank
from sumwise.kernels.runtime.jit import inlined, kernel
from sumwise.kernels.runtime.threads import share, wait_for_all

_ROW = np.uint64(32)


@inlined
def _name_children(job, node, records):
    """The same for the children of a node whose records have not been moved to them."""
    feature, categories = job.nodes[node].feature, job.table.categories
    skip, bound = left_range(job.nodes[node].split_bin, job.nodes[node].missing_left)
    left, n_right = np.int64(job.nodes[node].left), 0
    if is_categorical(categories, feature):
        n_right = name_by_set(
            categories,
            job.work.categories,
            job.thread,
            node,
            feature,
            job.nodes[node].missing_left,
            job.table.columns,
            records,
            left,
            job.work.leaf,
        )
    elif is_ranked(job.table.presorted, feature):
        n_right = name_by_rank(
            job.table.presorted,
            feature,
            job.nodes[node].split_bin,
            job.nodes[node].missing_left,
            records,
            left,
            job.work.leaf,
        )
    elif is_bundled(job.table.bundles):
        n_right = name_by_code(
            job.table.bundles,
            job.work.bundles,
            job.table.columns,
            job.table.n_value_bins,
            feature,
            job.nodes[node].split_bin,
            job.nodes[node].missing_left,
            records,
            left,
            job.work.leaf,
        )
    else:
        column = job.table.columns[feature]
        for i in range(records.size):
            row = records[i] >> _ROW
            goes_right = np.int64(np.uint8(column[row] - skip) > bound)
            job.work.leaf[row] = left + goes_right
            n_right += goes_right
    rows = job.n_stats - 1
    job.work.sums[job.thread, left, rows] = records.size - n_right
    job.work.sums[job.thread, left + 1, rows] = n_right


@inlined
def _name_leaves(job):
    """Write the leaf of each of the thread's rows, and how many rows each leaf has."""
    work, thread = job.work, job.thread
    n_nodes, rows = work.control[N_NODES], job.n_stats - 1
    work.sums[thread, :n_nodes] = 0
    first, last = work.first[thread], work.last[thread]
    for node in range(n_nodes):
        left = job.nodes[node].left
        records = work.records[job.nodes[node].depth & 1, first[node] : last[node]]
        if left < 0:
            work.sums[thread, node, rows] += records.size
            for i in range(records.size):
                work.leaf[records[i] >> _ROW] = node
        elif first[left] == last[left] and first[left + 1] == last[left + 1]:
            _name_children(job, node, records)


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
            for t in range(1, job.n_threads):
                for s in range(job.n_stats):
                    sums[s] += work.sums[t, node, s]
        else:
            for s in range(job.n_stats):
                sums[s] = work.sums[0, left, s] + work.sums[0, left + 1, s]
        nodes[node].weight = set_value(job.payload, sums, work.value[node])
    for node in range(n_nodes):
        anchor = nodes[node].anchor
        for k in range(work.value.shape[1]):
            work.value[node, k] = work.value[anchor, k]
        if job.payload.path_smooth > 0.0:
            clip_value(job.constraints, job.payload, node, work.value[node])
            n_rows, smooth = work.sums[0, :, job.n_stats - 1], job.payload.path_smooth
            draw_children(np.int64(nodes[node].left), node, n_rows, smooth, work.value)
    finished = (nodes, job.table.n_value_bins, job.options.growth, n_nodes, work.value)
    constrain_values(job.constraints, job.payload, *finished)


@inlined
def _add_values(rows, leaf, value, scores):
    """Add the values of their leaves to the scores of rows."""
    n, first = rows.size, np.int64(rows[0]) if rows.size else 0
    if n > 0 and np.int64(rows[n - 1]) - first == n - 1:
        # Rows ascend without a gap, so they need not be looked up: this loop vectorizes.
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
    _name_leaves(job)
    sum_rows(job.payload, own, work.leaf, work.sums[thread])
    wait_for_all(job.sync, job.n_threads)
    if thread == 0:
        _merge_sums(job)
    wait_for_all(job.sync, job.n_threads)
    if scores.size > 0:
        _add_values(own, work.leaf, work.value, scores)
