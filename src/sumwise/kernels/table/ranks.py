"""Ranks of values: sort columns, and find the place of values among thresholds.

The rank of a value is 1 + the number of thresholds of its feature below it, 0 for a missing value.
A ``matrix`` is as in binning.py.
"""

import numpy as np

from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.sort import MISSING, bits_of_key, sort_keys
from sumwise.kernels.runtime.threads import share
from sumwise.kernels.table.binning import find_bin

_ONE, _ROW = np.uint64(1), np.uint64(32)


@kernel
def rank_keys(thread, n_threads, sync, keys, rows, spare_keys, numbers, counters, ranks, n_values):
    """Sort columns of keys, one thread per column, and write the ranks of their rows.

    ``keys[k]`` has the keys of ``rows`` in column k. Afterwards it begins with the bits of the
    distinct values in ascending order, and ``n_values[k]`` is their number. The ranks go to
    ``ranks[k, row]``, 0 for missing values. The other arrays are scratch, with a row for each
    thread: ``numbers`` (n_threads, 2, n_rows) for row numbers.
    """
    n_bits = 8 * keys.itemsize
    for k in range(thread, n_values.size, n_threads):
        own, other = keys[k], spare_keys[thread]
        row, other_row = numbers[thread, 0], numbers[thread, 1]
        for i in range(rows.size):
            row[i] = rows[i]
        if sort_keys(own, other, row, other_row, True, counters[thread]):
            own, row = other, other_row
        values, out = keys[k], ranks[k]
        missing = own.dtype.type(MISSING)
        rank, last = np.uint64(0), missing
        for i in range(np.uint64(rows.size)):
            key = own[i]
            if key == missing:
                out[row[i]] = 0
                continue
            if key != last:
                values[rank] = bits_of_key(key, n_bits)
                rank += _ONE
                last = key
            out[row[i]] = rank
        n_values[k] = rank


@kernel
def order_by_rank(thread, n_threads, sync, ranks, is_ranked, rows, starts, order):
    """Write ``rank << 32 | row`` of the rows in ascending order, for each feature that has ranks.

    ``starts`` (n_threads, 1 + the highest rank + 1) is scratch.
    """
    for f in range(thread, is_ranked.size, n_threads):
        if is_ranked[f] == 0:
            continue
        own, start = ranks[f], starts[thread]
        start[:] = 0
        for i in range(rows.size):
            start[own[rows[i]] + 1] += 1
        for rank in range(1, start.size):
            start[rank] += start[rank - 1]
        for i in range(rows.size):
            rank = own[rows[i]]
            order[f, start[rank]] = np.uint64(rank) << _ROW | np.uint64(rows[i])
            start[rank] += 1


@kernel
def map_to_ranks(
    thread, n_threads, sync, matrix, first, rows, begin, features, thresholds, start, ranks
):
    """Write the ranks of some rows; the matrix begins with row ``first`` of the data.

    The rank of ``features[k]`` in row i goes to ``ranks[k, begin + i]``. The thresholds are
    ``thresholds[start[k]:start[k + 1]]``.
    """
    own_first, own_last = share(rows.size, thread, n_threads)
    for k in range(features.size):
        offset = np.int64(features[k]) * matrix.column_stride
        out = ranks[k]
        for i in range(own_first, own_last):
            row = np.int64(rows[i])
            value = np.float64(matrix.values[offset + (row - first) * matrix.row_stride])
            out[begin + row] = find_bin(value, thresholds, start[k], start[k + 1])
