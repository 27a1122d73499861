"""Exact splits: score every distinct value of a node, and keep lists of rows in order.

``kernels.table.layout`` and ``kernels.grow.layout`` say what the arrays hold. A node's list is
walked in chunks, whose sums and gains stay in the nearest cache. Sums are of exact integers, and
gains come from the functions that score histograms: a value of a node is a bin to them. There is
no histogram, and nothing to subtract from a sibling. For a level of a symmetric tree gains are
added by rank: what a node gains after one of its values holds up to its next value.
"""

import numpy as np

from sumwise.kernels.grow.candidates import add_gain, is_drawn, note_candidate
from sumwise.kernels.grow.gain import find_limits, gains_after, split_gain
from sumwise.kernels.grow.layout import CHILD
from sumwise.kernels.grow.missing import follows_larger
from sumwise.kernels.grow.partition import child_records, is_left_value, move_span, node_records
from sumwise.kernels.grow.plan import FIRST, ITEM_PARENT, SUMMED
from sumwise.kernels.grow.split import best_candidate
from sumwise.kernels.grow.storage import dense
from sumwise.kernels.runtime.jit import NO, NONE, YES, ZERO, inlined, routine, verb
from sumwise.kernels.runtime.random import RANDOM_SPLITS, choose_between, extend_key
from sumwise.kernels.table.layout import PRESORTED

_ROW = np.uint64(32)
_LOW_32 = np.uint64(0xFFFFFFFF)
_ONE = np.uint64(1)
_BEYOND = np.int64(0xFFFFFFFF)
# Entries at a time; so many candidates fit into the buffers for gains.
_CHUNK = np.int64(256)
_LEFT, _RIGHT = np.uint8(1), np.uint8(0)


take_level_gain = dense.take_level_gain


@inlined
def _is_listed(job, f):
    """Whether a feature of the tree has a list."""
    return job.table.storage[f] == PRESORTED and is_drawn(job, f)


# Lists


@routine
def _fill_list(job, f):
    """Copy the rows of the tree to the list of a feature."""
    scratch, n_rows = job.work.presorted, job.work.last[0]
    order, own = job.table.presorted.order[f], scratch.lists[0, f]
    if order.size == n_rows:
        for i in range(order.size):
            own[i] = order[i]
        return
    n = np.uint64(0)
    for i in range(order.size):
        own[n] = order[i]
        n += np.uint64(scratch.in_tree[order[i] & _LOW_32])


@routine
def _partition_entries(source, target, first, middle, last, goes_left):
    """Copy entries [first, last): left ones to the front, right ones to ``middle`` and on."""
    left, right = np.uint64(first), np.uint64(middle)
    for i in range(np.uint64(first), np.uint64(last)):
        entry = source[i]
        side = np.uint64(goes_left[entry & _LOW_32])
        target[left if side != 0 else right] = entry
        left += side
        right += _ONE - side


@routine
def _partition_list(job, node, f):
    """Partition a feature's list of a node, after its records."""
    work, scratch = job.work, job.work.presorted
    depth, left = job.nodes[node].depth, job.nodes[node].left
    source, target = scratch.lists[depth & 1, f], scratch.lists[(depth + 1) & 1, f]
    places = (work.first[node], work.first[left + 1], work.last[node])
    _partition_entries(source, target, *places, scratch.goes_left)


@verb
def build_histogram(job, item, f):
    """Lists take the place of histograms; those of two children are partitioned together."""
    own = job.work.plan.items[item]
    node, parent = own[SUMMED], own[ITEM_PARENT]
    if not _is_listed(job, f) or own[FIRST] > job.work.first[node]:
        return ZERO
    if parent < 0:
        _fill_list(job, f)
    elif item == 0 or job.work.plan.items[item - 1, ITEM_PARENT] != parent:
        _partition_list(job, parent, f)
    return ZERO


# Splits by rank


@inlined
def _left_ranks(split_rank, missing_left):
    """Return (skip, bound): a rank goes left if ``rank - skip <= bound``, with wrap-around.

    As ``left_range`` does with bins.
    """
    skip = np.uint32(0) if missing_left else np.uint32(1)
    return skip, np.uint32(split_rank - skip)


@routine
def _note_ranks(job, node, first, last):
    """Note the side of the rows of a node's records [first, last) that its split sends them to."""
    own, records = job.nodes[node], node_records(job, node)[first:last]
    goes_left, ranks = job.work.presorted.goes_left, job.table.presorted.ranks[own.feature]
    skip, bound = _left_ranks(own.split_bin, own.missing_left)
    n_left = 0
    for i in range(records.size):
        row = records[i] >> _ROW
        goes_left[row] = np.uint8(np.uint32(ranks[row] - skip) <= bound)
        n_left += goes_left[row]
    return n_left


