"""Give every node its value from exact sums, and every row the value of its leaf.

The rows of a leaf are scattered over the whole table. So each row is first told its leaf, and then
the rows are gone through in their own order: memory likes that better.
"""

import numpy as np

from sumwise.kernels.jit import inlined
from sumwise.kernels.layout import N_NODES
from sumwise.kernels.payload import set_value, sum_rows
from sumwise.kernels.threads import share, wait_for_all

_ROW = np.uint64(32)


@inlined
def _name_leaves(job):
    """Write the leaf of each of the thread's rows, and how many rows each leaf has."""
    work, thread = job.work, job.thread
    for node in range(work.control[N_NODES]):
        sums = work.sums[thread, node]
        for s in range(job.n_stats):
            sums[s] = 0
        if job.nodes[node].left < 0:
            first, last = work.first[thread, node], work.last[thread, node]
            sums[job.n_stats - 1] = last - first
            records = work.records[job.nodes[node].depth & 1]
            for i in range(first, last):
                work.leaf[records[i] >> _ROW] = node


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
