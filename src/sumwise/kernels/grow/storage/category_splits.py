"""Choose a set of categories and split by it; see categories.py for what the arrays hold.

Bins of a node are ordered by ``g / (h + smoothing)``, and sets are taken from both ends of that
order: for a convex loss the best set is a run of it (Fisher 1958). Few rows give a ratio that is
mostly noise; hence the smoothing, the fewest rows of a bin, the fewest rows between two candidates,
the most bins of a set and the larger penalty, all as LightGBM has them.
"""

import numpy as np

from sumwise.kernels.grow.constraints import node_score, penalized_gain
from sumwise.kernels.grow.histogram import unpack_record
from sumwise.kernels.grow.layout import NO, PACKED_ROWS, TREE
from sumwise.kernels.grow.packed import pack_sums, unpack_sums
from sumwise.kernels.runtime.jit import inlined, routine
from sumwise.kernels.runtime.random import RANDOM_SPLITS, choose_between, extend_key

_ROW = np.uint64(32)
_ONE = np.uint64(1)
_MISSING = 0
# Runs of this length are sorted by insertion, then merged.
_RUN = 16


@routine
def is_categorical(categories, f):
    """Whether a feature is categorical."""
    return categories.place[f] >= 0


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


@routine
def build_wide(categories, job, node):
    """Sum a node's rows into the histograms of the thread's wide features."""
    work, table = job.work, job.table
    records = work.records[job.nodes[node].depth & 1]
    is_packed = job.nodes[node].packed != 0
    for f in range(categories.place.size):
        place = categories.place[f]
        if place < 0 or categories.wide_place[place] < 0 or table.n_value_bins[f] == 0:
            continue
        if work.feature_owner[f] != job.thread or not work.allowed[TREE, f]:
            continue
        first, n_bins = 3 * table.bin_start[f], table.n_value_bins[f] + 1
        bins = work.histograms[job.nodes[node].slot, first : first + 3 * n_bins]
        column = categories.wide[categories.wide_place[place]]
        few = is_packed or (categories.crowd[place] <= PACKED_ROWS and not job.exact)
        bins[: n_bins if few else 3 * n_bins] = 0
        for t in range(job.n_threads):
            part = records[work.first[t, node] : work.last[t, node]]
            if few:
                _build_packed(column, part, bins)
            else:
                _build_plain(job, column, part, bins)
        if few and not is_packed:
            for b in range(n_bins):
                bins[b], bins[n_bins + b], bins[2 * n_bins + b] = unpack_sums(bins[b])


@routine
def _add_histogram(job, node, f, fewest, sums, present, n_present):
    """Add the histogram of a feature, but for bins of fewer rows; bin 0 always."""
    first, n_bins = 3 * job.table.bin_start[f], job.table.n_value_bins[f] + 1
    bins = job.work.histograms[job.nodes[node].slot, first : first + 3 * n_bins]
    for b in range(n_bins):
        g, h, n = bins[b], np.int64(0), np.int64(0)
        if job.nodes[node].packed:
            g, h, n = unpack_sums(bins[b])
        else:
            h, n = bins[n_bins + b], bins[2 * n_bins + b]
        if n >= fewest or (b == _MISSING and n > 0):
            n_present = _add_to_bin(sums, present, n_present, b, g, h, n)
    return n_present


@routine
def _add_words(column, records, words, touched, n_touched):
    """Add records to packed words; return how many bins were touched, and note which."""
    n = np.uint64(n_touched)
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
    records = work.records[job.nodes[node].depth & 1]
    fits = work.totals[node, 2] <= PACKED_ROWS or crowd <= PACKED_ROWS
    words, touched, n_touched = scratch.words[job.thread], scratch.touched[job.thread], np.int64(0)
    for t in range(job.n_threads):
        part = records[work.first[t, node] : work.last[t, node]]
        if fits and not job.exact:
            n_touched = _add_words(column, part, words, touched, n_touched)
            continue
        for i in range(part.size):
            row = part[i] >> _ROW
            b = np.int64(column[row])
            if job.exact:
                g, h = payload.exact_gradient[row], payload.exact_hessian[row]
            else:
                g, h = unpack_record(part[i])
            n_present = _add_to_bin(sums, present, n_present, b, g, h, 1)
    for i in range(n_touched):
        b = touched[i]
        g, h, n = unpack_sums(words[b])
        n_present = _add_to_bin(sums, present, n_present, b, g, h, n)
        words[b] = 0
    return n_present


