"""Grow a tree on a table in pages of rows: one step per call, one pass over the pages per round.

The steps are those of tree.py. A page is worked on by one thread: it moves the records of all nodes
that the round splits, and sums their children, while the page is in memory. All pages add to the
histograms of the nodes. Between the steps Python may add the sums of other processes.

A page has a job of its own, with its table and the rows of its table: records hold the numbers
that rows have in their page. The records of all pages lie end to end, and so do the leaves of their
rows. Nodes, histograms and the plan belong to all. Rounds are planned by jobs that see no rows.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.grow.best_first import (
    _add_split,
    _count_families,
    _push_if_split,
    _receive_families,
    _score_all,
)
from sumwise.kernels.grow.candidates import is_drawn
from sumwise.kernels.grow.decide import children_may_split, plant_root
from sumwise.kernels.grow.frontier import pop_next
from sumwise.kernels.grow.heap import pop_node
from sumwise.kernels.grow.layout import (
    BUILD_BOTH,
    GRADIENT_LIMIT,
    GROWING,
    HESSIAN_LIMIT,
    LEVEL_FEATURE,
    N_FREE,
    N_HEAP,
    N_LEAVES,
    N_NODES,
    N_NURSERY,
    N_STATS,
    NO_HISTOGRAMS,
    STATUS,
)
from sumwise.kernels.grow.nursery import (
    _restore_records,
    adopt_children,
    claim_pair,
    nursery_start,
    take_pair,
)
from sumwise.kernels.grow.partition import ROW
from sumwise.kernels.grow.plan import (
    BUILDS,
    COUNTS,
    F_MODE,
    F_SMALL,
    FIRST,
    ITEM,
    ITEM_END,
    ITEM_LARGE,
    LAST,
    LEFT,
    MOST_FAMILIES,
    MOVES,
    N_FAMILIES,
    PARENT,
    SCORED_BY,
    SPLIT_BY,
    SUM_PLACE,
    SUMMED,
    begin_plan,
    is_last_thread,
    next_task,
    other_child,
)
from sumwise.kernels.grow.quantize import (
    _BLOCK,
    _PACKED_G,
    _PACKED_H,
    _SIZE_G,
    _SUM_G,
    _SUM_H,
    _find_maxima,
    _pack_rows,
    _sum_records,
)
from sumwise.kernels.grow.storage.dense import _add_part, _is_packed
from sumwise.kernels.grow.symmetric import _finish_all, _go_on, _split_level, _take_sides
from sumwise.kernels.grow.tree import _plan_root
from sumwise.kernels.grow.values import (
    _add_values,
    _merge_sums,
    _name_all_leaves,
    _set_nodes,
    sum_rows,
)
from sumwise.kernels.grow.verbs import build_histogram, move_records
from sumwise.kernels.runtime.fixed_point import (
    exact_gradient,
    exact_hessian,
    exact_limit,
    power_scale,
)
from sumwise.kernels.runtime.jit import ZERO, inlined, kernel, routine
from sumwise.kernels.runtime.mapped import fetch_soon
from sumwise.kernels.runtime.reference import item
from sumwise.kernels.runtime.threads import (
    atomic_add,
    compare_exchange,
    share,
    wait_for_all,
    yield_core,
)
from sumwise.kernels.table.layout import DENSE

# Locks of histograms are cache lines apart.
LOCK_STEP = 8


class Pages(NamedTuple):
    """Where the rows of the tree are, page by page; and buffers."""

    first_row: Any  # int64 (n_pages,): the number of a page's first row
    start: Any  # int64 (n_pages + 1,): where its records begin
    first: Any  # int64 (n_pages, n_nodes): the records of a node, with the nursery
    last: Any  # int64 (n_pages, n_nodes)
    locks: Any  # int64 (LOCK_STEP * 2 * most families,): 1 while a thread adds to a node's sums
    counts: Any  # int64 (n_threads, n_nodes, N_STATS): what a page adds to the sums of leaves
    stacks: Any  # int32 (n_threads, n_nodes)


# Records


@kernel
def find_page_maxima(thread, n_threads, sync, jobs, gradient, hessian, rows, key, n_rows):
    """Begin a tree of ``n_rows`` rows in all processes: find the maxima of the thread's rows."""
    job = item(jobs, thread)
    job.thread, job.n_threads, job.sync, job.key = thread, n_threads, sync, key
    payload, ranges = job.payload, job.payload.ranges
    payload.gradient, payload.hessian = gradient, hessian
    if thread == 0:
        plant_root(job.work, job.nodes, job.options, key, n_rows)
    first, last = share(rows.size, thread, n_threads)
    max_g, max_h, finite = _find_maxima(gradient, hessian, rows[first:last])
    ranges[thread, 0], ranges[thread, 1] = max_g, max_h
    ranges[thread, 2] = 0.0 if finite else 1.0


