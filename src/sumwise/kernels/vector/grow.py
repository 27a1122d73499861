"""Grow one tree with vector leaves in one compiled call; see layout.py.

The loops are those of ``best_first`` and ``symmetric``, with fewer choices: each thread owns whole
features, so it sums and scores them without waiting for others.
"""

import numpy as np

from sumwise.kernels.grow.decide import (
    append_children,
    find_best_feature,
    plant_root,
    smaller_child,
)
from sumwise.kernels.grow.feature_sampling import draw_for_node
from sumwise.kernels.grow.frontier import (
    begin_levels,
    may_split_level,
    place_children,
    place_level_children,
    pop_next,
    queue_node,
    release_level,
)
from sumwise.kernels.grow.gain import leaf_value
from sumwise.kernels.grow.layout import (
    ABORTED,
    GROWING,
    LEVEL_FIRST,
    LEVEL_SIZE,
    MODE,
    N_NODES,
    NO_HISTOGRAMS,
    NODE,
    NOISE,
    OUT_OF_RANGE,
    SMALL,
    STATUS,
    SUBTRACT,
    SYMMETRIC,
)
from sumwise.kernels.grow.missing import follows_larger
from sumwise.kernels.grow.nursery import claim_pair
from sumwise.kernels.grow.partition import left_range, partition_records
from sumwise.kernels.runtime.jit import NONE, ZERO, inlined, kernel, routine
from sumwise.kernels.runtime.reference import refer
from sumwise.kernels.runtime.threads import share, wait_for_all
from sumwise.kernels.vector.layout import VectorJob, count_place, hessian_place
from sumwise.kernels.vector.splits import (
    count_missing_rows,
    leaves_enough,
    score_output,
    score_vector,
    score_vector_nodes,
    sum_record_side,
    sum_vector_side,
)
from sumwise.kernels.vector.sums import (
    build_vector_histogram,
    load_vectors,
    subtract_vector_histogram,
)

_ROW = np.uint64(32)


@routine
def _adopt_split(job, node, child):
    """Thread 0: give a node its best split if that gains enough; return whether it does."""
    work, nodes, payload = job.work, job.nodes, job.payload
    gain, f = find_best_feature(job, child)
    totals, rows = work.totals[node], count_place(payload)
    noise = NOISE * abs(score_vector(payload, totals))
    if not nodes[node].splittable or not gain > job.options.min_gain + noise:
        return False
    split_bin = work.candidates[child, f].split_bin
    missing_left = work.candidates[child, f].missing_left != 0
    sum_vector_side(job, node, f, split_bin, missing_left)
    if count_missing_rows(job, node, f) == 0:
        missing_left = follows_larger(work.left_totals[node, rows], totals[rows])
    nodes[node].feature = f
    nodes[node].split_bin = split_bin
    nodes[node].missing_left = missing_left
    nodes[node].gain = gain
    return True


@inlined
def _choose_next(job):
    """Thread 0: pop the next node, create its children and say what is to be done for them."""
    node, rows = pop_next(job), count_place(job.payload)
    control = job.work.control
    if node >= 0:
        append_children(job, node, claim_pair(control), NONE, rows)
        small = smaller_child(job, node, rows)
        control[NODE], control[SMALL] = node, small
        control[MODE] = place_children(job, node, small, ZERO)


@routine
def _move_records(job, node):
    """Move the thread's records of a node to its children."""
    work, nodes, thread = job.work, job.nodes, job.thread
    depth, left = nodes[node].depth, nodes[node].left
    first, last = work.first[thread, node], work.last[thread, node]
    skip, bound = left_range(nodes[node].split_bin, nodes[node].missing_left)
    column = job.table.columns[nodes[node].feature]
    places = (work.records[depth & 1], work.records[(depth + 1) & 1], first, last)
    middle = partition_records(*places, column, skip, bound)
    work.first[thread, left], work.last[thread, left] = first, middle
    work.first[thread, left + 1], work.last[thread, left + 1] = middle, last


