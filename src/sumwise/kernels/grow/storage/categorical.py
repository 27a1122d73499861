"""Categorical features: choose a set of categories and split by it.

``kernels.table.layout`` says what the arrays hold. A split sends a set of bins left, and all other
bins right. Missing goes as the set says if the node has missing rows, else with the larger child.

Bins of a node are ordered by ``g / (h + smoothing)``, and sets are taken from both ends of that
order: for a convex loss the best set is a run of it (Fisher 1958). The ratio of few rows is mostly
noise; hence the smoothing, the fewest rows of a bin, the fewest rows between two candidates, the
most bins of a set and the larger penalty, all as in LightGBM. Candidates come from the low end of
the order, short to long, then from the high end; the first of equal gains wins. One-hot candidates
come in the order of bins, missing first. For a level, order and candidates come from the sums of
its nodes.
"""

import numpy as np

from sumwise.kernels.grow.candidates import (
    add_gain,
    count_rows,
    feature_bins,
    is_drawn,
    note_candidate,
)
from sumwise.kernels.grow.gain import find_limits, gain_over, node_score, with_more_l2
from sumwise.kernels.grow.histogram import unpack_record
from sumwise.kernels.grow.layout import CHILD, PACKED_ROWS
from sumwise.kernels.grow.missing import follows_larger
from sumwise.kernels.grow.packed import pack_sums, unpack_sums
from sumwise.kernels.grow.partition import (
    child_records,
    count_members,
    move_members,
    name_members,
    node_records,
)
from sumwise.kernels.grow.plan import FIRST, SUMMED
from sumwise.kernels.grow.storage.ratio_order import select_ends, sort_by_ratio
from sumwise.kernels.runtime.jit import NONE, ZERO, inlined, routine, verb
from sumwise.kernels.runtime.random import RANDOM_SPLITS, choose_between, extend_key
from sumwise.kernels.table.layout import CATEGORICAL

_ROW = np.uint64(32)
_MISSING = 0

# Sums by bin


@routine
def _add_to_bin(sums, present, n_present, b, g, h, n):
    """Add to the sums of a bin; return how many bins have rows."""
    if sums[3 * b + 2] == 0:
        present[n_present] = b
        n_present += 1
    sums[3 * b] += g
    sums[3 * b + 1] += h
    sums[3 * b + 2] += n
    return n_present


@routine
def _build_packed(column, records, words):
    """Add records to packed words."""
    for i in range(np.uint64(records.size)):
        g, h = unpack_record(records[i])
        words[np.uint64(column[records[i] >> _ROW])] += pack_sums(g, h, 1)


@routine
def _build_plain(job, column, records, bins):
    """Add records to sums that may be large, or exact."""
    n_bins = bins.size // 3
    sum_g, sum_h, count = bins[:n_bins], bins[n_bins : 2 * n_bins], bins[2 * n_bins :]
    for i in range(records.size):
        row = records[i] >> _ROW
        b = np.uint64(column[row])
        if job.exact:
            g, h = job.payload.exact_gradient[row], job.payload.exact_hessian[row]
        else:
            g, h = unpack_record(records[i])
        sum_g[b] += g
        sum_h[b] += h
        count[b] += 1


@verb
def build_histogram(job, item, f):
    """Sum the rows of a node into the histogram of a wide feature."""
    work, table, categories = job.work, job.table, job.table.categories
    place, node = categories.place[f], work.plan.items[item, SUMMED]
    if table.n_value_bins[f] == 0 or not is_drawn(job, f):
        return ZERO
    if work.plan.items[item, FIRST] > work.first[node]:
        return ZERO  # the first part of a node sums it all
    records = node_records(job, node)[work.first[node] : work.last[node]]
    bins, n_bins = feature_bins(job, node, f), table.n_value_bins[f] + 1
    column = categories.wide[categories.wide_place[place]]
    is_packed = job.nodes[node].packed != 0
    few = is_packed or (categories.crowd[place] <= PACKED_ROWS and not job.exact)
    bins[: n_bins if few else 3 * n_bins] = 0
    if few:
        _build_packed(column, records, bins)
    else:
        _build_plain(job, column, records, bins)
    if few and not is_packed:
        for b in range(n_bins):
            bins[b], bins[n_bins + b], bins[2 * n_bins + b] = unpack_sums(bins[b])
    return ZERO