@kernel
def pack_pages(thread, n_threads, sync, jobs, pages, rows, max_g, max_h, n_rows):
    """Make records of the rows under scales that all processes share; sum them by thread."""
    job = item(jobs, thread)
    payload, limit = job.payload, exact_limit(n_rows)
    scales = power_scale(max_g, float(GRADIENT_LIMIT)), power_scale(max_h, float(HESSIAN_LIMIT))
    exact_scales = power_scale(max_g, limit), power_scale(max_h, limit)
    first, last = share(rows.size, thread, n_threads)
    sums, records = payload.sums[thread], job.work.records[0]
    sums[: _SUM_G + 1] = 0
    for page in range(pages.first_row.size):
        before = np.uint64(pages.first_row[page]) << ROW
        end = min(last, pages.start[page + 1])
        for begin in range(max(first, pages.start[page]), end, _BLOCK):
            own, block = rows[begin : min(begin + _BLOCK, end)], records[begin:end]
            size_g, sum_h = _pack_rows(payload, own, scales, exact_scales, block)
            packed_g, packed_h = _sum_records(block[: own.size])
            sums[_SIZE_G] += size_g
            sums[_SUM_H] += sum_h
            sums[_PACKED_G] += packed_g
            sums[_PACKED_H] += packed_h
            for i in range(own.size):
                block[i] -= before
    if thread == 0:
        payload.units[0], payload.units[1] = 1.0 / scales[0], 1.0 / scales[1]
        payload.units[2], payload.units[3] = 1.0 / exact_scales[0], 1.0 / exact_scales[1]


@kernel
def keep_exact_values(thread, n_threads, sync, jobs, rows):
    """Keep the exact values of the rows, where histograms need them; sum the gradients."""
    payload = item(jobs, thread).payload
    scale_g, scale_h = 1.0 / payload.units[2], 1.0 / payload.units[3]
    first, last = share(rows.size, thread, n_threads)
    sum_g = ZERO
    for i in range(first, last):
        row = rows[i]
        exact_g = exact_gradient(payload.gradient[row], scale_g)
        sum_g += exact_g
        payload.exact_gradient[row] = exact_g
        payload.exact_hessian[row] = exact_hessian(payload.hessian[row], scale_h)
    payload.sums[thread, _SUM_G] = sum_g


@kernel
def plan_first_round(thread, n_threads, sync, jobs, n_rows, exact):
    """Plan the round that sums the root; the sums of all rows are those of the first thread."""
    job = item(jobs, thread)
    job.exact, job.pack = exact, not exact
    if thread == 0:
        _plan_root(job, n_rows)


# A pass over the pages


@routine
def _clear_families(job, locks):
    """Begin the histograms of a thread's share of the families with zeros."""
    plan, work = job.work.plan, job.work
    for k in range(job.thread, plan.sizes[N_FAMILIES], job.n_threads):
        own = plan.families[k]
        locks[2 * LOCK_STEP * k] = locks[2 * LOCK_STEP * k + LOCK_STEP] = 0
        if own[F_MODE] != NO_HISTOGRAMS:
            work.histograms[job.nodes[own[F_SMALL]].slot, :] = 0
        if own[F_MODE] == BUILD_BOTH:
            large = other_child(own[LEFT], own[F_SMALL])
            work.histograms[job.nodes[large].slot, :] = 0


@routine
def _move_family(job, node):
    """Move the page's records of a node to its children."""
    work, left = job.work, np.int64(job.nodes[node].left)
    first, last = work.first[node], work.last[node]
    end = first
    if first < last:
        end = move_records(job, node, (first, last, first, last - 1, ZERO + 1))
    work.first[left], work.last[left] = first, end
    work.first[left + 1], work.last[left + 1] = end, last


@routine
def _add_sums(job, node):
    """Add the thread's sums of a part of a node to the node's histogram."""
    work, table = job.work, job.table
    own = job.nodes[node]
    node_packed, part_packed = own.packed != 0, _is_packed(job, ZERO)
    part, histogram = work.partial[job.thread], work.histograms[own.slot]
    n_stats = 1 if node_packed else N_STATS
    for m in range(table.lanes.members.size):
        f = table.lanes.members[m]
        if is_drawn(job, f):
            start, n_bins = N_STATS * table.bin_start[f], table.n_value_bins[f] + 1
            end = start + n_stats * n_bins
            _add_part(part[start:end], n_bins, part_packed, node_packed, histogram[start:end])