@routine
def _add_node(categories, job, node, f, fewest, n_present):
    """Add a node's sums by bin to the thread's; return how many bins have rows.

    Bins of fewer rows than ``fewest``, which is positive, may be left out.
    """
    scratch, place = job.work.categories, categories.place[f]
    sums, present = scratch.sums[job.thread], scratch.present[job.thread]
    if job.table.n_value_bins[f] > 0:
        return _add_histogram(job, node, f, fewest, sums, present, n_present)
    column, crowd = categories.wide[categories.wide_place[place]], categories.crowd[place]
    return _add_records(job, node, column, crowd, sums, present, n_present)


@routine
def _clear_sums(sums, present, n_present):
    for i in range(n_present):
        for s in range(3):
            sums[3 * present[i] + s] = 0


@routine
def sum_records(categories, payload, exact, records, totals):
    """Add the rows of records to totals, for trees that see no feature with a histogram."""
    totals[2] += records.size
    for i in range(records.size):
        if exact:
            row = records[i] >> _ROW
            g, h = payload.exact_gradient[row], payload.exact_hessian[row]
        else:
            g, h = unpack_record(records[i])
        totals[0] += g
        totals[1] += h


# The order of bins


@routine
def _is_after(ratio, b, other_ratio, other_b):
    return ratio > other_ratio or (ratio == other_ratio and b > other_b)


@routine
def sort_by_ratio(ratios, orders, n):
    """Sort the first ``n`` bins by ratio, equal ones by number; the second rows are scratch."""
    ratio, order, other_ratio, other_order = ratios[0], orders[0], ratios[1], orders[1]
    for first in range(0, n, _RUN):
        for i in range(first + 1, min(first + _RUN, n)):
            own_ratio, own = ratio[i], order[i]
            j = i
            while j > first and _is_after(ratio[j - 1], order[j - 1], own_ratio, own):
                ratio[j], order[j] = ratio[j - 1], order[j - 1]
                j -= 1
            ratio[j], order[j] = own_ratio, own
    width = _RUN
    in_other = False
    while width < n:
        for first in range(0, n, 2 * width):
            middle, last = min(first + width, n), min(first + 2 * width, n)
            i, j = first, middle
            for k in range(first, last):
                takes_second = i == middle or (
                    j < last and _is_after(ratio[i], order[i], ratio[j], order[j])
                )
                source = j if takes_second else i
                other_ratio[k], other_order[k] = ratio[source], order[source]
                i, j = (i, j + 1) if takes_second else (i + 1, j)
        ratio, other_ratio = other_ratio, ratio
        order, other_order = other_order, order
        in_other = not in_other
        width *= 2
    if in_other:
        for i in range(n):
            other_ratio[i], other_order[i] = ratio[i], order[i]


@routine
def _insert(ratio, order, n, length, own_ratio, own, highest):
    """Put a bin into a sorted list of the ``length`` lowest or highest so far, of ``n`` seen."""
    last = min(n, length - 1)
    if n >= length and _is_after(ratio[last], order[last], own_ratio, own) == highest:
        return
    while last > 0 and _is_after(ratio[last - 1], order[last - 1], own_ratio, own) != highest:
        ratio[last], order[last] = ratio[last - 1], order[last - 1]
        last -= 1
    ratio[last], order[last] = own_ratio, own


@routine
def select_ends(ratios, orders, n, length):
    """Of ``n`` bins, keep the ``length`` that come first and last by ratio, then number, in order.

    There are more than both together. Most bins need two comparisons and no move.
    """
    low, low_order = ratios[1, :length], orders[1, :length]
    high, high_order = ratios[1, length : 2 * length], orders[1, length : 2 * length]
    for i in range(n):
        _insert(low, low_order, i, length, ratios[0, i], orders[0, i], False)
        _insert(high, high_order, i, length, ratios[0, i], orders[0, i], True)
    for i in range(length):
        ratios[0, i], orders[0, i] = low[i], low_order[i]
        ratios[0, 2 * length - 1 - i], orders[0, 2 * length - 1 - i] = high[i], high_order[i]