@routine
def _add_histogram(job, node, f, sums, present, n_present):
    """Add the histogram of a feature."""
    bins, n_bins = feature_bins(job, node, f), job.table.n_value_bins[f] + 1
    for b in range(n_bins):
        g, h, n = bins[b], np.int64(0), np.int64(0)
        if job.nodes[node].packed:
            g, h, n = unpack_sums(bins[b])
        else:
            h, n = bins[n_bins + b], bins[2 * n_bins + b]
        if n > 0:
            n_present = _add_to_bin(sums, present, n_present, b, g, h, n)
    return n_present


@routine
def _add_words(column, records, words, touched):
    """Add records to packed words; return how many bins were touched, and note which."""
    n = np.uint64(0)
    for i in range(np.uint64(records.size)):
        b = np.uint64(column[records[i] >> _ROW])
        g, h = unpack_record(records[i])
        word = words[b]
        touched[n] = b
        n += np.uint64(word == 0)  # a word that has rows has their number, up to 4,095
        words[b] = word + pack_sums(g, h, 1)
    return np.int64(n)


@routine
def _add_records(job, node, column, crowd, sums, present, n_present):
    """Add a node's records by their bins of a feature without a histogram."""
    work, payload, scratch = job.work, job.payload, job.work.categories
    records = node_records(job, node)[work.first[node] : work.last[node]]
    words, touched, n_touched = scratch.words[job.thread], scratch.touched[job.thread], np.int64(0)
    if not job.exact and (records.size <= PACKED_ROWS or crowd <= PACKED_ROWS):
        n_touched = _add_words(column, records, words, touched)
    else:
        for i in range(records.size):
            row = records[i] >> _ROW
            b = np.int64(column[row])
            if job.exact:
                g, h = payload.exact_gradient[row], payload.exact_hessian[row]
            else:
                g, h = unpack_record(records[i])
            n_present = _add_to_bin(sums, present, n_present, b, g, h, 1)
    for i in range(n_touched):
        b = touched[i]
        g, h, n = unpack_sums(words[b])
        n_present = _add_to_bin(sums, present, n_present, b, g, h, n)
        words[b] = 0
    return n_present


@routine
def _add_node(job, node, f, n_present):
    """Add a node's sums by bin to the thread's; return how many bins have rows."""
    scratch, categories = job.work.categories, job.table.categories
    place = categories.place[f]
    sums, present = scratch.sums[job.thread], scratch.present[job.thread]
    if job.table.n_value_bins[f] > 0:
        return _add_histogram(job, node, f, sums, present, n_present)
    column, crowd = categories.wide[categories.wide_place[place]], categories.crowd[place]
    return _add_records(job, node, column, crowd, sums, present, n_present)


@routine
def _clear_sums(sums, present, n_present):
    for i in range(n_present):
        for s in range(3):
            sums[3 * present[i] + s] = 0


# Candidates


@inlined
def _find_ratio(g, h, unit_g, unit_h, smoothing):
    curvature = h * unit_h + smoothing
    return g * unit_g / curvature if curvature > 0.0 else 0.0