@routine
def _sum_node(job, node, locks, lock):
    """Add the page's rows of a node to its histogram."""
    work, own = job.work, job.work.plan.items[0]
    if work.first[node] == work.last[node]:
        return
    own[SUMMED], own[SUM_PLACE] = node, job.thread
    own[FIRST], own[LAST] = work.first[node], work.last[node]
    for tile in range(job.table.tile_start.size):
        build_histogram(job, ZERO, DENSE, tile)
    while not compare_exchange(locks, lock, 0, 1):
        yield_core()
    _add_sums(job, node)
    atomic_add(locks, lock, -1)


@routine
def _sum_page(job, locks):
    """Do the work of a round for a page."""
    plan = job.work.plan
    n_families = plan.sizes[N_FAMILIES]
    for i in range(n_families):
        # Threads begin with different families, so that they rarely wait for each other.
        k = (i + job.thread) % n_families
        own = plan.families[k]
        if own[PARENT] >= 0:
            _move_family(job, own[PARENT])
        if own[F_MODE] != NO_HISTOGRAMS:
            _sum_node(job, own[F_SMALL], locks, 2 * LOCK_STEP * k)
        if own[F_MODE] == BUILD_BOTH:
            large = other_child(own[LEFT], own[F_SMALL])
            _sum_node(job, large, locks, 2 * LOCK_STEP * k + LOCK_STEP)


@routine
def _fetch_page(job):
    """Ask for what the round will read of a page."""
    plan = job.work.plan
    fetch_soon(job.table.tiles)
    for k in range(plan.sizes[N_FAMILIES]):
        node = plan.families[k, PARENT]
        if node >= 0:
            fetch_soon(job.table.columns[job.nodes[node].feature])


@kernel
def sum_pages(thread, n_threads, sync, jobs, page_jobs, pages, backwards, ahead):
    """Move the records of the round's nodes, and sum what it needs of their children.

    ``backwards`` visits the last page first: the system may still have it in memory. ``ahead`` asks
    the system to read the next page from disk meanwhile.
    """
    job = item(jobs, thread)
    _clear_families(job, pages.locks)
    wait_for_all(sync, n_threads)
    n_pages = pages.first_row.size
    task = thread
    while task < n_pages:
        page = n_pages - 1 - task if backwards else task
        following = page - n_threads if backwards else page + n_threads
        if ahead and 0 <= following < n_pages:
            _fetch_page(item(page_jobs, following))
        if pages.start[page] < pages.start[page + 1]:
            own = item(page_jobs, page)
            own.thread, own.exact, own.pack = thread, job.exact, job.pack
            _sum_page(own, pages.locks)
        task = next_task(job, BUILDS, n_pages)


# The plan of the next round


@routine
def _split_node(job, pages, node, left):
    """Create the children of a node; no page has moved its records there so far."""
    for page in range(pages.first_row.size):
        for child in range(left, left + 2):
            pages.first[page, child] = pages.last[page, child] = 0
    _add_split(job, node, left)


@routine
def _adopt_children(job, pages, node):
    """Move the children of a node from the nursery to the tree, on all pages."""
    old = np.int64(job.nodes[node].left)
    adopt_children(job, node)
    left = np.int64(job.nodes[node].left)
    for page in range(pages.first_row.size):
        first, last = pages.first[page], pages.last[page]
        for child in range(2):
            first[left + child], last[left + child] = first[old + child], last[old + child]


@routine
def _add_guesses(job, pages):
    """Add nodes to the plan that will be split soon, unless better ones come.

    A pass over the pages costs more than sums in vain: only the number of nodes is limited.
    """
    work, plan, nodes, guess = job.work, job.work.plan, job.nodes, job.work.plan.guess
    control, options = work.control, job.options
    n_leaves, heap = control[N_LEAVES], plan.guess_heap
    most = _count_families(job)
    guess[N_HEAP] = control[N_HEAP]
    for i in range(control[N_HEAP]):
        heap[i] = work.heap[i]
    # The last split needs no histograms.
    while guess[N_HEAP] > 0 and n_leaves + 1 < options.max_leaves:
        node = np.int64(pop_node(guess, heap, nodes, options.growth))
        n_leaves += 1
        left = np.int64(nodes[node].left)
        if left >= 0:
            _push_if_split(job, guess, heap, left)
            _push_if_split(job, guess, heap, left + 1)
        elif children_may_split(job, node):
            n_slots = 1 if nodes[node].slot >= 0 else 2
            is_full = plan.sizes[N_FAMILIES] >= most
            if is_full or control[N_NURSERY] == 0 or control[N_FREE] < n_slots:
                return
            _split_node(job, pages, node, np.int64(take_pair(job)))