@verb
def count_left(job, node, first, last):
    """Return how many of the records [first, last) of a node go left."""
    return _note_ranks(job, node, first, last)


@verb
def move_records(job, node, first, last, left, right, step):
    """Move a span of a node's records to its children, and note the side of each row."""
    span = (first, last, left, right, step)
    _note_ranks(job, node, first, last)
    places = (node_records(job, node), child_records(job, node), span)
    return move_span(*places, job.work.presorted.goes_left, _LEFT, _RIGHT)


@verb
def note_sides(job, node, first, last, is_left):
    """Note on which side the rows are whose records have been moved to [first, last)."""
    if job.table.storage[job.nodes[node].feature] != PRESORTED:  # else it is known
        moved, side = child_records(job, node)[first:last], _LEFT if is_left != 0 else _RIGHT
        for i in range(moved.size):
            job.work.presorted.goes_left[moved[i] >> _ROW] = side
    return ZERO


@verb
def name_leaves(job, node, first, last):
    """Write the leaf of each row of a node's records [first, last); return how many go right."""
    own, records, leaf = job.nodes[node], node_records(job, node)[first:last], job.work.leaf
    ranks, left, n_right = job.table.presorted.ranks[own.feature], np.int64(own.left), 0
    skip, bound = _left_ranks(own.split_bin, own.missing_left)
    for i in range(records.size):
        row = records[i] >> _ROW
        is_right = np.int64(np.uint32(ranks[row] - skip) > bound)
        leaf[row] = left + is_right
        n_right += is_right
    return n_right


# Scores


@routine
def _find_above(entries, first, last, rank):
    """The first of the entries [first, last) that has a higher rank."""
    while first < last:
        middle = (first + last) >> 1
        if np.int64(entries[middle] >> _ROW) <= rank:
            first = middle + 1
        else:
            last = middle
    return first


@routine
def _sum_entries(entries, first, last, gradients, hessians):
    """Return the sums of entries: gradient, hessian, rows."""
    g, h = ZERO, ZERO
    for i in range(first, last):
        row = entries[i] & _LOW_32
        g += gradients[row]
        h += hessians[row]
    return g, h, last - first


@routine
def _walk(entries, first, last, is_end, payload, sums, prefix, rank_at):
    """Add entries [first, last) to the sums, and write the sums after each value, and its rank.

    A value is written when its last entry was added: then the next one, which may be ``last``, has
    another rank, or the list ends. Returns how many values were written, and the sums.
    """
    g, h, n = sums
    left_g, left_h, left_n = prefix[0], prefix[1], prefix[2]
    gradients, hessians = payload.exact_gradient, payload.exact_hessian
    place = behind = np.uint64(0)
    rank = entries[first] >> _ROW
    for i in range(np.uint64(first), np.uint64(last)):
        row = entries[i] & _LOW_32
        g += gradients[row]
        h += hessians[row]
        n += 1
        place = behind
        left_g[place], left_h[place], left_n[place], rank_at[place] = g, h, n, rank
        following = entries[i + _ONE] >> _ROW
        behind += np.uint64(following != rank)
        rank = following
    return np.int64(place + _ONE if is_end else behind), (g, h, n)


@inlined
def _find_list(job, node, f):
    """Return a feature's list, and where a node's rows begin, where those with values, and end."""
    scratch = job.work.presorted
    entries, first = scratch.lists[job.nodes[node].depth & 1, f], job.work.first[node]
    last = first + job.work.totals[node, 2]
    return entries, first, _find_above(entries, first, last, ZERO), last


@routine
def _look_at_level(job, first, last, f):
    """Return the lowest and the highest rank of the nodes that may be split, and whether some of
    their rows are missing.
    """
    lowest, n_ranks, both_ways = _BEYOND, ZERO, False
    for node in range(first, last):
        if job.nodes[node].splittable:
            entries, begin, start, end = _find_list(job, node, f)
            if start < end:
                lowest = min(lowest, np.int64(entries[start] >> _ROW))
                n_ranks = max(n_ranks, np.int64(entries[end - 1] >> _ROW))
            both_ways |= start > begin
    return lowest, n_ranks, both_ways


@routine
def _goes_with_larger(job, first, last, f, split_bin):
    """Whether at least half of the rows of the nodes that may be split go left, none missing."""
    n_left, n_rows = ZERO, ZERO
    for node in range(first, last):
        if job.nodes[node].splittable:
            entries, begin, _, end = _find_list(job, node, f)
            n_left += _find_above(entries, begin, end, split_bin) - begin
            n_rows += end - begin
    return follows_larger(n_left, n_rows)


