"""Sparse features: several share a column of codes, or their entries are kept apart.

``kernels.table.layout`` says what the arrays hold. Histograms of columns are those of dense
features; entries are summed by row, and the default bin gets the rest of the node's sums.
"""

import numpy as np

from sumwise.kernels.grow.candidates import count_rows, feature_bins, is_drawn, note_candidate
from sumwise.kernels.grow.gain import find_limits, split_gain
from sumwise.kernels.grow.layout import CHILD, PACKED_ROWS, SCORED
from sumwise.kernels.grow.packed import pack_sums, unpack_sums
from sumwise.kernels.grow.partition import (
    child_records,
    count_span,
    is_left_code,
    move_span,
    name_records,
    node_records,
)
from sumwise.kernels.grow.plan import ENTRIES_BEGIN, FIRST, LAST, SUMMED
from sumwise.kernels.grow.storage import dense
from sumwise.kernels.runtime.jit import NO, ZERO, inlined, routine, verb
from sumwise.kernels.runtime.threads import prefetch_far
from sumwise.kernels.table.sparse.columns import find_entry

_ROW = np.uint64(32)
_LOW_16 = np.uint64(0xFFFF)
_ONE = np.uint64(1)
# Rows are scattered: where their entries begin is fetched ahead, and the entries a little later.
_FAR, _NEAR = np.uint64(32), np.uint64(8)

take_side = dense.take_side
take_level_side = dense.take_level_side
take_level_gain = dense.take_level_gain

# Histograms of entries


@routine
def _add_words(row_start, entries, records, sums):
    """Add packed words to the sums of entries; return the sums of all records."""
    total_g, total_h = np.int64(0), np.int64(0)
    last = np.uint64(records.size - 1)
    for i in range(np.uint64(records.size)):
        prefetch_far(row_start, records[min(i + _FAR, last)] >> _ROW)
        prefetch_far(entries, np.uint64(row_start[records[min(i + _NEAR, last)] >> _ROW]))
        record = records[i]
        row = record >> _ROW
        g = np.int64(np.int16((record >> np.uint64(16)) & _LOW_16))
        h = np.int64(record & _LOW_16)
        total_g += g
        total_h += h
        word = pack_sums(g, h, np.int64(1))
        for e in range(np.uint64(row_start[row]), np.uint64(row_start[row + _ONE])):
            sums[np.uint64(entries[e])] += word
    return total_g, total_h


@routine
def _add_triples(row_start, entries, records, exact, gradients, hessians, sums):
    """Add gradients, hessians and rows to the sums of entries, three numbers each."""
    total_g, total_h = np.int64(0), np.int64(0)
    for i in range(np.uint64(records.size)):
        record = records[i]
        row = record >> _ROW
        if exact:
            g, h = gradients[row], hessians[row]
        else:
            g = np.int64(np.int16((record >> np.uint64(16)) & _LOW_16))
            h = np.int64(record & _LOW_16)
        total_g += g
        total_h += h
        for e in range(np.uint64(row_start[row]), np.uint64(row_start[row + _ONE])):
            place = np.uint64(3) * np.uint64(entries[e])
            sums[place] += g
            sums[place + _ONE] += h
            sums[place + np.uint64(2)] += 1
    return total_g, total_h


@inlined
def _sums_as_words(job, node):
    """Whether the sums of a node's entries fit packed words."""
    return not job.exact and (job.nodes[node].packed or job.table.bundles.crowd <= PACKED_ROWS)


@verb
def build_histogram(job, item, number):
    """Sum the rows of an item by entry, aside; the sums of all rows come last."""
    work, bundles, payload = job.work, job.table.bundles, job.payload
    own = work.plan.items[item]
    node, first, last = own[SUMMED], own[FIRST], own[LAST]
    sums = work.bundles.sums[item]
    total_g, total_h = np.int64(0), np.int64(0)
    if first < last:
        arrays = (bundles.row_start, bundles.entries, node_records(job, node)[first:last])
        if _sums_as_words(job, node):
            total_g, total_h = _add_words(*arrays, sums)
        else:
            exact = (job.exact, payload.exact_gradient, payload.exact_hessian)
            total_g, total_h = _add_triples(*arrays, *exact, sums)
    totals = sums[sums.size - 3 :]
    totals[0], totals[1], totals[2] = total_g, total_h, last - first
    return ZERO


