"""Bins for one tree: quantiles of its hessians, and the bins of all rows.

Features have *ranks*, as in ranks.py, but at most as many as two bytes can number. A *code table*
maps them to the bins of a tree: ``codes[start[k] + rank]`` is the bin of feature k.

One thread sums the hessians of a feature in row order, so floats do not depend on threads. If
ranks, rows and hessians are those of the previous tree, its bins are kept.
"""

import numpy as np

from sumwise.kernels.runtime.jit import inlined, kernel
from sumwise.kernels.runtime.threads import share
from sumwise.kernels.table.binning import cut_by_weight
from sumwise.kernels.table.layout import BLOCK_BITS

_ZERO, _ONE = np.uint64(0), np.uint64(1)
_BYTE = np.uint64(255)
# Rows at a time whose tiles stay in the cache.
_BLOCK = 4096


@kernel
def merge_ranks(thread, n_threads, sync, ranks, rows, start, most, counts, merged):
    """Merge neighboring ranks of a feature, so that there are at most ``most``.

    The new rank of ``rank`` goes to ``merged[start[k] + rank]``; features with few ranks keep them.
    Otherwise a new rank begins where the number of ``rows`` of lower rank reaches the next multiple
    of (all rows) / ``most``. ``counts`` is scratch, with a row for each thread.
    """
    for k in range(thread, start.size - 1, n_threads):
        own, count, rank = merged[start[k] : start[k + 1]], counts[thread], ranks[k]
        if own.size - 1 <= most:
            for r in range(own.size):
                own[r] = r
            continue
        for r in range(own.size):
            count[r] = 0
        for i in range(rows.size):
            count[rank[rows[i]]] += 1
        total = rows.size - count[0]
        before, last_share, number = 0, -1, 0
        own[0] = 0
        for r in range(1, own.size):
            part = before * most // max(total, 1)
            if part > last_share:
                number += 1
                last_share = part
            own[r] = number
            before += count[r]


@kernel
def replace_ranks(thread, n_threads, sync, ranks, start, merged, out):
    """Write the new ranks of all rows, one thread per feature."""
    for k in range(thread, start.size - 1, n_threads):
        own, rank, new = merged[start[k] : start[k + 1]], ranks[k], out[k]
        for row in range(np.uint64(rank.size)):
            new[row] = own[np.uint64(rank[row])]


@inlined
def _sum_by_rank(ranks, rows, hessian, sums):
    """Add up the hessians of rows by rank, in the order of the rows."""
    for i in range(sums.size):
        sums[i] = 0.0
    n = np.uint64(rows.size)
    if n > _ZERO and np.uint64(rows[n - _ONE]) - np.uint64(rows[0]) == n - _ONE:
        first = np.uint64(rows[0])  # rows without a gap need not be looked up
        for i in range(first, first + n):
            sums[np.uint64(ranks[i])] += hessian[i]
    else:
        for i in range(n):
            row = np.uint64(rows[i])
            sums[np.uint64(ranks[row])] += hessian[row]


@inlined
def _drop_empty(sums, present):
    """Move the sums of ranks that have weight to the front; return their number and total.

    Rank 0, the missing values, is left out. ``present`` gets the ranks.
    """
    n, total = _ZERO, 0.0
    for rank in range(_ONE, np.uint64(sums.size)):
        weight = sums[rank]
        if weight > 0.0:
            sums[n] = weight
            present[n] = rank
            total += weight
            n += _ONE
    return np.int64(n), total


@kernel
def find_cuts(
    thread,
    n_threads,
    sync,
    ranks,
    start,
    rows,
    hessian,
    max_bins,
    sums,
    present,
    ends,
    cuts,
    n_cuts,
    codes,
):
    """Cut the ranks of each feature into at most ``max_bins`` bins of about equal weight.

    Ranks are weighted by the hessians of ``rows``; ranks without weight lie in some bin, too.
    ``cuts[k, b]`` is the last rank of bin b + 1, ``n_cuts[k]`` the number of cuts. The bins of the
    ranks of feature k go to ``codes[start[k]:start[k + 1]]``. ``sums``, ``present`` and ``ends``
    are scratch, with a row for each thread.
    """
    for k in range(thread, n_cuts.size, n_threads):
        n_ranks = start[k + 1] - start[k]
        own, kept, last = sums[thread, :n_ranks], present[thread], ends[thread]
        _sum_by_rank(ranks[k], rows, hessian, own)
        n, total = _drop_empty(own, kept)
        n_ends = cut_by_weight(own[:n], total, max_bins, last)
        code = codes[start[k] : start[k + 1]]
        code[0] = 0
        begin = 1
        for b in range(n_ends):
            # Halfway between two ranks with weight.
            cut = (np.int64(kept[last[b]]) + np.int64(kept[last[b] + 1])) >> 1
            cuts[k, b] = cut
            for rank in range(begin, cut + 1):
                code[rank] = b + 1
            begin = cut + 1
        for rank in range(begin, n_ranks):
            code[rank] = n_ends + 1
        n_cuts[k] = n_ends


@kernel
def code_columns(
    thread, n_threads, sync, ranks, start, codes, features, lanes, counts, columns, crowds
):
    """Write the bins of all rows by their ranks, and the crowds of the lanes; see layout.py.

    One thread per feature; ``lanes`` has the lane of each. ``counts`` is scratch of shape
    (n_threads, 256).
    """
    own = counts[thread]
    for k in range(thread, features.size, n_threads):
        code, rank = codes[start[k] : start[k + 1]], ranks[k]
        column = columns[features[k]]
        for block in range(crowds.shape[1]):
            first = block << BLOCK_BITS
            last = min((block + 1) << BLOCK_BITS, column.size)
            own[:] = 0
            for row in range(np.uint64(first), np.uint64(last)):
                b = code[np.uint64(rank[row])]
                column[row] = b
                own[np.uint64(b)] += 1
            most = np.int64(0)
            for b in range(own.size):
                most = max(most, np.int64(own[b]))
            crowds[lanes[k], block] = most


@kernel
def refill_tiles(
    thread, n_threads, sync, columns, features, lanes, tiles, tile_start, tile_words, tile_first
):
    """Replace the codes of some lanes, which ascend, by the bins of their features."""
    begin, end = share(columns.shape[1], thread, n_threads)
    next_k = 0
    for tile in range(tile_start.size):
        n_words, first_k = np.uint64(tile_words[tile]), next_k
        while next_k < lanes.size and lanes[next_k] < tile_first[tile + 1]:
            next_k += 1
        for first in range(begin, end, _BLOCK):
            last = min(first + _BLOCK, end)
            place = tile_start[tile] + tile_words[tile] * first
            own = tiles[place : place + tile_words[tile] * (last - first)]
            for k in range(first_k, next_k):
                position = lanes[k] - tile_first[tile]
                word, shift = np.uint64(position >> 3), np.uint64(8 * (position & 7))
                others = ~(_BYTE << shift)
                column = columns[features[k], first:last]
                for i in range(np.uint64(column.size)):
                    at = n_words * i + word
                    own[at] = (own[at] & others) | (np.uint64(column[i]) << shift)
