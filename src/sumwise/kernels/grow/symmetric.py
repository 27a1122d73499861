"""Symmetric growth: one split for all nodes of a level.

A node adds no gain if the split would leave a child too small, or put the children's values in an
order that a monotone constraint forbids. Its children then keep its value: their *anchor* is its
anchor. Nodes with too few rows for any split have no histogram. Missing values go the same way in
all nodes of a level.
"""

import numpy as np

from sumwise.kernels.grow.constraints import restrict_features
from sumwise.kernels.grow.decide import create_children, find_best_feature, smaller_child
from sumwise.kernels.grow.feature_sampling import draw_for_node
from sumwise.kernels.grow.frontier import (
    begin_levels,
    may_split_level,
    place_level_children,
    release_level,
)
from sumwise.kernels.grow.gain import find_limits, node_score
from sumwise.kernels.grow.layout import COUNT, GROWING, LEVEL_FIRST, LEVEL_SIZE, NOISE, STATUS
from sumwise.kernels.grow.missing import follows_larger
from sumwise.kernels.grow.steps import leave_records, partition_node, subtract_histogram
from sumwise.kernels.grow.verbs import (
    build_histogram,
    merge_parts,
    score_level,
    take_level_gain,
    take_level_side,
)
from sumwise.kernels.runtime.jit import NONE, ZERO, inlined
from sumwise.kernels.runtime.threads import wait_for_all


@inlined
def _split_level(job, first, size, f):
    """Thread 0: give all nodes of the level the split and create their children."""
    work, nodes = job.work, job.nodes
    split_bin = work.candidates[0, f].split_bin
    missing_left = work.candidates[0, f].missing_left != 0
    n_missing, n_left, n_rows = ZERO, ZERO, ZERO
    for node in range(first, first + size):
        left = work.left_totals[node]
        left[:] = 0
        if nodes[node].slot >= 0:
            n_missing += take_level_side(job, node, f)
            n_left += left[COUNT]
            n_rows += work.totals[node, COUNT]
    if n_missing == 0:
        missing_left = follows_larger(n_left, n_rows)
    for node in range(first, first + size):
        valid = take_level_gain(job, node, f)
        nodes[node].feature = f
        nodes[node].split_bin = split_bin
        nodes[node].missing_left = missing_left
        nodes[node].gain = nodes[node].gain if valid else 0.0
        create_children(job, node, NONE if valid else np.int64(nodes[node].anchor))
        place_level_children(job, node, smaller_child(job, node, COUNT))


@inlined
def _choose_level_split(job):
    """Thread 0: adopt the best split of the level, or end."""
    control = job.work.control
    first, size = control[LEVEL_FIRST], control[LEVEL_SIZE]
    gain, f = find_best_feature(job, ZERO)
    noise = 0.0
    for node in range(first, first + size):
        if job.nodes[node].slot >= 0:
            score = node_score(find_limits(job, node, NONE), job.work.totals[node])
            noise += NOISE * abs(score)
    if may_split_level(job, gain, noise):
        _split_level(job, first, size, f)
        control[LEVEL_FIRST] = first + size
        control[LEVEL_SIZE] = 2 * size


@inlined
def grow_symmetric(job):
    """Split all nodes of a level by one split, level after level."""
    work, nodes, control = job.work, job.nodes, job.work.control
    if job.thread == 0:
        begin_levels(job)
    wait_for_all(job.sync, job.n_threads)
    for depth in range(job.options.max_depth):
        if control[STATUS] != GROWING:
            break
        first, size = control[LEVEL_FIRST], control[LEVEL_SIZE]
        score_level(job, first, first + size)
        wait_for_all(job.sync, job.n_threads)
        if job.thread == 0:
            _choose_level_split(job)
            draw_for_node(work.allowed, job.options, job.key, depth + 1, depth + 1, ZERO)
            restrict_features(job, control[LEVEL_FIRST], ZERO)
        wait_for_all(job.sync, job.n_threads)
        if control[STATUS] != GROWING:
            break
        for node in range(first, first + size):
            if depth + 1 == job.options.max_depth:
                leave_records(job, node)
            else:
                partition_node(job, node)
        wait_for_all(job.sync, job.n_threads)
        for node in range(first, first + size):
            small = smaller_child(job, node, COUNT)
            large = 2 * nodes[node].left + 1 - small
            if nodes[large].slot >= 0:
                build_histogram(job, small, ZERO)
                if work.n_shared[0] > 0:
                    wait_for_all(job.sync, job.n_threads)
                    merge_parts(job, small, ZERO)
                    wait_for_all(job.sync, job.n_threads)
                subtract_histogram(job, small, large, nodes[node].packed != 0)
        wait_for_all(job.sync, job.n_threads)
        if job.thread == 0:
            release_level(job, first + size, first + 3 * size)
        wait_for_all(job.sync, job.n_threads)