@routine
def _move_words(sums, first, n_bins, totals, default, packed, target):
    """Move packed sums of a feature's entries to its histogram, and clear them."""
    rest = pack_sums(totals[0], totals[1], totals[2]) if packed else np.int64(0)
    rest_g, rest_h, rest_n = totals
    for b in range(n_bins):
        word = np.int64(0)
        for t in range(sums.shape[0]):
            word += sums[t, first + b]
            sums[t, first + b] = 0
        if packed:
            target[b] = word
            rest -= word
        else:
            g, h, n = unpack_sums(word)
            target[b], target[b + n_bins], target[b + 2 * n_bins] = g, h, n
            rest_g -= g
            rest_h -= h
            rest_n -= n
    if packed:
        target[default] += rest
    else:
        target[default] += rest_g
        target[default + n_bins] += rest_h
        target[default + 2 * n_bins] += rest_n


@routine
def _move_triples(sums, first, n_bins, totals, default, target):
    """The same with three numbers per bin."""
    for stat in range(3):
        rest = totals[stat]
        for b in range(n_bins):
            total = np.int64(0)
            for t in range(sums.shape[0]):
                total += sums[t, 3 * (first + b) + stat]
                sums[t, 3 * (first + b) + stat] = 0
            target[stat * n_bins + b] = total
            rest -= total
        target[stat * n_bins + default] += rest


@routine
def _clear_sums(sums, first, n_bins, as_words):
    width = 1 if as_words else 3
    for t in range(sums.shape[0]):
        sums[t, width * first : width * (first + n_bins)] = 0


@verb
def merge_parts(job, item, end, begin, last):
    """Move the sums of all items to the histogram; rows without an entry have the default bin."""
    work, table, bundles, plan = job.work, job.table, job.table.bundles, job.work.plan
    entries_begin = plan.rules[ENTRIES_BEGIN]
    if last <= entries_begin:
        return ZERO
    node, sums = plan.items[item, SUMMED], work.bundles.sums[item:end]
    as_words, packed = _sums_as_words(job, node), job.nodes[node].packed != 0
    total_g, total_h, total_n = np.int64(0), np.int64(0), np.int64(0)
    for t in range(sums.shape[0]):
        total_g += sums[t, sums.shape[1] - 3]
        total_h += sums[t, sums.shape[1] - 2]
        total_n += sums[t, sums.shape[1] - 1]
    totals = (total_g, total_h, total_n)
    histogram = work.histograms[job.nodes[node].slot]
    for k in range(max(begin - entries_begin, 0), last - entries_begin):
        f = bundles.members[k]
        if not is_drawn(job, f):
            _clear_sums(sums, bundles.place[k], table.n_value_bins[f] + 1, as_words)
            continue
        n_bins, default = table.n_value_bins[f] + 1, bundles.coding[f, 2]
        target = histogram[3 * table.bin_start[f] : 3 * table.bin_start[f + 1]]
        if as_words:
            _move_words(sums, bundles.place[k], n_bins, totals, default, packed, target)
        else:
            _move_triples(sums, bundles.place[k], n_bins, totals, default, target)
    return ZERO


# Scores


@routine
def _count_entries(job, node, f):
    """Rows of a node that are not in the default bin of a feature."""
    start, n_bins = 3 * job.table.bin_start[f], job.table.n_value_bins[f] + 1
    bins = job.work.histograms[job.nodes[node].slot, start : start + 3 * n_bins]
    default, n_rows = job.table.bundles.coding[f, 2], job.work.totals[node, 2]
    if job.nodes[node].packed:
        return n_rows - unpack_sums(bins[default])[2]
    return n_rows - bins[2 * n_bins + default]


