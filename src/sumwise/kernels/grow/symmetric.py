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
from sumwise.kernels.grow.frontier import may_split_level, place_level_children, release_level
from sumwise.kernels.grow.gain import find_limits, node_score
from sumwise.kernels.grow.layout import (
    COUNT,
    DONE,
    GROWING,
    LEVEL_FEATURE,
    LEVEL_FIRST,
    LEVEL_SIZE,
    NEXT_NODE,
    NO_HISTOGRAMS,
    NOISE,
    STATUS,
    SUBTRACT,
)
from sumwise.kernels.grow.missing import follows_larger
from sumwise.kernels.grow.nursery import claim_pair
from sumwise.kernels.grow.plan import (
    F_MODE,
    F_SMALL,
    LEFT,
    MOST_FAMILIES,
    N_FAMILIES,
    N_SCRATCH,
    PARENT,
    SCORED_BY,
    SCORES_LEVEL,
    SPLIT_BY,
    add_family,
    begin_plan,
    count_ranges,
    cut_into_tasks,
    is_last_thread,
    other_child,
)
from sumwise.kernels.grow.steps import (
    build_all,
    leave_records,
    merge_family,
    move_all,
    subtract_histogram,
)
from sumwise.kernels.grow.verbs import score_level, take_level_gain, take_level_side
from sumwise.kernels.runtime.jit import NONE, ZERO, inlined, routine
from sumwise.kernels.runtime.threads import share, wait_for_all


@routine
def _finish_part(job, begin, end):
    """Complete the histograms of the families for some features; score the level in the end."""
    plan, control = job.work.plan, job.work.control
    for k in range(plan.sizes[N_FAMILIES]):
        merge_family(job, k, begin, end)
        if plan.families[k, F_MODE] == SUBTRACT:
            small = plan.families[k, F_SMALL]
            large = other_child(plan.families[k, LEFT], small)
            parent_packed = job.nodes[plan.families[k, PARENT]].packed != 0
            subtract_histogram(job, small, large, parent_packed, begin, end)
    if plan.sizes[SCORES_LEVEL]:
        first = control[LEVEL_FIRST]
        score_level(job, first, first + control[LEVEL_SIZE], begin, end)


@inlined
def _finish_all(job):
    """Finish all families, a range of the features at a time."""
    n_features, n_ranges = job.work.plan.features.size, count_ranges(job)
    if job.thread < n_ranges:
        begin, end = share(n_features, job.thread, n_ranges)
        _finish_part(job, begin, end)


@inlined
def _choose_feature(job):
    """Choose the feature of the level's split, or end."""
    control = job.work.control
    first, last = control[LEVEL_FIRST], control[LEVEL_FIRST] + control[LEVEL_SIZE]
    release_level(job, first, last)
    gain, f = find_best_feature(job, ZERO)
    noise = 0.0
    for node in range(first, last):
        if job.nodes[node].slot >= 0:
            score = node_score(find_limits(job, node, NONE), job.work.totals[node])
            noise += NOISE * abs(score)
    if may_split_level(job, gain, noise):
        control[LEVEL_FEATURE] = f


@inlined
def _take_sides(job):
    """Note what the split sends left in the thread's share of the level's nodes.

    How many of their rows are missing is noted in ``sums``, which are not needed until later.
    """
    work, control = job.work, job.work.control
    first, last = share(control[LEVEL_SIZE], job.thread, job.n_threads)
    for node in range(control[LEVEL_FIRST] + first, control[LEVEL_FIRST] + last):
        work.left_totals[node, :] = 0
        work.sums[0, node, 0] = 0
        if job.nodes[node].slot >= 0:
            work.sums[0, node, 0] = take_level_side(job, node, control[LEVEL_FEATURE])


@inlined
def _create_level(job, first, last, f):
    """Give all nodes of the level the split and create their children."""
    work, nodes = job.work, job.nodes
    split_bin = work.candidates[0, f].split_bin
    missing_left = work.candidates[0, f].missing_left != 0
    n_missing, n_left, n_rows = ZERO, ZERO, ZERO
    for node in range(first, last):
        if nodes[node].slot >= 0:
            n_missing += work.sums[0, node, 0]
            n_left += work.left_totals[node, COUNT]
            n_rows += work.totals[node, COUNT]
    if n_missing == 0:
        missing_left = follows_larger(n_left, n_rows)
    for node in range(first, last):
        valid = take_level_gain(job, node, f)
        nodes[node].feature = f
        nodes[node].split_bin = split_bin
        nodes[node].missing_left = missing_left
        nodes[node].gain = nodes[node].gain if valid else 0.0
        left = claim_pair(work.control)
        create_children(job, node, left, NONE if valid else np.int64(nodes[node].anchor))
        place_level_children(job, node, smaller_child(job, node, COUNT))


@routine
def _plan_families(job):
    """Plan a round of some nodes of the level that was split last; the last round scores."""
    plan, nodes, control = job.work.plan, job.nodes, job.work.control
    begin_plan(job)
    n_slots, n_scratch = job.work.free_slots.size, 0
    node = control[NEXT_NODE]
    while node < control[LEVEL_FIRST] and plan.sizes[N_FAMILIES] < plan.rules[MOST_FAMILIES]:
        small = smaller_child(job, node, COUNT)
        has_histograms = nodes[other_child(np.int64(nodes[node].left), small)].slot >= 0
        if has_histograms and nodes[small].slot >= n_slots:
            if n_scratch == plan.rules[N_SCRATCH]:
                break
            nodes[small].slot = n_slots + n_scratch
            n_scratch += 1
        add_family(job, node, small, SUBTRACT if has_histograms else NO_HISTOGRAMS)
        node += 1
    control[NEXT_NODE] = node
    plan.sizes[SCORES_LEVEL] = node == control[LEVEL_FIRST]
    cut_into_tasks(job)


@routine
def _go_on(job):
    """Plan the rest of the level; if it is scored, choose its split."""
    control = job.work.control
    control[LEVEL_FEATURE] = -1
    if control[NEXT_NODE] < control[LEVEL_FIRST]:
        _plan_families(job)
    else:
        _choose_feature(job)


@routine
def _split_level(job):
    """Split the level and plan the first round of the next one."""
    control, options = job.work.control, job.options
    first, size = control[LEVEL_FIRST], control[LEVEL_SIZE]
    depth = np.int64(job.nodes[first].depth) + 1
    _create_level(job, first, first + size, control[LEVEL_FEATURE])
    control[LEVEL_FIRST], control[LEVEL_SIZE], control[NEXT_NODE] = first + size, 2 * size, first
    if depth == options.max_depth:
        for node in range(first, first + size):
            leave_records(job, node)
        control[STATUS] = DONE
        return
    draw_for_node(job.work.allowed, options, job.key, depth, depth, ZERO)
    restrict_features(job, first + size, ZERO)
    _plan_families(job)


@inlined
def grow_symmetric(job):
    """Split all nodes of a level by one split, level after level."""
    control = job.work.control
    while control[STATUS] == GROWING:
        move_all(job)
        build_all(job)
        _finish_all(job)
        if is_last_thread(job, SCORED_BY):
            _go_on(job)
        wait_for_all(job.sync, job.n_threads)
        if control[STATUS] == GROWING and control[LEVEL_FEATURE] >= 0:
            _take_sides(job)
            if is_last_thread(job, SPLIT_BY):
                _split_level(job)
            wait_for_all(job.sync, job.n_threads)
