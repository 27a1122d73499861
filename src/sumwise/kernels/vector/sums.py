"""Trees with vector leaves: rows become integers, and integers sums of bins; see layout.py."""

import numpy as np

from sumwise.kernels.grow.layout import LARGEST_GRADIENT, TREE
from sumwise.kernels.runtime.fixed_point import (
    exact_gradient,
    exact_hessian,
    exact_limit,
    power_scale,
)
from sumwise.kernels.runtime.jit import inlined, rename, routine
from sumwise.kernels.runtime.threads import share, wait_for_all
from sumwise.kernels.vector.layout import LANES, add_lanes, count_place

_ROW = np.uint64(32)
# Rows whose integers stay in the second-level cache while they are added for one feature after the
# other.
_BLOCK = 2048


@routine
def _find_largest(values, rows):
    """The largest magnitude of the values of rows; inf if one is not finite."""
    largest, check = 0.0, 0.0
    for i in range(rows.size):
        value = values[rows[i]]
        largest = max(largest, abs(value))
        check += value * 0.0  # inf or nan times zero is nan
    return largest if check == 0.0 else np.inf


@routine
def _fill_block(payload, rows, scales, sums):
    """Write the integers of rows, and add them to the sums."""
    n_outputs, stats, n_stats = payload.gradient.shape[0], payload.stats, payload.n_stats
    for k in range(n_outputs):
        values, total = payload.gradient[k], np.int64(0)
        for i in range(rows.size):
            integer = exact_gradient(values[rows[i]], scales[k])
            stats[np.int64(rows[i]) * n_stats + k] = integer
            total += integer
        sums[k] += total
    for j in range(payload.n_hessians):
        values, place, total = payload.hessian[j], n_outputs + j, np.int64(0)
        for i in range(rows.size):
            integer = exact_hessian(values[rows[i]], scales[place])
            stats[np.int64(rows[i]) * n_stats + place] = integer
            total += integer
        sums[place] += total
    place = count_place(payload)
    for i in range(rows.size):
        first = np.int64(rows[i]) * n_stats
        stats[first + place] = 1
        stats[first + place + 1 : first + n_stats] = 0
    sums[place] += rows.size


@inlined
def load_vectors(job, rows):
    """Fill integers, records and the totals of the root; return whether all is in range."""
    payload, work, thread = job.payload, job.work, job.thread
    n_outputs, n_values = payload.gradient.shape[0], count_place(payload)
    first, last = share(rows.size, thread, job.n_threads)
    own = rows[first:last]
    for s in range(n_values):
        values = payload.gradient[s] if s < n_outputs else payload.hessian[s - n_outputs]
        payload.ranges[thread, 0, s] = _find_largest(values, own)
    wait_for_all(job.sync, job.n_threads)
    in_range, limit = True, exact_limit(rows.size)
    scales = payload.ranges[thread, 1]
    for s in range(n_values):
        largest = 0.0
        for t in range(job.n_threads):
            largest = max(largest, payload.ranges[t, 0, s])
        in_range &= largest <= LARGEST_GRADIENT
        scales[s] = power_scale(largest, limit)
        if thread == 0:
            payload.units[s] = 1.0 / scales[s]
    if thread == 0 and payload.n_hessians == 0:
        payload.units[n_values] = 1.0
    work.sums[thread] = 0
    if in_range:
        for begin in range(0, own.size, _BLOCK):
            block = own[begin : min(begin + _BLOCK, own.size)]
            _fill_block(payload, block, scales, work.sums[thread])
        records = work.records[0, first:last]
        for i in range(own.size):
            records[i] = np.uint64(own[i]) << _ROW
    wait_for_all(job.sync, job.n_threads)
    if thread == 0:
        work.totals[0] = 0
        for t in range(job.n_threads):
            for s in range(work.totals.shape[1]):
                work.totals[0, s] += work.sums[t, s]
    wait_for_all(job.sync, job.n_threads)
    return in_range


@inlined
def is_own(job, f):
    """Whether this thread sums up and scores a feature of the tree."""
    return f % job.n_threads == job.thread and job.work.allowed[TREE, f] != 0


@inlined
def feature_sums(job, node, f):
    """A feature's part of a node's histogram."""
    start, n_stats = job.table.bin_start, job.payload.n_stats
    return job.work.histograms[job.nodes[node].slot, n_stats * start[f] : n_stats * start[f + 1]]


def _make_adder(n_vectors):
    """Make the summing loop for so many vectors per row: it is unrolled when compiled."""
    n = np.uint64(LANES * n_vectors)

    def add(records, column, stats, bins):
        for i in range(records.size):
            row = records[i] >> _ROW
            place, source = np.uint64(column[row]) * n, row * n
            for j in range(n_vectors):
                lane = np.uint64(LANES * j)
                add_lanes(bins, place + lane, stats, source + lane)

    return routine(rename(add, f"add_{n_vectors}_vectors"))


_add_1, _add_2, _add_3, _add_4 = (_make_adder(n_vectors) for n_vectors in range(1, 5))


@routine
def _add_vectors(records, column, stats, n_stats, bins):
    """Add the integers of rows to the sums of their bins."""
    if n_stats == LANES:
        _add_1(records, column, stats, bins)
    elif n_stats == 2 * LANES:
        _add_2(records, column, stats, bins)
    elif n_stats == 3 * LANES:
        _add_3(records, column, stats, bins)
    elif n_stats == 4 * LANES:
        _add_4(records, column, stats, bins)
    else:
        n = np.uint64(n_stats)
        for i in range(records.size):
            row = records[i] >> _ROW
            place, source = np.uint64(column[row]) * n, row * n
            for lane in range(np.uint64(0), n, np.uint64(LANES)):
                add_lanes(bins, place + lane, stats, source + lane)


@routine
def build_vector_histogram(job, node):
    """Sum up the rows of a node for the thread's features."""
    work, n_features = job.work, job.table.n_value_bins.size
    n_stats, stats = job.payload.n_stats, job.payload.stats
    for f in range(n_features):
        if is_own(job, f):
            feature_sums(job, node, f)[:] = 0
    for t in range(job.n_threads):
        records = work.records[job.nodes[node].depth & 1, work.first[t, node] : work.last[t, node]]
        for begin in range(0, records.size, _BLOCK):
            block = records[begin : min(begin + _BLOCK, records.size)]
            for f in range(n_features):
                if is_own(job, f):
                    bins = feature_sums(job, node, f)
                    _add_vectors(block, job.table.columns[f], stats, n_stats, bins)


@routine
def subtract_vector_histogram(job, small, large):
    """The larger child's histogram is its parent's, in whose slot it lies, less its sibling's."""
    for f in range(job.table.n_value_bins.size):
        if is_own(job, f):
            taken, bins = feature_sums(job, small, f), feature_sums(job, large, f)
            for i in range(bins.size):
                bins[i] -= taken[i]