@routine
def _drop_hopeless(job, child, first, last, begin, end):
    """Drop those of some features that no node of [first, last) can be split on.

    One side of any split has only rows outside of the default bin: if these are too few, no split
    is allowed.
    """
    work, nodes, min_rows = job.work, job.nodes, job.options.min_samples_leaf
    allowed = work.allowed[CHILD + child]
    for position in range(begin, end):
        f = work.plan.features[position]
        if allowed[f] and is_drawn(job, f):
            hopeless = True
            for node in range(first, last):
                if hopeless and nodes[node].splittable:
                    hopeless = _count_entries(job, node, f) < min_rows
            if hopeless:
                allowed[f] = 0


@routine
def _score_pairs(job, node, child, begin, end):
    """Score features with two bins of values: they have one split, and there are many.

    Those with missing rows in the node are left to the general case.
    """
    work, table, totals = job.work, job.table, job.work.totals[node]
    for position in range(begin, end):
        f = work.plan.features[position]
        if table.n_value_bins[f] == 2 and work.allowed[CHILD + child, f] and is_drawn(job, f):
            if count_rows(job, node, f, ZERO) > 0:
                continue
            bins = feature_bins(job, node, f)
            if job.nodes[node].packed:
                left = unpack_sums(bins[1])
            else:
                left = (bins[1], bins[4], bins[7])
            gain = split_gain(find_limits(job, node, f), left, totals)
            note_candidate(job, child, f, (gain, ZERO + 1, NO))
            work.allowed[CHILD + child, f] = SCORED


@verb
def score_node(job, node, child, begin, end):
    """Drop and score what is simple; the other features are scored as dense ones."""
    _drop_hopeless(job, child, node, node + 1, begin, end)
    _score_pairs(job, node, child, begin, end)
    return ZERO


@verb
def score_level(job, first, last, begin, end):
    """Drop features that no node can be split on; the others are scored as dense ones."""
    _drop_hopeless(job, ZERO, first, last, begin, end)
    return ZERO


# Splits by code


@routine
def find_left_codes(coding, n_value_bins, split_bin, missing_left):
    """Return (skip, bound) for ``is_left_code``.

    The codes of a feature begin with the bins after the default one; then come missing and the bins
    before the default one. All other codes of the column mean the default bin.
    """
    first, default, has_missing = coding[1], coding[2], coding[3]
    middle = first + n_value_bins - default  # where missing lies, and bin 1 behind it
    if default == 0:
        if missing_left:
            return np.uint8(middle), np.uint8(255 - (n_value_bins - split_bin))
        return np.uint8(first), np.uint8(split_bin - 1)
    behind = middle + has_missing
    if split_bin < default:
        begin = middle if missing_left else behind
        return np.uint8(begin), np.uint8(behind + split_bin - 1 - begin)
    # Right go the bins after the split, and missing if it does: one range; left all other codes.
    begin, end = first + split_bin - default, middle if missing_left else behind
    return np.uint8(end), np.uint8(255 - (end - begin))


@routine
def _find_entries(bundles, f, records):
    """The entries of a feature in the range of rows of records, which ascend or descend."""
    one, other = np.int64(records[0] >> _ROW), np.int64(records[records.size - 1] >> _ROW)
    first, last = bundles.start[f], bundles.start[f + 1]
    begin = find_entry(bundles.rows, first, last, min(one, other))
    return begin, find_entry(bundles.rows, begin, last, max(one, other) + 1)


@routine
def _write_codes(bundles, begin, end, column):
    for e in range(begin, end):
        column[bundles.rows[e]] = bundles.codes[e]


@routine
def _clear_codes(bundles, begin, end, column):
    for e in range(begin, end):
        column[bundles.rows[e]] = 0


