"""Voting: processes elect the features whose histograms they add up, for each node that is scored.

This is the parallel voting decision tree of Meng et al. (2016), "A communication-efficient parallel
algorithm for decision tree". Histograms are those of a process's own rows. For a node

1. each process votes for the ``top_k`` features with the highest gains among its own rows;
2. the ``2 * top_k`` features with the most votes are elected: of as many votes the one with the
   higher gain in any process, then the one with the lowest number. A feature without a vote is not
   elected; but where no more than ``2 * top_k`` features may be split on, all of them are;
3. the histograms of the elected features are added up, and the node gets the best of their splits.

So what is sent does not grow with the number of features. A tree depends on which process has which
rows: if a process has only rows of one kind, it cannot know what tells them from the others. All
else is as without voting: splits, bounds and totals come from the sums of all processes.

A process has a share of a node's rows. For its votes, what limits splits by rows or hessian is
multiplied by that share.

Three kinds of jobs work here, which share nodes and plan. Those of the threads have the histograms
of own rows. A *voter* knows the totals of nodes among these rows, and limits of its own. A *scorer*
has other histograms: there are the sums of all processes.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.grow.candidates import feature_bins, is_drawn
from sumwise.kernels.grow.layout import (
    BUILD_BOTH,
    CHILD,
    COUNT,
    LEVEL_FIRST,
    LEVEL_SIZE,
    SUBTRACT,
    SYMMETRIC,
    YET_TO_SCORE,
)
from sumwise.kernels.grow.messages import choose_form, copy_bins, count_words
from sumwise.kernels.grow.packed import unpack_sums
from sumwise.kernels.grow.plan import (
    F_MODE,
    F_SMALL,
    LEFT,
    N_FAMILIES,
    PARENT,
    ROOT,
    count_ranges,
    other_child,
)
from sumwise.kernels.grow.steps import subtract_histogram
from sumwise.kernels.grow.verbs import score_level, score_node
from sumwise.kernels.runtime.jit import ZERO, inlined, kernel, routine
from sumwise.kernels.runtime.reference import item
from sumwise.kernels.runtime.threads import share, wait_for_all


class Poll(NamedTuple):
    """Votes of this process, what was elected, and buffers.

    A *place* is that of a node among those that the round scores; a level has one place.
    """

    features: Any  # int64 (n_places, top_k): voted for, the best first; -1 behind the last one
    gains: Any  # float64 (n_places, top_k): of these features among the rows of this process
    elected: Any  # int64 (n_places, 2 * top_k): the first in the ranking first
    n_elected: Any  # int64 (n_places,)
    totals: Any  # int64 (n_nodes, N_STATS): sums over the rows of this process
    start: Any  # int64 (n_nodes,): where the sums of a node begin in the message
    length: Any  # int64 (1,): numbers of the message
    n_votes: Any  # int64 (n_threads, n_features): of a place, zero when not in use
    highest: Any  # float64 (n_threads, n_features): highest gain, where there are votes
    rank_votes: Any  # int64 (n_threads, 2 * top_k): those of the features in a ranking
    rank_gains: Any  # float64 (n_threads, 2 * top_k)


# Places


@inlined
def _count_places(job):
    """Places of the round."""
    is_level = job.options.growth == SYMMETRIC
    return ZERO + 1 if is_level else 2 * job.work.plan.sizes[N_FAMILIES]


@inlined
def _find_nodes(job, place):
    """The nodes of a place, as [first, last)."""
    work = job.work
    if job.options.growth == SYMMETRIC:
        first, last = (
            work.control[LEVEL_FIRST],
            work.control[LEVEL_FIRST] + work.control[LEVEL_SIZE],
        )
    else:
        own = work.plan.families[place // 2]
        first = own[LEFT] + place % 2
        last = first if own[F_MODE] == ROOT and place % 2 == 1 else first + 1
    return first, last


@routine
def _count_allowed(job, place):
    """Features that the nodes of a place may be split on."""
    n, allowed = ZERO, job.work.allowed[CHILD + place]
    for f in range(allowed.size):
        n += allowed[f] != 0
    return n


@routine
def _count_rows(job, poll, place):
    """Return the rows of a place in this process and in all; zeros if there is nothing to elect."""
    n_own, n_all = ZERO, ZERO
    first, last = _find_nodes(job, place)
    for node in range(first, last):
        if job.nodes[node].splittable:
            n_own += poll.totals[node, COUNT]
            n_all += job.work.totals[node, COUNT]
    if n_all > 0 and _count_allowed(job, place) <= poll.elected.shape[1]:
        n_own, n_all = ZERO, ZERO
    return n_own, n_all


# Votes


@routine
def _follow(job, other):
    """Tell a voter or a scorer what changes from tree to tree."""
    other.thread, other.n_threads, other.sync = job.thread, job.n_threads, job.sync
    other.exact, other.pack, other.key = job.exact, job.pack, job.key


@routine
def _subtract_all(job, begin, end):
    """Complete the histograms of the round's families for some features."""
    plan, nodes = job.work.plan, job.nodes
    for k in range(plan.sizes[N_FAMILIES]):
        own = plan.families[k]
        if own[F_MODE] == SUBTRACT:
            large = other_child(own[LEFT], own[F_SMALL])
            parent_packed = nodes[own[PARENT]].packed != 0
            subtract_histogram(job, own[F_SMALL], large, parent_packed, begin, end)