@inlined
def _draw_rank(job, f, first, last, lowest, highest, both_ways):
    """Draw the rank that a feature may be split after in nodes [first, last), 0 if there is none.

    Any split between their lowest and highest rank is as likely; where some of their rows are
    missing, so is one of all values against these. Returns a rank that occurs in them.
    """
    n = highest - lowest + (1 if both_ways else 0)
    if n <= 0:
        return ZERO
    key = extend_key(extend_key(job.key, RANDOM_SPLITS), first)
    drawn, rank = choose_between(key, f, lowest, n), ZERO
    for node in range(first, last):
        if job.nodes[node].splittable:
            entries, _, start, end = _find_list(job, node, f)
            above = _find_above(entries, start, end, drawn)
            if above > start:
                rank = max(rank, np.int64(entries[above - 1] >> _ROW))
    return rank


@routine
def _sum_random(job, node, f, rank, missing_left):
    """The sums of a node's rows up to a rank."""
    entries, first, start, last = _find_list(job, node, f)
    end = _find_above(entries, start, last, rank)
    gradients, hessians = job.payload.exact_gradient, job.payload.exact_hessian
    g, h, n = _sum_entries(entries, start, end, gradients, hessians)
    if missing_left:
        more_g, more_h, more_n = _sum_entries(entries, first, start, gradients, hessians)
        return g + more_g, h + more_h, n + more_n
    return g, h, n


@routine
def _score_random_rank(job, child, f, first, last):
    """Score a random split of a feature for nodes [first, last) together."""
    work, best = job.work, job.work.candidates[child, f]
    lowest, highest, both_ways = _look_at_level(job, first, last, f)
    rank = _draw_rank(job, f, first, last, lowest, highest, both_ways)
    best.gain = -np.inf
    for missing_left in (False, True):
        total = -np.inf
        for node in range(first, last):
            if rank > 0 and job.nodes[node].splittable and (both_ways or not missing_left):
                left = _sum_random(job, node, f, rank, missing_left)
                limits = find_limits(job, node, NONE if rank == highest else f)
                total = add_gain(split_gain(limits, left, work.totals[node]), total)
        if total > best.gain:
            best.gain = total
            best.split_bin = _BEYOND if rank == highest else rank
            best.missing_left = missing_left
    if last - first == 1 and best.gain > -np.inf:
        left = _sum_random(job, first, f, rank, best.missing_left != 0)
        own = work.presorted.left_sums[child, f]
        own[0], own[1], own[2] = left
    if not both_ways and best.gain > -np.inf:
        best.missing_left = _goes_with_larger(job, first, last, f, best.split_bin)


@verb
def score_node(job, node, child, begin, end):
    """Find the best split of each of some ranked features for a node."""
    work, payload, scratch = job.work, job.payload, job.work.presorted
    prefix, gains = work.prefix[job.thread], work.gains[job.thread]
    right, left, rank_at = gains[0], gains[1], scratch.rank_at[job.thread]
    totals = work.totals[node]
    for position in range(begin, end):
        f = work.plan.features[position]
        if not _is_listed(job, f) or not work.allowed[CHILD + child, f]:
            continue
        if job.options.random_splits:
            _score_random_rank(job, child, f, node, node + 1)
            continue
        entries, first, start, last = _find_list(job, node, f)
        missing = _sum_entries(entries, first, start, payload.exact_gradient, payload.exact_hessian)
        both_ways, best, limits = (
            start > first,
            work.candidates[child, f],
            find_limits(job, node, f),
        )
        best.gain = -np.inf
        sums = (ZERO, ZERO, ZERO)
        for chunk in range(start, last, _CHUNK):
            is_end = chunk + _CHUNK >= last
            places = (chunk, last if is_end else chunk + _CHUNK, is_end)
            n, sums = _walk(entries, *places, payload, sums, prefix, rank_at)
            # All values against the missing ones is a split, too, where there are some.
            is_last = is_end and both_ways
            n -= 1 if is_end and not both_ways else 0
            gains_after(limits, prefix, missing, n, both_ways, is_last, totals, right, left)
            gain, bin_, missing_left = best_candidate(n, both_ways, right, left)
            if gain > best.gain:
                best.gain = gain
                best.split_bin = _BEYOND if is_last and bin_ == n else rank_at[bin_ - 1]
                own = scratch.left_sums[child, f]
                for s in range(3):
                    own[s] = prefix[s, bin_ - 1] + (missing[s] if missing_left else 0)
                if not both_ways:
                    missing_left = follows_larger(own[2], totals[2])
                best.missing_left = missing_left
    return ZERO


@verb
def take_side(job, node, child, f):
    """Note what a node's best split sends left; return whether missing goes left."""
    scratch, best = job.work.presorted, job.work.candidates[child, f]
    for s in range(3):
        job.work.left_totals[node, s] = scratch.left_sums[child, f, s]
    entries, first, _, last = _find_list(job, node, f)
    above = _find_above(entries, first, last, best.split_bin)
    scratch.upper[node] = entries[above] >> _ROW if above < last else 0
    return np.int64(best.missing_left != 0)


