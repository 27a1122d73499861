"""The best split of a node, where the table is sparse.

The splits are those of split.py. What a node costs depends on its entries, not on its rows.
"""

import numpy as np

from sumwise.kernels.forest.bins import list_touched
from sumwise.kernels.forest.cuts import draw_value, find_kept_bin, keep_cut
from sumwise.kernels.forest.drawing import (
    draw_feature,
    note_constant,
    put_back,
    recall_constants,
)
from sumwise.kernels.forest.entries import (
    chain_entries,
    find_extremes,
    keep_entries,
    list_chain,
    list_column,
    unchain_entries,
)
from sumwise.kernels.forest.layout import CHUNK, WITH_LARGER
from sumwise.kernels.forest.split import between, examine_bins
from sumwise.kernels.forest.targets import add_entries, scan_entries, try_cut_of_entries
from sumwise.kernels.runtime.jit import ZERO, inlined, merged
from sumwise.kernels.runtime.random import extend_key


@inlined
def _examine_any(table, target, options, work, node, f, n_entries, key, best):
    """Write the best split on a feature to the node if it gains more than ``best``.

    Returns the number of bins of the node, and the gain of the best split so far.
    """
    n_rows, default = node.last - node.first, table.default[f]
    add_entries(target, work, n_entries, n_rows, default)
    n_present = list_touched(work.touched, work.present)
    if options.min_rows_leaf > 1:
        for i in range(n_present):
            work.counts[work.present[i]] = 0
        for i in range(n_entries):
            work.counts[work.entries.own_bin[i]] += 1
        if n_entries < n_rows:
            work.counts[default] = n_rows - n_entries
    return n_present, examine_bins(
        table, target, options, work, node, f, ZERO, n_present, key, best
    )


@inlined
def _examine_cut(table, target, work, node, f, n_entries, key, best):
    """The same for a random cut, if all is plain; also returns whether the split is perfect."""
    default, centers, is_perfect = table.default[f], table.centers[f], False
    low, high = find_extremes(work, n_entries, node.last - node.first, default)
    if low < high:
        value = draw_value(extend_key(key, work.order.size + f), centers, low, high)
        cut = (centers, value, low, high)
        gain, is_perfect = try_cut_of_entries(target, work, n_entries, default, cut)
        if gain > best:
            best = gain
            node.feature, node.missing_left = f, WITH_LARGER
            keep_cut(work, value, low, high)
    return np.int64(1) + (low < high), best, is_perfect


@inlined
def _examine_plain(table, target, work, node, f, n_entries, best):
    """The same for the best cut, if all is plain."""
    n_rows = node.last - node.first
    n_bins, gain, low, high, is_perfect = scan_entries(
        target, work, n_entries, n_rows, table.default[f]
    )
    if gain > best:
        best = gain
        node.feature, node.missing_left = f, WITH_LARGER
        node.split_bin = np.uint8(between(low, high))
    return n_bins, best, is_perfect


@merged
def find_sparse_split(table, target, options, work, node, key):
    """Write the best split of a node to it, as ``find_byte_split`` does."""
    order, head, n_rows = work.order, work.entries.head, node.last - node.first
    recall_constants(work, np.int64(node.n_constant))
    n_left = chain_entries(table, work, node)
    is_chained = n_left >= 0
    best, found, is_done, n_seen = -np.inf, False, False, np.int64(0)
    while (
        n_seen < order.size
        and (n_seen < options.n_drawn or not found)
        and not is_done
        and n_left != 0
    ):
        f = draw_feature(key, order, work.swaps, n_seen)
        n_seen += 1
        if head[f] < 0 if is_chained else work.is_constant[f]:
            continue
        n_left -= 1
        n_entries = list_chain(work, f) if is_chained else list_column(table, work, node, f)
        before, n_bins, is_perfect = best, np.int64(1), False
        if n_entries > 0:
            is_plain = n_rows <= CHUNK and options.is_plain and table.is_plain[f]
            if is_plain and options.random_cuts:
                n_bins, best, is_perfect = _examine_cut(
                    table, target, work, node, f, n_entries, key, best
                )
            elif is_plain:
                n_bins, best, is_perfect = _examine_plain(
                    table, target, work, node, f, n_entries, best
                )
            else:
                n_bins, best = _examine_any(
                    table, target, options, work, node, f, n_entries, key, best
                )
        if best > before:
            keep_entries(work, n_entries)
        if n_bins > 1:
            found = True
            # No other split can be better; see find_byte_split.
            is_done |= options.is_plain and (n_rows == 2 or (is_perfect and options.is_class))
        elif not is_chained:
            note_constant(work, f)
    if options.random_cuts and options.is_plain and n_rows <= CHUNK and best > -np.inf:
        if table.is_plain[node.feature]:
            node.split_bin = find_kept_bin(work, table.centers[node.feature])
    put_back(order, work.swaps, n_seen)
    if is_chained:
        unchain_entries(table, work, node)
    node.gain = best
    node.n_constant = work.n_constant[0]
