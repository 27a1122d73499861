"""The entries of a node's rows, where the table is sparse.

Few rows of a node have an entry of a given feature, and most features of a small node are constant
because no row has one. In a large node, the column of a feature is read, and entries of other rows
are skipped. In a small node, all entries of its rows are chained by feature first, so that features
without one cost nothing. All sums are exact, so the rows of a node have no order.
"""

import numpy as np

from sumwise.kernels.grow.partition import is_left_code, left_range
from sumwise.kernels.runtime.jit import NONE, inlined, merged

_ONE = np.uint64(1)


@merged
def _count_entries(table, work, first, last):
    """Count the entries of the rows of a node."""
    n_entries = np.int64(0)
    for i in range(first, last):
        row = np.uint64(work.rows[i])
        n_entries += table.row_start[row + _ONE] - table.row_start[row]
    return n_entries


@merged
def chain_entries(table, work, node):
    """Chain the entries of a small node by feature.

    Returns the number of features that have an entry; -1 if the node is not small.
    """
    entries, first, last = work.entries, node.first, node.last
    if last - first > entries.chain.size:
        return NONE
    if _count_entries(table, work, first, last) > entries.chain.size:
        return NONE
    n, n_features = np.uint64(0), np.int64(0)
    for i in range(first, last):
        row = work.rows[i]
        begin, end = table.row_start[np.uint64(row)], table.row_start[np.uint64(row) + _ONE]
        for e in range(np.uint64(begin), np.uint64(end)):
            f = np.uint64(table.row_features[e])
            before = entries.head[f]
            entries.chain[n] = before
            entries.chain_row[n] = row
            entries.chain_bin[n] = table.row_bins[e]
            entries.head[f] = n
            n += _ONE
            n_features += before < 0
    return n_features


@merged
def unchain_entries(table, work, node):
    """Forget the chains of a small node."""
    for i in range(node.first, node.last):
        row = np.uint64(work.rows[i])
        begin, end = table.row_start[row], table.row_start[row + _ONE]
        for e in range(np.uint64(begin), np.uint64(end)):
            work.entries.head[np.uint64(table.row_features[e])] = -1


@merged
def list_chain(work, f):
    """Copy the chained entries of a feature to those that are examined; return their number."""
    entries, n = work.entries, np.uint64(0)
    i = entries.head[f]
    while i >= 0:
        place = np.uint64(i)
        entries.own_row[n], entries.own_bin[n] = entries.chain_row[place], entries.chain_bin[place]
        n += _ONE
        i = entries.chain[place]
    return np.int64(n)


@merged
def list_column(table, work, node, f):
    """Copy a feature's entries in a node to those that are examined; return their number."""
    entries, n = work.entries, np.uint64(0)
    first, n_rows = np.uint32(node.first), np.uint32(node.last - node.first)
    for e in range(np.uint64(table.start[f]), np.uint64(table.start[f + 1])):
        row = table.rows[e]
        entries.own_row[n], entries.own_bin[n] = row, table.bins[e]
        # Unsigned: rows before the node wrap around.
        n += np.uint64(np.uint32(entries.place[np.uint64(row)] - first) < n_rows)
    return np.int64(n)


@merged
def keep_entries(work, n_entries):
    """Keep the entries that are examined: they are those of the best feature so far."""
    entries = work.entries
    for i in range(np.uint64(n_entries)):
        entries.best_row[i], entries.best_bin[i] = entries.own_row[i], entries.own_bin[i]
    entries.n_best[0] = n_entries


@inlined
def find_extremes(work, n_entries, n_rows, default):
    """Return the lowest and the highest bin of the rows of a node."""
    own_bin = work.entries.own_bin
    low = high = np.uint8(own_bin[0] if n_entries == n_rows else default)
    for i in range(np.uint64(n_entries)):
        low, high = min(low, own_bin[i]), max(high, own_bin[i])
    return np.int64(low), np.int64(high)


@inlined
def _move(rows, place, row, to):
    """Exchange a row with the one at a place."""
    other, own = rows[to], place[row]
    rows[own], place[other] = other, own
    rows[to], place[row] = row, to


@merged
def partition_entries(table, work, node, number, is_known):
    """Move the rows that go left before the others; return where the others begin.

    The entries of the node's feature are known, unless other nodes were settled in the meantime.
    Rows in the default bin stay where they are.
    """
    entries, feature = work.entries, np.int64(node.feature)
    if not is_known:
        keep_entries(work, list_column(table, work, node, feature))
    skip, bound = left_range(node.split_bin, node.missing_left)
    is_default_left = is_left_code(table.default[feature], skip, bound)
    left, right = node.first, node.last
    for i in range(entries.n_best[0]):
        row = entries.best_row[i]
        if is_left_code(entries.best_bin[i], skip, bound) == is_default_left:
            continue
        if is_default_left:
            right -= 1
            _move(work.rows, entries.place, row, np.uint32(right))
        else:
            _move(work.rows, entries.place, row, np.uint32(left))
            left += 1
    return right if is_default_left else left