@inlined
def _find_left(job, node):
    """Return (skip, bound) of the codes that a node's split sends left."""
    own = job.nodes[node]
    coding, n_value_bins = job.table.bundles.coding[own.feature], job.table.n_value_bins
    split = np.int64(own.split_bin), own.missing_left != 0
    return find_left_codes(coding, n_value_bins[own.feature], *split)


@inlined
def _take_column(job, node, first, last):
    """Return the codes of the feature that a node is split on, and which entries were written.

    Other parts of the node have other rows, so the threads need not wait for each other.
    """
    bundles, f = job.table.bundles, job.nodes[node].feature
    column, begin, end = job.work.bundles.column, ZERO, ZERO
    if bundles.coding[f, 0] >= 0:
        column = job.table.columns[bundles.coding[f, 0]]
    elif first < last:
        begin, end = _find_entries(bundles, f, node_records(job, node)[first:last])
        _write_codes(bundles, begin, end, column)
    return column, begin, end


@verb
def count_left(job, node, first, last):
    """Return how many of the records [first, last) of a node go left."""
    column, begin, end = _take_column(job, node, first, last)
    n_left = count_span(node_records(job, node)[first:last], column, *_find_left(job, node))
    _clear_codes(job.table.bundles, begin, end, column)
    return n_left


@verb
def move_records(job, node, first, last, left, right, step):
    """Move a span of a node's records to its children; return where the next would go left."""
    span = (first, last, left, right, step)
    column, begin, end = _take_column(job, node, first, last)
    places = (node_records(job, node), child_records(job, node), span)
    middle = move_span(*places, column, *_find_left(job, node))
    _clear_codes(job.table.bundles, begin, end, column)
    return middle


@routine
def _name_entries(bundles, f, records, skip, bound, left, leaf):
    """As ``name_records``, by the entries of a feature.

    Threads name the leaves of several nodes at once, so there is no column to write codes to.
    """
    begin, end = _find_entries(bundles, f, records)
    ascends = records[0] <= records[records.size - 1]
    e, n_right = begin if ascends else end - 1, 0
    for i in range(records.size):
        row = np.int64(records[i] >> _ROW)
        if ascends:
            while e < end and bundles.rows[e] < row:
                e += 1
        else:
            while e >= begin and bundles.rows[e] > row:
                e -= 1
        has_entry = begin <= e < end and bundles.rows[e] == row
        code = bundles.codes[e] if has_entry else np.uint8(0)
        is_right = np.int64(not is_left_code(code, skip, bound))
        leaf[row] = left + is_right
        n_right += is_right
    return n_right


@verb
def name_leaves(job, node, first, last):
    """Write the leaf of each row of a node's records [first, last); return how many go right."""
    bundles, f, left = job.table.bundles, job.nodes[node].feature, np.int64(job.nodes[node].left)
    records, (skip, bound) = node_records(job, node)[first:last], _find_left(job, node)
    column = bundles.coding[f, 0]
    if column >= 0:
        codes = job.table.columns[column]
        return name_records(records, codes, skip, bound, left, job.work.leaf)
    return _name_entries(bundles, f, records, skip, bound, left, job.work.leaf)


@routine
def _read_code(bundles, columns, f, row):
    """The code of a row: of the column of a feature, or among its entries."""
    column = bundles.coding[f, 0]
    if column >= 0:
        return columns[column, row]
    end = bundles.start[f + 1]
    e = find_entry(bundles.rows, bundles.start[f], end, np.int64(row))
    if e < end and bundles.rows[e] == row:
        return bundles.codes[e]
    return np.uint8(0)


@inlined
def goes_left(table, tree, node, row):
    """Whether a row of the table goes left in a node of a finished tree."""
    f = tree.feature[node]
    split = np.int64(tree.split_bin[node]), tree.missing_left[node] != 0
    skip, bound = find_left_codes(table.bundles.coding[f], table.n_value_bins[f], *split)
    return is_left_code(_read_code(table.bundles, table.columns, f, row), skip, bound)