@inlined
def _grow_best_first(job):
    """Split the best leaf, or the best of the highest level, until nothing is left to split."""
    nodes, control = job.nodes, job.work.control
    first, last = 0, 1  # nodes that may have just been scored
    if nodes[0].slot >= 0:
        build_vector_histogram(job, ZERO)
        score_vector_nodes(job, ZERO, ZERO + 1, ZERO)
    wait_for_all(job.sync, job.n_threads)
    while True:
        if job.thread == 0:
            for node in range(first, last):
                if nodes[node].slot >= 0:
                    queue_node(job, node, _adopt_split(job, node, node - first))
            _choose_next(job)
        wait_for_all(job.sync, job.n_threads)
        if control[STATUS] != GROWING:
            break
        node, small, mode = control[NODE], control[SMALL], control[MODE]
        first = np.int64(nodes[node].left)
        last = first + 2
        _move_records(job, node)
        wait_for_all(job.sync, job.n_threads)
        if mode == NO_HISTOGRAMS:
            continue
        large = 2 * first + 1 - small
        for which in range(1 if mode == SUBTRACT else 2):
            build_vector_histogram(job, small if which == 0 else large)
        if mode == SUBTRACT:
            subtract_vector_histogram(job, small, large)
        for child in range(2):
            if nodes[first + child].splittable:
                score_vector_nodes(job, first + child, first + child + 1, child)
        wait_for_all(job.sync, job.n_threads)


@inlined
def _split_level(job, first, size, f):
    """Thread 0: give all nodes of the level the split and create their children."""
    work, nodes, payload = job.work, job.nodes, job.payload
    rows, min_rows = count_place(payload), job.options.min_samples_leaf
    split_bin = work.candidates[0, f].split_bin
    missing_left = work.candidates[0, f].missing_left != 0
    n_missing, n_left, n_rows = 0, 0, 0
    for node in range(first, first + size):
        work.left_totals[node] = 0
        if nodes[node].slot >= 0:
            sum_vector_side(job, node, f, split_bin, missing_left)
            n_missing += count_missing_rows(job, node, f)
            n_left += work.left_totals[node, rows]
            n_rows += work.totals[node, rows]
    if n_missing == 0:
        missing_left = follows_larger(n_left, n_rows)
    for node in range(first, first + size):
        if nodes[node].slot < 0:
            sum_record_side(job, node, f, split_bin, missing_left)
        enough = leaves_enough(payload, work.totals[node], work.left_totals[node], min_rows)
        is_split = nodes[node].slot >= 0 and enough
        nodes[node].feature = f
        nodes[node].split_bin = split_bin
        nodes[node].missing_left = missing_left
        nodes[node].gain = 1.0 if is_split else 0.0  # whether outputs have gains; see _set_values
        anchor = NONE if is_split else np.int64(nodes[node].anchor)
        append_children(job, node, claim_pair(work.control), anchor, rows)
        place_level_children(job, node, smaller_child(job, node, rows))


@inlined
def _choose_level_split(job):
    """Thread 0: adopt the best split of the level, or end."""
    control = job.work.control
    first, size = control[LEVEL_FIRST], control[LEVEL_SIZE]
    gain, f = find_best_feature(job, ZERO)
    noise = 0.0
    for node in range(first, first + size):
        if job.nodes[node].slot >= 0:
            noise += NOISE * abs(score_vector(job.payload, job.work.totals[node]))
    if may_split_level(job, gain, noise):
        _split_level(job, first, size, f)
        control[LEVEL_FIRST] = first + size
        control[LEVEL_SIZE] = 2 * size


