"""Grow one tree: one compiled call, the same for every growth policy and every payload.

All threads run :func:`grow_tree` together. Each owns a part of the rows, which it partitions, and
a part of the features, which it sums and scores; thread 0 alone decides. Between the steps they
meet at a barrier. What is summed is integers, so nothing depends on how the work was divided.
"""

import numpy as np

from sumwise.kernels.best_first import grow_best_first
from sumwise.kernels.columns import draw_for_node, draw_for_tree
from sumwise.kernels.decide import create_node
from sumwise.kernels.frontier import free_all_slots, take_slot
from sumwise.kernels.jit import inlined, kernel
from sumwise.kernels.layout import (
    ABORTED,
    N_LEAVES,
    N_NODES,
    NONE,
    OUT_OF_RANGE,
    STATUS,
    SYMMETRIC,
    TREE,
    ZERO,
    Job,
)
from sumwise.kernels.payload import count_stats, load_rows, set_value, sum_rows
from sumwise.kernels.steps import build_histogram, feature_bins, merge_parts
from sumwise.kernels.symmetric import grow_symmetric
from sumwise.kernels.threads import share, wait_for_all


@inlined
def _plant_root(control, work, nodes, options, key, n_threads, n_rows):
    """Thread 0: reset the buffers and create the root."""
    control[:] = 0
    free_all_slots(control, work.free_slots)
    draw_for_tree(work.allowed, options, key)
    draw_for_node(work.allowed, options, key, ZERO, ZERO, ZERO)
    root = create_node(control, nodes, ZERO, NONE)
    control[N_LEAVES] = 1
    for t in range(n_threads):
        work.first[t, root], work.last[t, root] = share(n_rows, t, n_threads)
    some_feature = False
    for f in range(work.allowed.shape[1]):
        some_feature |= work.allowed[TREE, f] != 0
    if some_feature and n_rows >= 2 * options.min_samples_leaf:
        if options.max_depth > 0 and options.max_leaves > 1:
            nodes[root].splittable = 1
            nodes[root].slot = take_slot(control, work.free_slots, ZERO)


@inlined
def _sum_root(job):
    """Build the root's histogram and read its totals off any feature."""
    work = job.work
    build_histogram(job, ZERO, ZERO)
    wait_for_all(job.sync, job.n_threads)
    merge_parts(job, ZERO, ZERO)
    wait_for_all(job.sync, job.n_threads)
    if job.thread == 0:
        for f in range(job.table.n_value_bins.size):
            if work.allowed[TREE, f]:
                bins = feature_bins(job, 0, f)
                n_bins = job.table.n_value_bins[f] + 1
                for s in range(job.n_stats):
                    work.totals[0, s] = 0
                    for b in range(s * n_bins, (s + 1) * n_bins):
                        work.totals[0, s] += bins[b]
    wait_for_all(job.sync, job.n_threads)


@inlined
def _merge_sums(job, n_nodes):
    """Thread 0: exact sums of every node, from the leaves up; children come after parents."""
    work, nodes = job.work, job.nodes
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
def _set_values(job, scores):
    """Give every node its value from exact sums; add the leaves' values to the scores."""
    work, nodes, thread = job.work, job.nodes, job.thread
    n_nodes = work.control[N_NODES]
    for node in range(n_nodes):
        sums = work.sums[thread, node]
        for s in range(job.n_stats):
            sums[s] = 0
        if nodes[node].left < 0:
            records = work.records[nodes[node].depth & 1]
            sum_rows(job.payload, records[work.first[thread, node] : work.last[thread, node]], sums)
    wait_for_all(job.sync, job.n_threads)
    if thread == 0:
        _merge_sums(job, n_nodes)
    wait_for_all(job.sync, job.n_threads)
    if scores.size > 0:
        for node in range(n_nodes):
            if nodes[node].left < 0:
                value = work.value[node, 0]
                records = work.records[nodes[node].depth & 1]
                for i in range(work.first[thread, node], work.last[thread, node]):
                    scores[records[i] >> np.uint64(32)] += value


@kernel
def grow_tree(thread, n_threads, sync, table, payload, options, rows, key, work, nodes, scores):
    """Grow a tree on ``rows``; add its values to their ``scores`` unless that array is empty.

    The result is in ``nodes``, ``work.sums``, ``work.value`` and ``work.control``.
    """
    control = work.control
    if thread == 0:
        _plant_root(control, work, nodes, options, key, n_threads, rows.size)
    in_range, exact = load_rows(payload, thread, n_threads, sync, rows, work.records[0])
    if thread == 0 and not in_range:
        control[STATUS] = OUT_OF_RANGE
    wait_for_all(sync, n_threads)
    if not in_range:
        return
    n_stats = count_stats(payload)
    job = Job(thread, n_threads, sync, table, payload, options, work, nodes, n_stats, exact, key)
    if nodes[0].slot >= 0:
        _sum_root(job)
    if options.growth == SYMMETRIC:
        grow_symmetric(job)
    else:
        grow_best_first(job)
    if control[STATUS] != ABORTED:
        _set_values(job, scores)
