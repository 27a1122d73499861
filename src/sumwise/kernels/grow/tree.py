"""Grow one tree in one compiled call.

All threads of a team run it together. Each owns a share of the rows, which it partitions, and a
share of the features, which it sums and scores; thread 0 alone decides. Between the steps they meet
at a barrier. All sums are sums of integers, so nothing depends on how the work is divided.
"""

from sumwise.kernels.grow.best_first import grow_best_first
from sumwise.kernels.grow.candidates import sum_side
from sumwise.kernels.grow.decide import plant_root
from sumwise.kernels.grow.gain import leaf_value
from sumwise.kernels.grow.histogram import unpack_record
from sumwise.kernels.grow.layout import (
    ABORTED,
    OUT_OF_RANGE,
    PACKED_ROWS,
    STATUS,
    TREE,
)
from sumwise.kernels.grow.partition import ROW
from sumwise.kernels.grow.quantize import quantize_rows
from sumwise.kernels.grow.symmetric import grow_symmetric
from sumwise.kernels.grow.values import set_values
from sumwise.kernels.grow.verbs import build_histogram, merge_parts
from sumwise.kernels.runtime.jit import YES, ZERO, inlined, kernel
from sumwise.kernels.runtime.reference import item
from sumwise.kernels.runtime.threads import wait_for_all


@inlined
def _sum_records(job, totals):
    """Sum all records, where no feature of the tree has a histogram."""
    totals[:] = 0
    for t in range(job.n_threads):
        records = job.work.records[0, job.work.first[t, 0] : job.work.last[t, 0]]
        totals[2] += records.size
        for i in range(records.size):
            if job.exact:
                row = records[i] >> ROW
                g, h = job.payload.exact_gradient[row], job.payload.exact_hessian[row]
            else:
                g, h = unpack_record(records[i])
            totals[0] += g
            totals[1] += h


@inlined
def _sum_root(job):
    """Build the root's histogram and read its totals off any feature that has one."""
    work, table = job.work, job.table
    build_histogram(job, ZERO, ZERO)
    wait_for_all(job.sync, job.n_threads)
    merge_parts(job, ZERO, ZERO)
    wait_for_all(job.sync, job.n_threads)
    if job.thread == 0:
        totals, found = work.totals[0], False
        for f in range(table.n_value_bins.size):
            has_bins = table.bin_start[f + 1] - table.bin_start[f] > 1
            if work.allowed[TREE, f] and has_bins:
                sum_side(job, ZERO, f, table.n_value_bins[f], YES, totals)
                found = True
                break
        if not found:
            _sum_records(job, totals)
        p = job.payload
        if p.path_smooth > 0.0:
            gradient, hessian = totals[0] * p.units[0], totals[1] * p.units[1]
            p.values[0] = leaf_value(gradient, hessian, p.l1, p.l2, p.max_delta_step)
    wait_for_all(job.sync, job.n_threads)


@inlined
def _begin(thread, n_threads, sync, jobs, gradient, hessian, rows, key):
    """Make records of the rows and plant the root; return the job and whether to go on."""
    job = item(jobs, thread)
    job.thread, job.n_threads, job.sync, job.key = thread, n_threads, sync, key
    payload, work, nodes = job.payload, job.work, job.nodes
    payload.gradient, payload.hessian = gradient, hessian
    if thread == 0:
        plant_root(work, nodes, job.options, key, n_threads, rows.size)
    in_range, exact = quantize_rows(payload, thread, n_threads, sync, rows, work.records[0])
    job.exact = exact
    job.pack = not exact
    if thread == 0:
        nodes[0].packed = job.pack and rows.size <= PACKED_ROWS
        if not in_range:
            work.control[STATUS] = OUT_OF_RANGE
    wait_for_all(sync, n_threads)
    if in_range and nodes[0].slot >= 0:
        _sum_root(job)
    return job, in_range


@kernel
def grow_best_first_tree(thread, n_threads, sync, jobs, gradient, hessian, rows, key, scores):
    """Grow a tree on ``rows``, which ascend, leaf-wise or level-wise; ``jobs`` has one per thread.

    The values of the leaves are added to the ``scores`` of the rows, unless that array is empty.
    The result is in ``nodes``, ``work.sums``, ``work.value`` and ``work.control``.
    """
    job, in_range = _begin(thread, n_threads, sync, jobs, gradient, hessian, rows, key)
    if in_range:
        grow_best_first(job)
        if job.work.control[STATUS] != ABORTED:
            set_values(job, rows, scores)


@kernel
def grow_symmetric_tree(thread, n_threads, sync, jobs, gradient, hessian, rows, key, scores):
    """The same with one split for all nodes of a level.

    A kernel of its own, because most fits need only one of the two, and compiling takes long.
    """
    job, in_range = _begin(thread, n_threads, sync, jobs, gradient, hessian, rows, key)
    if in_range:
        grow_symmetric(job)
        if job.work.control[STATUS] != ABORTED:
            set_values(job, rows, scores)