@routine
def _plan_round(job, pages):
    """Find what is to be split next; the status says whether growth goes on."""
    work, plan, nodes, control = job.work, job.work.plan, job.nodes, job.work.control
    _receive_families(job)
    begin_plan(job)
    while plan.sizes[N_FAMILIES] == 0:
        node = pop_next(job)
        if node < 0:
            return
        if nodes[node].left < 0:
            _split_node(job, pages, node, claim_pair(control))
        else:
            _adopt_children(job, pages, node)
            for child in range(2):
                _push_if_split(job, control, work.heap, nodes[node].left + child)
    if plan.rules[MOST_FAMILIES] > 1:
        _add_guesses(job, pages)
    for k in range(plan.sizes[N_FAMILIES]):  # histograms are complete: there are no parts to merge
        own = plan.families[k]
        own[ITEM] = own[ITEM_LARGE] = own[ITEM_END] = 0


@kernel
def plan_best_first_round(thread, n_threads, sync, jobs, pages):
    """Score the children of the round, leaf-wise or level-wise, and plan the next round."""
    job = item(jobs, thread)
    _score_all(job)
    if is_last_thread(job, SCORED_BY):
        _plan_round(job, pages)


@kernel
def plan_symmetric_round(thread, n_threads, sync, jobs, pages):
    """Complete the nodes of the round; if they complete a level, split it. Plan the next round."""
    job = item(jobs, thread)
    control = job.work.control
    _finish_all(job)
    if is_last_thread(job, SCORED_BY):
        _go_on(job)
    wait_for_all(sync, n_threads)
    if control[STATUS] == GROWING and control[LEVEL_FEATURE] >= 0:
        _take_sides(job)
        if is_last_thread(job, SPLIT_BY):
            _split_level(job)


# Leaves and values


@routine
def _restore_page(job, stack):
    """Put the page's records of leaves back where they were before the nursery took them."""
    job.work.plan.guess_heap = stack
    for node in range(job.work.control[N_NODES]):
        if job.nodes[node].left >= nursery_start(job):
            _restore_records(job, node)


@routine
def _name_page(job, first, last, sums):
    """Write the leaf of each row of a page; add the rows of the leaves to their sums."""
    _name_all_leaves(job, first, last)
    counts = job.work.sums[job.thread]
    for node in range(job.work.control[N_NODES]):
        for s in range(N_STATS):
            sums[node, s] += counts[node, s]


@inlined
def _drop_nursery(job):
    """Make leaves of the nodes whose children are still in the nursery."""
    for node in range(job.work.control[N_NODES]):
        if job.nodes[node].left >= nursery_start(job):
            job.nodes[node].left = -1


@kernel
def sum_page_leaves(thread, n_threads, sync, jobs, page_jobs, pages, rows):
    """Find the leaf of each row, and the exact sums of the leaves."""
    job = item(jobs, thread)
    work, n_pages = job.work, pages.first_row.size
    work.sums[thread, : work.control[N_NODES]] = 0
    page = thread
    while page < n_pages:
        own = item(page_jobs, page)
        own.thread = thread
        _restore_page(own, pages.stacks[thread])
        page = next_task(job, MOVES, n_pages)
    wait_for_all(sync, n_threads)
    if thread == 0:
        _drop_nursery(job)
    wait_for_all(sync, n_threads)
    page = thread
    while page < n_pages:
        own = item(page_jobs, page)
        own.thread = thread
        _name_page(own, pages.start[page], pages.start[page + 1], work.sums[thread])
        page = next_task(job, COUNTS, n_pages)
    wait_for_all(sync, n_threads)
    first, last = share(rows.size, thread, n_threads)
    sum_rows(job.payload, rows[first:last], work.leaf, work.prefix[thread], work.sums[thread])
    wait_for_all(sync, n_threads)
    _merge_sums(job)


@kernel
def set_page_values(thread, n_threads, sync, jobs, rows, scores):
    """Give every node its value; add the leaves' values to the scores, if there are any."""
    job = item(jobs, thread)
    if thread == 0:
        _set_nodes(job)
    wait_for_all(sync, n_threads)
    if scores.size > 0:
        first, last = share(rows.size, thread, n_threads)
        _add_values(rows[first:last], job.work.leaf, job.work.value, scores)
