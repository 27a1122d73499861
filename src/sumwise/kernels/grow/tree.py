"""Grow one tree in one compiled call.

All threads of a team run it together. They share the tasks of a round (see plan.py); who completes
it decides what comes next. Between the steps they meet at a barrier. All sums are sums of integers,
so nothing depends on how the work is divided.
"""

from sumwise.kernels.grow.best_first import grow_best_first
from sumwise.kernels.grow.decide import plant_root
from sumwise.kernels.grow.gain import leaf_value
from sumwise.kernels.grow.layout import (
    ABORTED,
    DONE,
    LEVEL_SIZE,
    OUT_OF_RANGE,
    PACKED_ROWS,
    STATUS,
)
from sumwise.kernels.grow.nursery import clear_nursery, nursery_start
from sumwise.kernels.grow.plan import add_root, begin_plan, cut_into_tasks
from sumwise.kernels.grow.quantize import quantize_rows, sum_root
from sumwise.kernels.grow.symmetric import grow_symmetric
from sumwise.kernels.grow.values import set_values
from sumwise.kernels.runtime.jit import inlined, kernel
from sumwise.kernels.runtime.reference import item
from sumwise.kernels.runtime.threads import wait_for_all


@inlined
def _plan_root(job, n_rows):
    """Plan the first round: it sums and scores the root."""
    work, nodes, p = job.work, job.nodes, job.payload
    work.first[0], work.last[0] = 0, n_rows
    clear_nursery(work.control, work.plan.free_pairs, nursery_start(job))
    work.control[LEVEL_SIZE] = 1
    begin_plan(job)
    sum_root(p, job.n_threads, n_rows, job.exact, work.totals[0])
    nodes[0].packed = job.pack and n_rows <= PACKED_ROWS
    if p.path_smooth > 0.0:
        gradient, hessian = work.totals[0, 0] * p.units[0], work.totals[0, 1] * p.units[1]
        p.values[0] = leaf_value(gradient, hessian, p.l1, p.l2, p.max_delta_step)
    if nodes[0].slot >= 0:
        add_root(job)
        cut_into_tasks(job)
    else:
        work.control[STATUS] = DONE


@inlined
def _begin(thread, n_threads, sync, jobs, gradient, hessian, rows, key):
    """Make records of the rows and plant the root; return the job and whether to go on."""
    job = item(jobs, thread)
    job.thread, job.n_threads, job.sync, job.key = thread, n_threads, sync, key
    payload, work, nodes = job.payload, job.work, job.nodes
    payload.gradient, payload.hessian = gradient, hessian
    if thread == 0:
        plant_root(work, nodes, job.options, key, rows.size)
    in_range, exact = quantize_rows(payload, thread, n_threads, sync, rows, work.records[0])
    job.exact = exact
    job.pack = not exact
    if thread == 0:
        if in_range:
            _plan_root(job, rows.size)
        else:
            work.control[STATUS] = OUT_OF_RANGE
    wait_for_all(sync, n_threads)
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
