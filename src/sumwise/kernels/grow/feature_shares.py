"""Grow a tree where each process has all rows, but only a share of the features.

A process sums and scores the features that it *owns*. For each node that is scored it *offers* its
best split to the others, and all take the best offer: the highest gain, of equal gains the lowest
feature. The features of a node are drawn from all, before those of other processes are dropped. So
the tree is the one that a single process would grow.

All processes move the records of all nodes and sum the rows of all leaves. What they plan depends
on what all of them know, not on how many threads they have.

A level of a symmetric tree has one split: what it sends left in the nodes of the level, only its
owner knows from histograms, and tells the others.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.grow.best_first import _build_and_score_all, _score_all
from sumwise.kernels.grow.decide import find_best_feature
from sumwise.kernels.grow.layout import (
    CHILD,
    GROWING,
    LEVEL_FEATURE,
    LEVEL_FIRST,
    LEVEL_SIZE,
    N_STATS,
    NEXT_NODE,
    STATUS,
    YET_TO_SCORE,
)
from sumwise.kernels.grow.nursery import drop_nursery
from sumwise.kernels.grow.pages import _plan_round
from sumwise.kernels.grow.plan import (
    F_MODE,
    LEFT,
    N_FAMILIES,
    ROOT,
    SCORED_BY,
    cut_into_tasks,
    is_fused,
    is_last_thread,
)
from sumwise.kernels.grow.steps import build_all, move_all
from sumwise.kernels.grow.symmetric import (
    _choose_feature,
    _finish_all,
    _plan_families,
    _split_level,
    _take_sides,
)
from sumwise.kernels.grow.tree import _begin
from sumwise.kernels.grow.values import set_values
from sumwise.kernels.runtime.jit import ZERO, inlined, kernel, routine
from sumwise.kernels.runtime.reference import item
from sumwise.kernels.runtime.threads import share, wait_for_all
from sumwise.kernels.table.layout import CATEGORICAL

# Columns of offers: the gain as the bits of a float, the split, the sums of the rows that it sends
# left, and the set of a categorical feature as its size and its bins.
GAIN, FEATURE, SPLIT_BIN, MISSING_LEFT, LEFT_SUMS = range(5)
SET_SIZE = LEFT_SUMS + N_STATS
SET = SET_SIZE + 1


class Offers(NamedTuple):
    """What this process owns and offers."""

    owned: Any  # uint8 (n_features,)
    own: Any  # int64 (n_places, SET + most bins of a set): for each node that is scored


@routine
def _keep_owned(job, offers):
    """Drop the features that other processes own, for the nodes that the round scores."""
    n_places = max(1, 2 * job.work.plan.sizes[N_FAMILIES])
    for place in range(min(n_places, offers.own.shape[0])):
        allowed = job.work.allowed[CHILD + place]
        for f in range(allowed.size):
            allowed[f] &= offers.owned[f]


@kernel
def begin_shared_tree(thread, n_threads, sync, jobs, gradient, hessian, rows, key, offers):
    """Make records of the rows and plant the root."""
    job, _ = _begin(thread, n_threads, sync, jobs, gradient, hessian, rows, key)
    if thread == 0:
        _keep_owned(job, offers)


@kernel
def finish_shared_tree(thread, n_threads, sync, jobs, rows, scores):
    """Give every node its value; add the values of the leaves to the scores of the rows."""
    set_values(item(jobs, thread), rows, scores)


# Offers


@routine
def _offer(own, gain, f, split_bin, missing_left):
    """Offer a split."""
    own[GAIN] = np.float64(gain).view(np.int64)
    own[FEATURE], own[SPLIT_BIN], own[MISSING_LEFT] = f, split_bin, missing_left


@inlined
def _read_gain(offer):
    """The gain of an offer."""
    return np.int64(offer[GAIN]).view(np.float64)


@routine
def _find_best_offer(every, place):
    """Return the process with the best offer for a node, -1 if there is none."""
    best, gain = -1, -np.inf
    for rank in range(every.shape[0]):
        f, own_gain = every[rank, place, FEATURE], _read_gain(every[rank, place])
        if f < 0 or own_gain < gain:
            continue
        if best < 0 or own_gain > gain or f < every[best, place, FEATURE]:
            best, gain = rank, own_gain
    return best


# Leaf-wise and level-wise growth


@routine
def _offer_splits(job, own):
    """Offer the splits of new nodes."""
    plan, nodes, work = job.work.plan, job.nodes, job.work
    for place in range(2 * plan.sizes[N_FAMILIES]):
        family, offer = plan.families[place // 2], own[place]
        offer[:] = 0
        offer[FEATURE] = -1
        if family[F_MODE] == ROOT and place % 2 == 1:
            continue
        node = family[LEFT] + place % 2
        f = np.int64(nodes[node].feature)
        if f >= 0:
            split = np.int64(nodes[node].split_bin), np.int64(nodes[node].missing_left)
            _offer(offer, nodes[node].gain, f, split[0], split[1])
            for s in range(N_STATS):
                offer[LEFT_SUMS + s] = work.left_totals[node, s]
            if job.table.storage[f] == CATEGORICAL:
                offer[SET_SIZE] = work.categories.node_size[node]
                for i in range(offer[SET_SIZE]):
                    offer[SET + i] = work.categories.node_set[node, i]


@routine
def _take_offers(job, every):
    """Give new nodes the best of all offers."""
    plan, nodes, work = job.work.plan, job.nodes, job.work
    for place in range(2 * plan.sizes[N_FAMILIES]):
        rank, family = _find_best_offer(every, place), plan.families[place // 2]
        if rank < 0:
            continue
        offer, node = every[rank, place], family[LEFT] + place % 2
        nodes[node].gain, nodes[node].feature = _read_gain(offer), offer[FEATURE]
        nodes[node].split_bin, nodes[node].missing_left = offer[SPLIT_BIN], offer[MISSING_LEFT]
        for s in range(N_STATS):
            work.left_totals[node, s] = offer[LEFT_SUMS + s]
        if job.table.storage[offer[FEATURE]] == CATEGORICAL:
            work.categories.node_size[node] = offer[SET_SIZE]
            for i in range(offer[SET_SIZE]):
                work.categories.node_set[node, i] = offer[SET + i]


@kernel
def score_shared_nodes(thread, n_threads, sync, jobs, offers):
    """Sum and score the nodes of a round for the features of this process, and offer splits."""
    job = item(jobs, thread)
    move_all(job)
    if is_fused(job):
        _build_and_score_all(job)
    else:
        build_all(job)
        _score_all(job)
    if is_last_thread(job, SCORED_BY):
        _offer_splits(job, offers.own)


@kernel
def plan_shared_nodes(thread, n_threads, sync, jobs, no_pages, offers, every):
    """Take the best of all offers (n_peers, n_places, ...) and plan the next round.

    It is planned as for a table in pages, since those plans do not depend on threads.
    """
    job = item(jobs, thread)
    if thread == 0:
        _take_offers(job, every)
        _plan_round(job, no_pages)
        if job.work.control[STATUS] == GROWING:
            cut_into_tasks(job)
            _keep_owned(job, offers)
        else:
            drop_nursery(job)


# Symmetric growth


@inlined
def _offer_level(job, offer):
    """Offer a split of the level."""
    gain, f = find_best_feature(job, ZERO)
    offer[:] = 0
    offer[FEATURE] = -1
    if f >= 0:
        best = job.work.candidates[0, f]
        _offer(offer, gain, np.int64(f), best.split_bin, np.int64(best.missing_left))
        if job.table.storage[f] == CATEGORICAL:
            bins = job.work.categories.sets[0, job.table.categories.place[f]]
            offer[SET_SIZE] = best.split_bin
            for i in range(offer[SET_SIZE]):
                offer[SET + i] = bins[i]


@inlined
def _take_level_offer(job, every):
    """Make the best of all offers the only candidate of the level."""
    work, rank = job.work, _find_best_offer(every, ZERO)
    work.allowed[CHILD, :] = 0
    if rank >= 0:
        offer = every[rank, 0]
        f, best = offer[FEATURE], work.candidates[0, offer[FEATURE]]
        work.allowed[CHILD, f] = YET_TO_SCORE
        best.gain = _read_gain(offer)
        best.split_bin, best.missing_left = offer[SPLIT_BIN], offer[MISSING_LEFT]
        if job.table.storage[f] == CATEGORICAL:
            bins = work.categories.sets[0, job.table.categories.place[f]]
            for i in range(offer[SET_SIZE]):
                bins[i] = offer[SET + i]


@kernel
def score_shared_level(thread, n_threads, sync, jobs, offers):
    """Sum some nodes of a level for the features of this process; if these are all, offer a split.

    Otherwise plan the next round.
    """
    job = item(jobs, thread)
    control = job.work.control
    move_all(job)
    build_all(job)
    _finish_all(job)
    if is_last_thread(job, SCORED_BY):
        if control[NEXT_NODE] < control[LEVEL_FIRST]:
            _plan_families(job)
        else:
            _offer_level(job, offers.own[0])


@kernel
def choose_shared_level(thread, n_threads, sync, jobs, offers, every):
    """Take the best of all offers; its owner notes what it sends left, the others note nothing."""
    job = item(jobs, thread)
    work, control = job.work, job.work.control
    if thread == 0:
        _take_level_offer(job, every)
        control[LEVEL_FEATURE] = -1
        _choose_feature(job)
    wait_for_all(sync, n_threads)
    if control[STATUS] != GROWING:
        return
    if offers.owned[control[LEVEL_FEATURE]]:
        _take_sides(job)
    else:
        first, last = share(control[LEVEL_SIZE], thread, n_threads)
        for node in range(control[LEVEL_FIRST] + first, control[LEVEL_FIRST] + last):
            work.left_totals[node, :] = 0
            work.sums[0, node, 0] = 0


@kernel
def split_shared_level(thread, n_threads, sync, jobs, offers):
    """Split the level and plan the first round of the next one."""
    job = item(jobs, thread)
    if thread == 0:
        _split_level(job)
        _keep_owned(job, offers)