@inlined
def _grow_levels(job):
    """Split all nodes of a level by one split, level after level."""
    work, nodes, control = job.work, job.nodes, job.work.control
    if job.thread == 0:
        begin_levels(job)
    wait_for_all(job.sync, job.n_threads)
    if control[STATUS] == GROWING:
        build_vector_histogram(job, ZERO)
    for depth in range(job.options.max_depth):
        if control[STATUS] != GROWING:
            break
        first, size = control[LEVEL_FIRST], control[LEVEL_SIZE]
        score_vector_nodes(job, first, first + size, ZERO)
        wait_for_all(job.sync, job.n_threads)
        if job.thread == 0:
            _choose_level_split(job)
            draw_for_node(work.allowed, job.options, job.key, depth + 1, depth + 1, ZERO)
        wait_for_all(job.sync, job.n_threads)
        if control[STATUS] != GROWING:
            break
        for node in range(first, first + size):
            _move_records(job, node)
        wait_for_all(job.sync, job.n_threads)
        for node in range(first, first + size):
            small = smaller_child(job, node, count_place(job.payload))
            large = 2 * np.int64(nodes[node].left) + 1 - small
            if nodes[large].slot >= 0:
                build_vector_histogram(job, small)
                subtract_vector_histogram(job, small, large)
        wait_for_all(job.sync, job.n_threads)
        if job.thread == 0:
            release_level(job, first + size, first + 3 * size)
        wait_for_all(job.sync, job.n_threads)


@inlined
def _name_leaves(job):
    """Write the leaf of each of the thread's rows."""
    work, nodes, thread = job.work, job.nodes, job.thread
    for node in range(work.control[N_NODES]):
        if nodes[node].left < 0:
            first, last = work.first[thread, node], work.last[thread, node]
            records = work.records[nodes[node].depth & 1, first:last]
            for i in range(records.size):
                work.leaf[records[i] >> _ROW] = node


@inlined
def _set_values(job):
    """Thread 0: values, weights and gains of every node, output by output."""
    work, nodes, payload = job.work, job.nodes, job.payload
    limits = (payload.l1, payload.l2, payload.max_delta_step)
    for node in range(work.control[N_NODES]):
        left, totals = np.int64(nodes[node].left), work.totals[node]
        if left < 0:
            nodes[node].feature = -1
            nodes[node].split_bin = 0
            nodes[node].missing_left = 0
            nodes[node].gain = 0.0
        anchor = nodes[node].anchor
        for k in range(payload.gradient.shape[0]):
            place = hessian_place(payload, k)
            gradient, hessian = totals[k] * payload.units[k], totals[place] * payload.units[place]
            own = payload.learning_rate * leaf_value(gradient, hessian, *limits)
            work.value[k, node] = own if anchor == node else work.value[k, anchor]
            work.weight[k, node] = hessian
            work.gain[k, node] = 0.0
            if nodes[node].gain > 0.0:
                score_left = score_output(payload, work.totals[left], k)
                score_right = score_output(payload, work.totals[left + 1], k)
                gain = 0.5 * ((score_left + score_right) - score_output(payload, totals, k))
                work.gain[k, node] = gain


@kernel
def grow_vector_tree(thread, n_threads, sync, table, payload, options, rows, key, work, nodes):
    """Grow a tree on ``rows``, which ascend.

    The result is in ``nodes`` and in ``value``, ``weight``, ``gain``, ``totals``, ``leaf`` and
    ``control`` of ``work``.
    """
    job = refer(VectorJob(thread, n_threads, sync, table, payload, options, work, nodes, key))
    if thread == 0:
        plant_root(work, nodes, options, key, rows.size)
        for t in range(n_threads):
            work.first[t, 0], work.last[t, 0] = share(rows.size, t, n_threads)
    wait_for_all(sync, n_threads)
    in_range = load_vectors(job, rows)
    if not in_range:
        if thread == 0:
            work.control[STATUS] = OUT_OF_RANGE
        return
    if options.growth == SYMMETRIC:
        _grow_levels(job)
    else:
        _grow_best_first(job)
    if work.control[STATUS] != ABORTED:
        _name_leaves(job)
        if thread == 0:
            _set_values(job)