@routine
def _order_bins(categories, job, place, n_present):
    """Write the bins that sets may have in their order; return how many, and the most of a set.

    Where sets cannot reach the middle of the order, it is left out.
    """
    scratch, thread = job.work.categories, job.thread
    sums, present = scratch.sums[thread], scratch.present[thread]
    ratios, orders = scratch.ratio[thread], scratch.order[thread]
    unit_g, unit_h, smoothing = job.payload.units[0], job.payload.units[1], categories.smoothing
    one_hot = categories.one_hot[place] != 0
    n = 0
    for i in range(n_present):
        b = present[i]
        if b < categories.n_choices[place] and (one_hot or sums[3 * b + 2] >= smoothing):
            curvature = sums[3 * b + 1] * unit_h + smoothing
            ratio = sums[3 * b] * unit_g / curvature if curvature > 0.0 else 0.0
            ratios[0, n] = 0.0 if one_hot else ratio
            orders[0, n] = b
            n += 1
    longest = 1 if one_hot else min(categories.max_categories, (n + 1) // 2)
    if not one_hot and n > 2 * longest:
        select_ends(ratios, orders, n, longest)
        return 2 * longest, longest
    sort_by_ratio(ratios, orders, n)
    return n, longest


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


# Candidates


@routine
def _list_candidates(categories, job, place, n, longest, total_h, total_n):
    """Write the sets worth a look as (first of the order, length, rows); return how many."""
    scratch, thread = job.work.categories, job.thread
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


@routine
def _more_l2(categories, place):
    """What is added to l2 in the gains of a feature's sets."""
    return 0.0 if categories.one_hot[place] else categories.l2


@routine
def _add_gains(categories, job, node, f, n_candidates):
    """Add a node's gains to those of the candidates; where a child is too small, nothing."""
    scratch, thread = job.work.categories, job.thread
    candidates, prefix, gains = (
        scratch.candidates[thread],
        scratch.prefix[thread],
        scratch.gains[thread],
    )
    totals, split = job.work.totals[node], (node, f, NO)
    rules, more_l2 = job.constraints, _more_l2(categories, categories.place[f])
    parent = node_score(rules, job.payload, split, totals)
    sums, min_rows = (totals[0], totals[1], totals[2]), job.options.min_samples_leaf
    for c in range(n_candidates):
        first, last = candidates[0, c], candidates[0, c] + candidates[1, c]
        g = prefix[0, last] - prefix[0, first]
        h = prefix[1, last] - prefix[1, first]
        n = prefix[2, last] - prefix[2, first]
        parts = (g, h, n, sums, parent, min_rows, more_l2)
        gain = penalized_gain(rules, job.payload, split, *parts)
        if gain > -np.inf:
            gains[c] = gain + (gains[c] if gains[c] > -np.inf else 0.0)


@routine
def score_sets(categories, job, child, f, first, last):
    """Find the best set of a feature for nodes [first, last) together.

    Their summed bins give the order and the candidates. A candidate's gain is the sum over the
    nodes, in their order; a node where a child would be too small adds nothing.
    """
    work, nodes, thread = job.work, job.nodes, job.thread
    scratch, place = work.categories, categories.place[f]
    sums, present, prefix = scratch.sums[thread], scratch.present[thread], scratch.prefix[thread]
    order, gains = scratch.order[thread, 0], scratch.gains[thread]
    n_present, total_h, total_n = np.int64(0), np.int64(0), np.int64(0)
    fewest = np.int64(1)
    if last - first == 1 and not categories.one_hot[place]:
        fewest = max(fewest, np.int64(np.ceil(categories.smoothing)))
    for node in range(first, last):
        if nodes[node].slot >= 0:
            n_present = _add_node(categories, job, node, f, fewest, n_present)
            total_h += work.totals[node, 1]
            total_n += work.totals[node, 2]
    n_missing = sums[2]
    n, longest = _order_bins(categories, job, place, n_present)
    _fill_prefix(sums, order, prefix, n)
    n_candidates = _list_candidates(categories, job, place, n, longest, total_h, total_n)
    for c in range(n_candidates):
        gains[c] = -np.inf
    if last - first == 1:
        _add_gains(categories, job, first, f, n_candidates)
    _clear_sums(sums, present, n_present)
    if last - first > 1 and n_candidates > 0:
        for node in range(first, last):
            if nodes[node].slot >= 0:
                n_present = _add_node(categories, job, node, f, np.int64(1), np.int64(0))
                _fill_prefix(sums, order, prefix, n)
                _add_gains(categories, job, node, f, n_candidates)
                _clear_sums(sums, present, n_present)
    begin, end = np.int64(0), np.int64(n_candidates)
    if job.options.random_splits and n_candidates > 0:
        key = extend_key(extend_key(job.key, RANDOM_SPLITS), first)
        begin = choose_between(key, f, begin, end)
        end = begin + 1
    _note_best(categories, job, child, f, begin, end, n_missing, total_n)


@routine
def _note_best(categories, job, child, f, begin, end, n_missing, total_n):
    """Keep the first of the sets [begin, end) with the highest gain."""
    work, thread = job.work, job.thread
    scratch, place = work.categories, categories.place[f]
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
        if n_missing == 0:  # none missing here: they go with the larger child
            has_missing = 2 * candidates[2, best] >= total_n
    work.candidates[child, f].gain = gain
    work.candidates[child, f].split_bin = size
    work.candidates[child, f].missing_left = has_missing


# The chosen set


@routine
def sum_best_set(categories, job, child, f, left):
    """Write the sums of the rows that the best set of a node sends left."""
    for s in range(3):
        left[s] = job.work.categories.left_sums[child, categories.place[f], s]


@inlined
def _mark_members(member, bins, size, missing_left, value):
    """Mark the bins of a set, or take the marks back."""
    for i in range(size):
        member[bins[i]] = value
    if missing_left:
        member[_MISSING] = value


@routine
def sum_level_set(categories, job, node, f, left):
    """Write the sums of the rows of a node that the best set of its level sends left.

    Missing rows are in the set if they go left; where there are none, it makes no difference.
    """
    work, place, thread = job.work, categories.place[f], job.thread
    scratch = work.categories
    sums, present, member = scratch.sums[thread], scratch.present[thread], scratch.member[thread]
    best = work.candidates[0, f]
    _mark_members(member, scratch.sets[0, place], best.split_bin, best.missing_left, np.uint8(1))
    n_present = _add_node(categories, job, node, f, np.int64(1), np.int64(0))
    for s in range(3):
        left[s] = 0
        for i in range(n_present):
            left[s] += sums[3 * present[i] + s] if member[present[i]] else 0
    _clear_sums(sums, present, n_present)
    _mark_members(member, scratch.sets[0, place], best.split_bin, best.missing_left, np.uint8(0))


@routine
def gain_of_set(categories, job, node, f, left):
    """Gain of the set of a feature that sends ``left`` of a node's totals left."""
    totals, split = job.work.totals[node], (node, f, NO)
    rules, more_l2 = job.constraints, _more_l2(categories, categories.place[f])
    parent = node_score(rules, job.payload, split, totals)
    sums, min_rows = (totals[0], totals[1], totals[2]), job.options.min_samples_leaf
    parts = (left[0], left[1], left[2], sums, parent, min_rows, more_l2)
    return penalized_gain(rules, job.payload, split, *parts)


@routine
def keep_set(categories, job, node, child, f):
    """Give a node the best set of a feature."""
    scratch, place = job.work.categories, categories.place[f]
    size = job.work.candidates[child, f].split_bin
    scratch.node_size[node] = size
    for i in range(size):
        scratch.node_set[node, i] = scratch.sets[child, place, i]


@routine
def _partition(source, target, first, last, column, member):
    """As ``partition_records``, but bins go left that are members."""
    left, right = np.uint64(first), np.uint64(last)
    for i in range(np.uint64(first), np.uint64(last)):
        record = source[i]
        goes_left = np.uint64(member[column[record >> _ROW]])
        target[left] = record
        target[right - _ONE] = record
        left += goes_left
        right -= _ONE - goes_left
    return np.int64(left)


@routine
def partition_by_set(categories, job, node):
    """Move the thread's records of a node to its children; return where the right one begins."""
    work, thread, own = job.work, job.thread, job.nodes[node]
    scratch = work.categories
    member, bins, size = scratch.member[thread], scratch.node_set[node], scratch.node_size[node]
    source, target = work.records[own.depth & 1], work.records[(own.depth + 1) & 1]
    first, last = work.first[thread, node], work.last[thread, node]
    wide = categories.wide_place[categories.place[own.feature]]
    _mark_members(member, bins, size, own.missing_left, np.uint8(1))
    if wide < 0:
        middle = _partition(source, target, first, last, job.table.columns[own.feature], member)
    else:
        middle = _partition(source, target, first, last, categories.wide[wide], member)
    _mark_members(member, bins, size, own.missing_left, np.uint8(0))
    return middle


@routine
def _name(records, column, member, left, leaf):
    n_right = 0
    for i in range(records.size):
        row = records[i] >> _ROW
        goes_right = np.int64(1) - np.int64(member[column[row]])
        leaf[row] = left + goes_right
        n_right += goes_right
    return n_right


@routine
def name_by_set(
    categories, scratch, thread, node, feature, missing_left, columns, records, left, leaf
):
    """Write the leaf of each record's row, a child of the node; return how many go right."""
    member, bins, size = scratch.member[thread], scratch.node_set[node], scratch.node_size[node]
    wide = categories.wide_place[categories.place[feature]]
    _mark_members(member, bins, size, missing_left, np.uint8(1))
    if wide < 0:
        n_right = _name(records, columns[feature], member, left, leaf)
    else:
        n_right = _name(records, categories.wide[wide], member, left, leaf)
    _mark_members(member, bins, size, missing_left, np.uint8(0))
    return n_right