# Levels


@routine
def _add_to_ranks(gains, rank_at, n, end, sums):
    """Add each gain to its rank and those up to the next candidate's, or before ``end``.

    -inf (a child would be too small) adds nothing.
    """
    for i in range(n):
        if gains[i] > -np.inf:
            last = rank_at[i + 1] if i + 1 < n else end
            for rank in range(rank_at[i], last):
                sums[rank - 1] = add_gain(gains[i], sums[rank - 1])


@routine
def _add_node_gains(job, node, f, lowest, n_ranks, both_ways, sum_right, sum_left):
    """Add the gains that splits after each rank have in a node."""
    work, payload, scratch = job.work, job.payload, job.work.presorted
    prefix, gains = work.prefix[job.thread], work.gains[job.thread]
    right, left, rank_at = gains[0], gains[1], scratch.rank_at[job.thread]
    totals, limits = work.totals[node], find_limits(job, node, f)
    entries, first, start, last = _find_list(job, node, f)
    missing = _sum_entries(entries, first, start, payload.exact_gradient, payload.exact_hessian)
    sums = (ZERO, ZERO, ZERO)
    if first < start < last:  # the missing against all values, before the lowest of these
        for s in range(3):
            prefix[s, 0] = 0
        gains_after(limits, prefix, missing, ZERO + 1, both_ways, NO, totals, right, left)
        rank_at[0] = lowest
        _add_to_ranks(left, rank_at, ZERO + 1, np.int64(entries[start] >> _ROW), sum_left)
    for begin in range(start, last, _CHUNK):
        end = min(begin + _CHUNK, last)
        is_end = end == last
        n, sums = _walk(entries, begin, end, is_end, payload, sums, prefix, rank_at)
        gains_after(limits, prefix, missing, n, both_ways, NO, totals, right, left)
        beyond = n_ranks if is_end else np.int64(entries[end] >> _ROW)
        _add_to_ranks(right, rank_at, n, beyond, sum_right)
        if both_ways:
            _add_to_ranks(left, rank_at, n, beyond, sum_left)
    if both_ways:  # all values against the missing
        for s in range(3):
            prefix[s, 0] = sums[s]
        gains_after(limits, prefix, missing, ZERO + 1, both_ways, YES, totals, right, left)
        rank_at[0] = n_ranks
        _add_to_ranks(right, rank_at, ZERO + 1, n_ranks + 1, sum_right)


@verb
def score_level(job, first, last, begin, end):
    """Find the best split of each of some ranked features for nodes [first, last) together.

    A split's gain is the sum over the nodes, in their order; a node where a child would be too
    small adds nothing.
    """
    work, level_gains = job.work, job.work.presorted.level_gains[job.thread]
    sum_right, sum_left = level_gains[0], level_gains[1]
    for position in range(begin, end):
        f = work.plan.features[position]
        if not _is_listed(job, f) or not work.allowed[CHILD, f]:
            continue
        if job.options.random_splits:
            _score_random_rank(job, ZERO, f, first, last)
            continue
        lowest, n_ranks, both_ways = _look_at_level(job, first, last, f)
        for i in range(n_ranks):
            sum_right[i] = sum_left[i] = -np.inf
        for node in range(first, last):
            if job.nodes[node].splittable:
                ranks = (lowest, n_ranks, both_ways)
                _add_node_gains(job, node, f, *ranks, sum_right, sum_left)
        n = n_ranks if both_ways else n_ranks - 1
        gain, split_bin, missing_left = best_candidate(n, both_ways, sum_right, sum_left)
        if not both_ways:
            missing_left = _goes_with_larger(job, first, last, f, split_bin)
        split_bin = _BEYOND if split_bin == n_ranks else split_bin
        note_candidate(job, ZERO, f, (gain, split_bin, missing_left))
    return ZERO


@verb
def take_level_side(job, node, f):
    """Note what the split of its level sends left in a node; it knows where missing goes."""
    best, payload, left = job.work.candidates[ZERO, f], job.payload, job.work.left_totals[node]
    entries, first, start, last = _find_list(job, node, f)
    end = _find_above(entries, start, last, best.split_bin)
    begin = first if best.missing_left else start
    left[0], left[1], left[2] = _sum_entries(
        entries, begin, end, payload.exact_gradient, payload.exact_hessian
    )
    return ZERO + 1


@inlined
def goes_left(table, tree, node, row):
    """Whether a row of the table goes left in a node of a finished tree: by its value.

    Ranks of different tables (permutations of encoded categories) need not agree.
    """
    value = table.presorted.values[tree.feature[node], row]
    return is_left_value(value, tree.threshold[node], tree.missing_left[node])
