"""Bundle sparse features into columns of codes, and put the others into a table of entries.

Codes of a bundle
    Code 0 of a column says that all its features have their default bins. The other bins of a
    feature have a range of codes, from its first code on: those after the default bin, then
    missing, then those before the default bin. So a split sends one range of codes left, or all
    codes but one range: one byte comparison with wrap-around, as for plain bins. Nothing else is
    stored about bundled features; see grow/storage/bundled.py.

Lanes are made of columns. A feature is recovered from the codes of its lane, whether it shares a
column, a lane, or both.
"""

import numpy as np

from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.threads import share
from sumwise.kernels.table.sparse.columns import find_entry

N_CODES = 256


@routine
def find_code_offset(b, n_value_bins, default, has_missing):
    """Which of the codes of its feature a bin has, from 0 on; not for the default bin."""
    if b > default:
        return b - default - 1
    if b == 0:
        return n_value_bins - default
    return n_value_bins - default + has_missing + b - 1


@kernel
def count_row_entries(start, rows, features, counts):
    """Add the number of features that have an entry in each row."""
    for k in range(features.size):
        for e in range(start[features[k]], start[features[k] + 1]):
            counts[rows[e]] += 1


@kernel
def sum_conflicts(thread, n_threads, sync, start, rows, features, counts, conflicts):
    """Count the conflicts of each feature: entries of other features in the rows of its entries.

    This is the degree of its vertex in the graph of the LightGBM paper, without looking at pairs.
    """
    for k in range(thread, features.size, n_threads):
        total = 0
        for e in range(start[features[k]], start[features[k] + 1]):
            total += counts[rows[e]] - 1
        conflicts[k] = total


@kernel
def bundle_features(
    order,
    start,
    rows,
    bins,
    n_value_bins,
    default,
    has_missing,
    n_codes,
    limit,
    columns,
    n_used,
    n_filled,
    n_conflicts,
    bundle,
    first_code,
):
    """Give every feature the first bundle whose conflicts it leaves within the limit.

    Algorithm 3 of the LightGBM paper, with conflicts counted by bundle and kept up to date; and
    algorithm 4, because codes are written at once. If two features have an entry in a row, the
    later one wins. A feature without a bundle gets -1. Before, ``columns`` (n_bundles, n_rows) is
    zero and ``n_used``, the number of codes of a bundle, is one.
    """
    n_rows = columns.shape[1]
    for k in range(order.size):
        f = order[k]
        own_rows, own_bins = rows[start[f] : start[f + 1]], bins[start[f] : start[f + 1]]
        chosen, found = -1, 0
        for j in range(n_used.size):
            if n_used[j] + n_codes[f] > N_CODES:
                continue
            room = limit - n_conflicts[j]
            if n_filled[j] + own_rows.size - room > n_rows:
                continue
            codes = columns[j]
            found = 0
            if n_filled[j] > 0:
                for e in range(own_rows.size):
                    found += codes[own_rows[e]] != 0
                    if found > room:
                        break
            if found <= room:
                chosen = j
                break
        bundle[f] = chosen
        if chosen < 0:
            continue
        first_code[f] = n_used[chosen]
        n_used[chosen] += n_codes[f]
        n_conflicts[chosen] += found
        n_filled[chosen] += own_rows.size - found
        codes = columns[chosen]
        for e in range(own_rows.size):
            offset = find_code_offset(
                np.int64(own_bins[e]), n_value_bins[f], default[f], has_missing[f]
            )
            codes[own_rows[e]] = first_code[f] + offset


@kernel
def fill_plain_columns(
    thread, n_threads, sync, start, rows, bins, default, features, place, columns
):
    """Write the bins of features to columns of their own."""
    for k in range(thread, features.size, n_threads):
        f, column = features[k], columns[place[k]]
        column[:] = default[f]
        for e in range(start[f], start[f + 1]):
            column[rows[e]] = bins[e]


@kernel
def find_missing_bins(thread, n_threads, sync, start, bins, has_missing):
    """Write whether a feature has an entry in bin 0."""
    for f in range(thread, has_missing.size, n_threads):
        found = 0
        for e in range(start[f], start[f + 1]):
            found |= bins[e] == 0
        has_missing[f] = found


@kernel
def count_crowded_bins(thread, n_threads, sync, start, bins, features, counts, most):
    """Write the most entries of each feature that share a bin; ``counts`` is (n_threads, 256)."""
    own = counts[thread]
    for k in range(thread, features.size, n_threads):
        own[:] = 0
        for e in range(start[features[k]], start[features[k] + 1]):
            own[bins[e]] += 1
        highest = 0
        for b in range(256):
            highest = max(highest, own[b])
        most[k] = highest


@kernel
def count_member_entries(thread, n_threads, sync, start, rows, members, row_start):
    """Write to ``row_start[row + 1]`` how many entries the members have in a row.

    It is zero before. Threads share the rows.
    """
    first, last = share(row_start.size - 1, thread, n_threads)
    for k in range(members.size):
        begin = find_entry(rows, start[members[k]], start[members[k] + 1], first)
        for e in range(begin, find_entry(rows, begin, start[members[k] + 1], last)):
            row_start[np.int64(rows[e]) + 1] += 1


@kernel
def fill_entries(
    thread,
    n_threads,
    sync,
    start,
    rows,
    bins,
    n_value_bins,
    default,
    members,
    place,
    row_start,
    entries,
    codes,
):
    """Write the entries of rows, and the codes of the entries of features.

    ``row_start`` is where the entries of a row begin; it is advanced to where they end.
    """
    first, last = share(row_start.size - 1, thread, n_threads)
    for k in range(members.size):
        f = members[k]
        begin = find_entry(rows, start[f], start[f + 1], first)
        for e in range(begin, find_entry(rows, begin, start[f + 1], last)):
            b = np.int64(bins[e])
            entries[row_start[rows[e]]] = place[k] + b
            row_start[rows[e]] += 1
            codes[e] = 1 + find_code_offset(b, n_value_bins[f], default[f], np.int64(1))