@routine
def _sort_bins(job, place, n):
    """Sort the ``n`` listed bins; return how many are kept, and the most of a set.

    Where sets cannot reach the middle of the order, it is left out.
    """
    scratch, thread, categories = job.work.categories, job.thread, job.table.categories
    ratios, orders = scratch.ratio[thread], scratch.order[thread]
    one_hot = categories.one_hot[place] != 0
    longest = 1 if one_hot else min(categories.max_categories, (n + 1) // 2)
    if not one_hot and n > 2 * longest:
        select_ends(ratios, orders, n, longest)
        return 2 * longest, longest
    sort_by_ratio(ratios, orders, n)
    return n, longest


@routine
def _order_bins(job, place, n_present):
    """Write the bins that sets may have in their order; return how many, and the most of a set."""
    scratch, thread, categories = job.work.categories, job.thread, job.table.categories
    sums, present = scratch.sums[thread], scratch.present[thread]
    ratios, orders = scratch.ratio[thread], scratch.order[thread]
    unit_g, unit_h, smoothing = job.payload.units[0], job.payload.units[1], categories.smoothing
    one_hot = categories.one_hot[place] != 0
    n = 0
    for i in range(n_present):
        b = present[i]
        if b < categories.n_choices[place] and (one_hot or sums[3 * b + 2] >= smoothing):
            ratio = _find_ratio(sums[3 * b], sums[3 * b + 1], unit_g, unit_h, smoothing)
            ratios[0, n] = 0.0 if one_hot else ratio
            orders[0, n] = b
            n += 1
    return _sort_bins(job, place, n)


@routine
def _find_ratios(bins, is_packed, unit_g, unit_h, smoothing, ratio, count):
    """Write the ratios and the rows of the bins of a histogram."""
    n_bins = bins.size // 3
    if is_packed:
        for b in range(count.size):
            g, h, count[b] = unpack_sums(bins[b])
            ratio[b] = _find_ratio(g, h, unit_g, unit_h, smoothing)
    else:
        gradient, hessian, rows = bins[:n_bins], bins[n_bins : 2 * n_bins], bins[2 * n_bins :]
        for b in range(count.size):
            ratio[b] = _find_ratio(gradient[b], hessian[b], unit_g, unit_h, smoothing)
            count[b] = rows[b]


@routine
def _order_histogram(job, node, f):
    """The same as :func:`_order_bins` for a single node: straight from its histogram.

    Two loops without a branch: the first vectorizes, the second lists bins of enough rows.
    """
    scratch, thread, categories = job.work.categories, job.thread, job.table.categories
    place, bins, units = categories.place[f], feature_bins(job, node, f), job.payload.units
    n_choices, is_packed = categories.n_choices[place], job.nodes[node].packed != 0
    ratio, listed = scratch.ratio[thread, 1], scratch.ratio[thread, 0]
    count, order = scratch.prefix[thread, 2, :n_choices], scratch.order[thread, 0]
    _find_ratios(bins, is_packed, units[0], units[1], categories.smoothing, ratio, count)
    one_hot, n = categories.one_hot[place] != 0, np.uint64(0)
    fewest = 1 if one_hot else max(1, np.int64(np.ceil(categories.smoothing)))
    for b in range(n_choices):
        listed[n] = 0.0 if one_hot else ratio[b]
        order[n] = b
        n += np.uint64(count[b] >= fewest)
    return _sort_bins(job, place, np.int64(n))


@routine
def _fill_prefix_of_node(job, node, f, n):
    """Write the sums of the first 0, 1, ... n bins of the order, from the node's histogram."""
    scratch, bins = job.work.categories, feature_bins(job, node, f)
    order, prefix = scratch.order[job.thread, 0], scratch.prefix[job.thread]
    n_bins, is_packed = bins.size // 3, job.nodes[node].packed != 0
    sum_g, sum_h, sum_n = ZERO, ZERO, ZERO
    prefix[0, 0] = prefix[1, 0] = prefix[2, 0] = 0
    for i in range(n):
        b = order[i]
        if is_packed:
            g, h, rows = unpack_sums(bins[b])
        else:
            g, h, rows = bins[b], bins[n_bins + b], bins[2 * n_bins + b]
        sum_g, sum_h, sum_n = sum_g + g, sum_h + h, sum_n + rows
        prefix[0, i + 1], prefix[1, i + 1], prefix[2, i + 1] = sum_g, sum_h, sum_n


@routine
def _fill_prefix(sums, order, prefix, n):
    """Write the sums of the first 0, 1, ... n bins of the order."""
    g, h, rows = prefix[0], prefix[1], prefix[2]
    g[0] = h[0] = rows[0] = 0
    for i in range(n):
        b = order[i]
        g[i + 1] = g[i] + sums[3 * b]
        h[i + 1] = h[i] + sums[3 * b + 1]
        rows[i + 1] = rows[i] + sums[3 * b + 2]


@routine
def _list_candidates(job, place, n, longest, total_h, total_n):
    """Write the sets worth a look as (first of the order, length, rows); return how many."""
    scratch, thread, categories = job.work.categories, job.thread, job.table.categories
    candidates, prefix = scratch.candidates[thread], scratch.prefix[thread]
    if categories.one_hot[place]:
        for i in range(n):
            candidates[0, i], candidates[1, i] = i, 1
            candidates[2, i] = prefix[2, i + 1] - prefix[2, i]
        return n
    min_leaf, min_rows = job.options.min_samples_leaf, categories.min_rows
    min_weight, unit_h = job.payload.min_child_weight, job.payload.units[1]
    found = 0
    for from_end in range(2):
        before = 0  # rows of the last candidate
        for length in range(1, longest + 1):
            first = n - length if from_end else 0
            rows = prefix[2, first + length] - prefix[2, first]
            h = prefix[1, first + length] - prefix[1, first]
            if rows < min_leaf or h * unit_h < min_weight:
                continue
            if total_n - rows < max(min_leaf, min_rows) or (total_h - h) * unit_h < min_weight:
                break
            if rows - before < min_rows:
                continue
            before = rows
            candidates[0, found], candidates[1, found], candidates[2, found] = first, length, rows
            found += 1
    return found


@inlined
def _find_set_limits(job, node, f):
    """The limits of a node's splits by sets of a feature: sets have no order, but a penalty."""
    categories = job.table.categories
    is_one = categories.one_hot[categories.place[f]] != 0
    return with_more_l2(find_limits(job, node, NONE), 0.0 if is_one else categories.l2)


@routine
def _add_gains(job, node, f, n_candidates):
    """Add a node's gains to those of the candidates; where a child is too small, nothing."""
    scratch, thread = job.work.categories, job.thread
    candidates, prefix = scratch.candidates[thread], scratch.prefix[thread]
    totals, gains = job.work.totals[node], scratch.gains[thread]
    # The node's score is without the penalty: so a split must gain what the penalty costs.
    parent = node_score(find_limits(job, node, NONE), totals)
    limits, sums = _find_set_limits(job, node, f), (totals[0], totals[1], totals[2])
    for c in range(n_candidates):
        first, last = candidates[0, c], candidates[0, c] + candidates[1, c]
        g = prefix[0, last] - prefix[0, first]
        h = prefix[1, last] - prefix[1, first]
        n = prefix[2, last] - prefix[2, first]
        gains[c] = add_gain(gain_over(parent, limits, g, h, n, sums), gains[c])


@routine
def _note_best(job, child, f, begin, end, n_missing, total_n):
    """Keep the first of the sets [begin, end) with the highest gain."""
    work, thread = job.work, job.thread
    scratch, place = work.categories, job.table.categories.place[f]
    candidates, gains, prefix = (
        scratch.candidates[thread],
        scratch.gains[thread],
        scratch.prefix[thread],
    )
    best, gain = -1, -np.inf
    for c in range(begin, end):
        if gains[c] > gain:
            best, gain = c, gains[c]
    size, has_missing = 0, False
    if best >= 0:
        first, length = candidates[0, best], candidates[1, best]
        for s in range(3):
            scratch.left_sums[child, place, s] = prefix[s, first + length] - prefix[s, first]
        for i in range(first, first + length):
            b = scratch.order[thread, 0, i]
            if b == _MISSING:
                has_missing = True
            else:
                scratch.sets[child, place, size] = b
                size += 1
        if n_missing == 0:
            has_missing = follows_larger(candidates[2, best], total_n)
    note_candidate(job, child, f, (gain, size, has_missing))


@routine
def _note_best_of(job, child, f, first, n_candidates, n_missing, total_n):
    """Keep the best of the candidates, or a random one, for nodes from ``first`` on."""
    begin, end = np.int64(0), np.int64(n_candidates)
    if job.options.random_splits and n_candidates > 0:
        key = extend_key(extend_key(job.key, RANDOM_SPLITS), first)
        begin = choose_between(key, f, begin, end)
        end = begin + 1
    _note_best(job, child, f, begin, end, n_missing, total_n)


@routine
def _score_histogram(job, child, f, node):
    """Find the best set of a feature that has a histogram, for a single node."""
    work, categories = job.work, job.table.categories
    place, totals = categories.place[f], work.totals[node]
    n, longest = _order_histogram(job, node, f)
    _fill_prefix_of_node(job, node, f, n)
    n_candidates = _list_candidates(job, place, n, longest, totals[1], totals[2])
    work.categories.gains[job.thread, :n_candidates] = -np.inf
    _add_gains(job, node, f, n_candidates)
    n_missing = count_rows(job, node, f, ZERO)
    _note_best_of(job, child, f, node, n_candidates, n_missing, totals[2])


@routine
def _score_sets(job, child, f, first, last):
    """Find the best set of a feature for nodes [first, last) together.

    Their summed bins give the order and the candidates. A candidate's gain is the sum over the
    nodes, in their order; a node where a child would be too small adds nothing.
    """
    work, nodes, thread = job.work, job.nodes, job.thread
    scratch, categories = work.categories, job.table.categories
    place = categories.place[f]
    sums, present, prefix = scratch.sums[thread], scratch.present[thread], scratch.prefix[thread]
    order, gains = scratch.order[thread, 0], scratch.gains[thread]
    n_present, total_h, total_n = np.int64(0), np.int64(0), np.int64(0)
    for node in range(first, last):
        if nodes[node].splittable:
            n_present = _add_node(job, node, f, n_present)
            total_h += work.totals[node, 1]
            total_n += work.totals[node, 2]
    n_missing = sums[2]
    n, longest = _order_bins(job, place, n_present)
    _fill_prefix(sums, order, prefix, n)
    n_candidates = _list_candidates(job, place, n, longest, total_h, total_n)
    for c in range(n_candidates):
        gains[c] = -np.inf
    if last - first == 1:
        _add_gains(job, first, f, n_candidates)
    _clear_sums(sums, present, n_present)
    if last - first > 1 and n_candidates > 0:
        for node in range(first, last):
            if nodes[node].splittable:
                n_present = _add_node(job, node, f, np.int64(0))
                _fill_prefix(sums, order, prefix, n)
                _add_gains(job, node, f, n_candidates)
                _clear_sums(sums, present, n_present)
    _note_best_of(job, child, f, first, n_candidates, n_missing, total_n)


@routine
def _score_features(job, child, first, last, begin, end):
    """Find the best set of each of some features for nodes [first, last) together."""
    for position in range(begin, end):
        f = job.work.plan.features[position]
        if job.table.storage[f] == CATEGORICAL and job.work.allowed[CHILD + child, f]:
            if not is_drawn(job, f):
                continue
            if last - first == 1 and job.table.n_value_bins[f] > 0:
                _score_histogram(job, child, f, first)
            else:
                _score_sets(job, child, f, first, last)


@verb
def score_node(job, node, child, begin, end):
    """Find the best set of each of some features for a node."""
    _score_features(job, child, node, node + 1, begin, end)
    return ZERO


@verb
def score_level(job, first, last, begin, end):
    """Find the best set of each of some features for nodes [first, last) together."""
    _score_features(job, ZERO, first, last, begin, end)
    return ZERO


# The chosen set


@inlined
def _keep_set(job, node, child, f):
    """Give a node the best set of a feature."""
    scratch, place = job.work.categories, job.table.categories.place[f]
    size = job.work.candidates[child, f].split_bin
    scratch.node_size[node] = size
    for i in range(size):
        scratch.node_set[node, i] = scratch.sets[child, place, i]


@verb
def take_side(job, node, child, f):
    """Note what a node's best split sends left; return whether missing goes left."""
    place = job.table.categories.place[f]
    for s in range(3):
        job.work.left_totals[node, s] = job.work.categories.left_sums[child, place, s]
    _keep_set(job, node, child, f)
    return np.int64(job.work.candidates[child, f].missing_left != 0)


@inlined
def _mark_members(member, bins, size, missing_left, value):
    """Mark the bins of a set, or take the marks back."""
    for i in range(size):
        member[bins[i]] = value
    if missing_left:
        member[_MISSING] = value


@verb
def take_level_side(job, node, f):
    """Note what the set of its level sends left in a node; the set knows where missing goes."""
    work, place, thread = job.work, job.table.categories.place[f], job.thread
    scratch, left = work.categories, work.left_totals[node]
    sums, present, member = scratch.sums[thread], scratch.present[thread], scratch.member[thread]
    best = work.candidates[0, f]
    _mark_members(member, scratch.sets[0, place], best.split_bin, best.missing_left, np.uint8(1))
    n_present = _add_node(job, node, f, ZERO)
    for s in range(3):
        left[s] = 0
        for i in range(n_present):
            left[s] += sums[3 * present[i] + s] if member[present[i]] else 0
    _clear_sums(sums, present, n_present)
    _mark_members(member, scratch.sets[0, place], best.split_bin, best.missing_left, np.uint8(0))
    return ZERO + 1


@verb
def take_level_gain(job, node, f):
    """Note the gain that its level's set has in a node; return whether it is allowed there."""
    totals, left, gain = job.work.totals[node], job.work.left_totals[node], -np.inf
    _keep_set(job, node, ZERO, f)
    if job.nodes[node].slot >= 0:
        parent = node_score(find_limits(job, node, NONE), totals)
        limits, sums = _find_set_limits(job, node, f), (totals[0], totals[1], totals[2])
        gain = gain_over(parent, limits, left[0], left[1], left[2], sums)
    job.nodes[node].gain = gain
    return np.int64(gain > -np.inf)


@inlined
def _mark_set(job, node, value):
    """Mark the bins that a node's split sends left for the thread; return the marks."""
    own, scratch = job.nodes[node], job.work.categories
    member, bins = scratch.member[job.thread], scratch.node_set[node]
    _mark_members(member, bins, scratch.node_size[node], own.missing_left, np.uint8(value))
    return member


@inlined
def _find_wide(job, node):
    """The place of the feature that a node is split on among the wide ones, -1 if it is narrow."""
    categories = job.table.categories
    return categories.wide_place[categories.place[job.nodes[node].feature]]


@verb
def count_left(job, node, first, last):
    """Return how many of the records [first, last) of a node go left."""
    member, wide = _mark_set(job, node, 1), _find_wide(job, node)
    records = node_records(job, node)[first:last]
    if wide < 0:
        n_left = count_members(records, job.table.columns[job.nodes[node].feature], member)
    else:
        n_left = count_members(records, job.table.categories.wide[wide], member)
    _mark_set(job, node, 0)
    return n_left


@verb
def move_records(job, node, first, last, left, right, step):
    """Move a span of a node's records to its children; return where the next would go left."""
    span = (first, last, left, right, step)
    member, wide = _mark_set(job, node, 1), _find_wide(job, node)
    places = (node_records(job, node), child_records(job, node), span)
    if wide < 0:
        middle = move_members(*places, job.table.columns[job.nodes[node].feature], member)
    else:
        middle = move_members(*places, job.table.categories.wide[wide], member)
    _mark_set(job, node, 0)
    return middle


@verb
def name_leaves(job, node, first, last):
    """Write the leaf of each row of a node's records [first, last); return how many go right."""
    member, wide = _mark_set(job, node, 1), _find_wide(job, node)
    records, names = node_records(job, node)[first:last], np.int64(job.nodes[node].left)
    if wide < 0:
        column = job.table.columns[job.nodes[node].feature]
        n_right = name_members(records, column, member, names, job.work.leaf)
    else:
        wide_column = job.table.categories.wide[wide]
        n_right = name_members(records, wide_column, member, names, job.work.leaf)
    _mark_set(job, node, 0)
    return n_right


@inlined
def goes_left(table, tree, node, row):
    """Whether a row of the table goes left in a node of a finished tree."""
    f = tree.feature[node]
    wide = table.categories.wide_place[table.categories.place[f]]
    b = np.int64(table.columns[f, row]) if wide < 0 else np.int64(table.categories.wide[wide, row])
    return tree.in_set[tree.set_start[node] + b] != 0
