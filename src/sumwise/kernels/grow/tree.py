"""Grow one tree in one compiled call.

All threads of a team run it together. Each owns a part of the rows, which it partitions, and
a part of the features, which it sums and scores; thread 0 alone decides. Between the steps they
meet at a barrier. What is summed is integers, so nothing depends on how the work was divided.
"""

from sumwise.kernels.grow.best_first import grow_best_first
from sumwise.kernels.grow.decide import create_node
from sumwise.kernels.grow.feature_sampling import draw_for_node, draw_for_tree
from sumwise.kernels.grow.frontier import free_all_slots, take_slot
from sumwise.kernels.grow.gradients import can_pack, count_stats, load_rows, root_value
from sumwise.kernels.grow.layout import (
    ABORTED,
    N_LEAVES,
    NONE,
    OUT_OF_RANGE,
    PACKED_ROWS,
    STATUS,
    SYMMETRIC,
    TREE,
    YES,
    ZERO,
    Job,
)
from sumwise.kernels.grow.steps import build_histogram, merge_parts, sum_side
from sumwise.kernels.grow.storage.categories import sum_records
from sumwise.kernels.grow.storage.presorted import sum_ranked_records
from sumwise.kernels.grow.symmetric import grow_symmetric
from sumwise.kernels.grow.values import set_values
from sumwise.kernels.runtime.jit import inlined, kernel
from sumwise.kernels.runtime.threads import share, wait_for_all


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
    """Build the root's histogram and read its totals off any feature that has one."""
    work = job.work
    build_histogram(job, ZERO, ZERO)
    wait_for_all(job.sync, job.n_threads)
    merge_parts(job, ZERO, ZERO)
    wait_for_all(job.sync, job.n_threads)
    if job.thread == 0:
        categories, found = job.table.categories, False
        for f in range(job.table.n_value_bins.size):
            has_bins = job.table.bin_start[f + 1] - job.table.bin_start[f] > 1
            if work.allowed[TREE, f] and has_bins:
                sum_side(job, ZERO, f, job.table.n_value_bins[f], YES, work.totals[0])
                found = True
                break
        if not found:
            work.totals[0] = 0
            for t in range(job.n_threads):
                records = work.records[0, work.first[t, 0] : work.last[t, 0]]
                if sum_ranked_records(job.table.presorted, job.payload, records, work.totals[0]):
                    continue
                sum_records(categories, job.payload, job.exact, records, work.totals[0])
        if job.payload.path_smooth > 0.0:
            job.payload.values[0] = root_value(job.payload, work.totals[0])
    wait_for_all(job.sync, job.n_threads)


@inlined
def _begin(thread, n_threads, sync, table, payload, constraints, options, rows, key, work, nodes):
    """Make records of the rows and plant the root; return the job and whether to go on."""
    control = work.control
    if thread == 0:
        _plant_root(control, work, nodes, options, key, n_threads, rows.size)
    in_range, exact = load_rows(payload, thread, n_threads, sync, rows, work.records[0])
    pack = can_pack(payload) and not exact and options.growth != SYMMETRIC
    if thread == 0:
        nodes[0].packed = pack and rows.size <= PACKED_ROWS
        if not in_range:
            control[STATUS] = OUT_OF_RANGE
    wait_for_all(sync, n_threads)
    work_parts = (options, work, nodes, count_stats(payload), exact, pack, key)
    job = Job(thread, n_threads, sync, table, payload, constraints, *work_parts)
    if in_range and nodes[0].slot >= 0:
        _sum_root(job)
    return job, in_range


@kernel
def grow_best_first_tree(
    thread, n_threads, sync, table, payload, constraints, options, rows, key, work, nodes, scores
):
    """Grow a tree on ``rows``, which ascend, leaf-wise or level-wise.

    The values of the leaves are added to the ``scores`` of the rows, unless that array is empty.
    The result is in ``nodes``, ``work.sums``, ``work.value`` and ``work.control``.
    """
    job, in_range = _begin(
        thread, n_threads, sync, table, payload, constraints, options, rows, key, work, nodes
    )
    if in_range:
        grow_best_first(job)
        if work.control[STATUS] != ABORTED:
            set_values(job, rows, scores)


@kernel
def grow_symmetric_tree(
    thread, n_threads, sync, table, payload, constraints, options, rows, key, work, nodes, scores
):
    """The same with one split for all nodes of a level.

    A kernel of its own, because most fits need only one of the two, and compiling takes long.
    """
    job, in_range = _begin(
        thread, n_threads, sync, table, payload, constraints, options, rows, key, work, nodes
    )
    if in_range:
        grow_symmetric(job)
        if work.control[STATUS] != ABORTED:
            set_values(job, rows, scores)