@inlined
def _note_complete(job):
    """Note that all histograms are complete, so that no scorer subtracts once more."""
    plan = job.work.plan
    for k in range(plan.sizes[N_FAMILIES]):
        if plan.families[k, F_MODE] == SUBTRACT:
            plan.families[k, F_MODE] = BUILD_BOTH


@routine
def _sum_own_rows(job, node, totals):
    """Sum a node's rows in this process: they are in the bins of any feature of the tree."""
    plan, table = job.work.plan, job.table
    totals[:] = 0
    for position in range(plan.features.size):
        f = plan.features[position]
        if is_drawn(job, f):
            bins, n_bins = feature_bins(job, node, f), table.n_value_bins[f] + 1
            for b in range(n_bins):
                g, h, n = bins[b], ZERO, ZERO
                if job.nodes[node].packed:
                    g, h, n = unpack_sums(bins[b])
                else:
                    h, n = bins[n_bins + b], bins[2 * n_bins + b]
                totals[0] += g
                totals[1] += h
                totals[2] += n
            return


@routine
def _share_limits(job, voter, n_own, n_all):
    """Give a voter the limits of splits, by its share of the rows."""
    part, own, all_rows = n_own / n_all, voter.table.categories, job.table.categories
    voter.options.min_samples_leaf = max(1, job.options.min_samples_leaf * n_own // n_all)
    voter.payload.min_child_weight = job.payload.min_child_weight * part
    own.min_rows = all_rows.min_rows * n_own // n_all
    own.smoothing = all_rows.smoothing * part


@routine
def _score_own_rows(job, voter, poll, begin, end):
    """Find the best splits of some features among the rows of this process."""
    for place in range(_count_places(job)):
        n_own, n_all = _count_rows(job, poll, place)
        if n_own > 0:
            _share_limits(job, voter, n_own, n_all)
            first, last = _find_nodes(job, place)
            if job.options.growth == SYMMETRIC:
                score_level(voter, first, last, begin, end)
            else:
                score_node(voter, first, place, begin, end)


@routine
def _rank(features, votes, gains, n, f, own_votes, own_gain):
    """Insert a feature into a ranking of ``n`` features, if it is good enough; return how many.

    Features come in ascending order; of equals the first one stays ahead.
    """
    place = n
    while place > 0:
        before = place - 1
        if own_votes < votes[before]:
            break
        if own_votes == votes[before] and not own_gain > gains[before]:
            break
        place = before
    if place == features.size:
        return n
    for i in range(min(n, features.size - 1), place, -1):
        features[i], votes[i], gains[i] = features[i - 1], votes[i - 1], gains[i - 1]
    features[place], votes[place], gains[place] = f, own_votes, own_gain
    return min(n + 1, features.size)


@routine
def _fill_ballot(job, poll, place):
    """Vote for the best features of a place."""
    features, gains, n = poll.features[place], poll.gains[place], ZERO
    votes = poll.rank_votes[job.thread]
    features[:], gains[:] = -1, -np.inf
    if _count_rows(job, poll, place)[0] == 0:
        return
    candidates, allowed = job.work.candidates[place], job.work.allowed[CHILD + place]
    for f in range(allowed.size):
        if allowed[f] and candidates[f].gain > -np.inf:
            n = _rank(features, votes, gains, n, f, ZERO, candidates[f].gain)


@kernel
def vote(thread, n_threads, sync, jobs, voters, scorers, poll):
    """Complete the histograms of own rows, and vote for the best features of each place."""
    job, voter = item(jobs, thread), item(voters, thread)
    _follow(job, voter)
    _follow(job, item(scorers, thread))
    begin, end = ZERO, ZERO
    n_ranges = count_ranges(job)
    if thread < n_ranges:
        begin, end = share(job.work.plan.features.size, thread, n_ranges)
    _subtract_all(job, begin, end)
    wait_for_all(sync, n_threads)
    if thread == 0:
        _note_complete(job)
    for place in range(_count_places(job)):
        first, last = _find_nodes(job, place)
        for node in range(first + thread, last, n_threads):
            if job.nodes[node].splittable:
                _sum_own_rows(job, node, poll.totals[node])
    wait_for_all(sync, n_threads)
    _score_own_rows(job, voter, poll, begin, end)
    wait_for_all(sync, n_threads)
    for place in range(thread, _count_places(job), n_threads):
        _fill_ballot(job, poll, place)


# The election


@routine
def _count_votes(poll, thread, place, features, gains):
    """Count the votes of all processes for the features of a place."""
    n_votes, highest = poll.n_votes[thread], poll.highest[thread]
    for rank in range(features.shape[0]):
        for i in range(features.shape[2]):
            f, gain = features[rank, place, i], gains[rank, place, i]
            if f >= 0:
                if n_votes[f] == 0 or gain > highest[f]:
                    highest[f] = gain
                n_votes[f] += 1


@routine
def _elect(job, poll, place, features, gains):
    """Elect the features of a place: only these may be split on then."""
    allowed, elected = job.work.allowed[CHILD + place], poll.elected[place]
    n_votes, highest = poll.n_votes[job.thread], poll.highest[job.thread]
    rank_votes, rank_gains = poll.rank_votes[job.thread], poll.rank_gains[job.thread]
    n, elects_all = ZERO, _count_allowed(job, place) <= elected.size
    if not elects_all:
        _count_votes(poll, job.thread, place, features, gains)
    for f in range(allowed.size):
        if allowed[f] and (elects_all or n_votes[f] > 0):
            own_gain = 0.0 if elects_all else highest[f]
            n = _rank(elected, rank_votes, rank_gains, n, f, n_votes[f], own_gain)
        n_votes[f] = 0
    allowed[:] = 0
    for i in range(n):
        allowed[elected[i]] = YET_TO_SCORE
    poll.n_elected[place] = n


@inlined
def _lay_out_message(job, poll):
    """Say where the sums of each node are in the message of a round."""
    length = ZERO
    for place in range(_count_places(job)):
        first, last = _find_nodes(job, place)
        for node in range(first, last):
            if job.nodes[node].splittable:
                poll.start[node], form = length, choose_form(job, node)
                for i in range(poll.n_elected[place]):
                    f = poll.elected[place, i]
                    length += count_words(form, job.table.n_value_bins[f] + 1)
    poll.length[0] = length


@kernel
def elect(thread, n_threads, sync, jobs, poll, features, gains):
    """Elect the features of each place by the votes (n_peers, n_places, top_k) of all processes."""
    job = item(jobs, thread)
    for place in range(thread, _count_places(job), n_threads):
        _elect(job, poll, place, features, gains)
    wait_for_all(sync, n_threads)
    if thread == 0:
        _lay_out_message(job, poll)


@kernel
def copy_elected_sums(thread, n_threads, sync, jobs, poll, message, reads):
    """Write the sums of elected features to the message of a round, or read them from it."""
    job, turn = item(jobs, thread), ZERO
    for place in range(_count_places(job)):
        first, last = _find_nodes(job, place)
        for node in range(first, last):
            if not job.nodes[node].splittable:
                continue
            turn += 1
            if turn % n_threads != thread:
                continue
            begin, form = poll.start[node], choose_form(job, node)
            for i in range(poll.n_elected[place]):
                f = poll.elected[place, i]
                end = begin + count_words(form, job.table.n_value_bins[f] + 1)
                copy_bins(job, node, f, form, message[begin:end], reads)
                begin = end
