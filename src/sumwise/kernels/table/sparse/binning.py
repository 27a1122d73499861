"""Find the bins of sparse columns and map what is stored to them.

A sparse matrix comes by column: the entries of column f are ``start[f]`` up to ``start[f + 1]``, in
the rows ``index[...]``, which ascend; :func:`read_stored` gives their values. All other rows have a
zero, or a missing value. What is found is the same, bit for bit, as binning.py finds in the dense
matrix.
"""

import numpy as np

from sumwise.kernels.runtime.jit import inlined, kernel, routine
from sumwise.kernels.runtime.sort import bits_of_key, key_of_float, sort_keys
from sumwise.kernels.table.binning import add_distinct, cut_by_weight, merge_equal
from sumwise.kernels.table.sparse.columns import read_stored

_ONE = np.uint64(1)


@kernel
def find_sparse_distinct(
    thread,
    n_threads,
    sync,
    start,
    index,
    values,
    codes,
    first,
    in_rows,
    n_rows,
    zeros,
    limit,
    tables,
    distinct,
    n_distinct,
):
    """Collect the distinct values of columns from ``first`` on, until there are more than a limit.

    Only rows count that ``in_rows`` marks; there are ``n_rows``. ``zeros`` tells that places which
    are not stored have a zero. Writes to ``distinct`` (n_columns, limit + 1) and ``n_distinct``.
    ``tables`` (n_threads, HASH_SIZE) is scratch.
    """
    table = tables[thread]
    for k in range(thread, n_distinct.size, n_threads):
        f = first + k
        for i in range(table.size):
            table[i] = np.nan
        count, n_present = 0, 0
        for e in range(start[f], start[f + 1]):
            if in_rows[index[e]]:
                n_present += 1
                value = read_stored(values, codes, e)
                if count <= limit and add_distinct(table, value):
                    distinct[k, count] = value
                    count += 1
        zero = distinct.dtype.type(0)
        if zeros and n_present < n_rows and count <= limit and add_distinct(table, zero):
            distinct[k, count] = zero
            count += 1
        n_distinct[k] = count


@routine
def _insert_zero(keys, weights, n_distinct, key, weight):
    """Put a key into sorted distinct keys, with its weight."""
    place = n_distinct
    while place > 0 and keys[place - 1] > key:
        keys[place], weights[place] = keys[place - 1], weights[place - 1]
        place -= 1
    keys[place], weights[place] = key, weight


@kernel
def cut_sparse_columns(
    thread,
    n_threads,
    sync,
    start,
    index,
    values,
    codes,
    features,
    place,
    n_sample,
    sample_weight,
    zeros,
    max_bins,
    keys,
    weights,
    counters,
    marks,
    neighbors,
    n_ends,
):
    """Sort what is stored of some columns in the rows of a sample, and cut it by weight.

    ``place`` is the place of a row in the sample, -1 for others. Writes the same as
    ``binning.cut_columns``; the other arrays are scratch, with a row for each thread.
    """
    n_bits = 8 * keys.itemsize
    weighted = sample_weight.size > 0
    for k in range(thread, features.size, n_threads):
        f = features[k]
        own, other = keys[thread, 0], keys[thread, 1]
        mass, other_mass = weights[thread, 0], weights[thread, 1]
        mark = marks[thread]
        n = 0
        for e in range(start[f], start[f + 1]):
            p = place[index[e]]
            value = read_stored(values, codes, e)
            if p >= 0 and not (zeros and value == 0):
                own[n] = key_of_float(value, n_bits)
                if weighted:
                    mass[n] = sample_weight[p]
                    mark[p] = 1
                n += 1
        zero_weight = np.float64(n_sample - n)
        if weighted:
            zero_weight = 0.0
            for p in range(n_sample):  # in the order of the rows, as the dense way adds them
                if mark[p] == 0:
                    zero_weight += sample_weight[p]
                mark[p] = 0
        n_distinct = 0
        if n > 0:
            sorted_keys, sorted_mass = own[:n], mass[:n]
            if sort_keys(
                sorted_keys, other[:n], sorted_mass, other_mass[:n], weighted, counters[thread]
            ):
                own, other = other, own
                mass, other_mass = other_mass, mass
            n_distinct, _ = merge_equal(own[:n], mass[:n], weighted)
        if zeros and n_sample > n:
            _insert_zero(
                own, mass, n_distinct, key_of_float(values.dtype.type(0), n_bits), zero_weight
            )
            n_distinct += 1
        total = 0.0
        for i in range(n_distinct):
            total += mass[i]
        ends = counters[thread]  # free again
        n_ends[k] = cut_by_weight(mass[:n_distinct], total, max_bins, ends)
        for i in range(n_ends[k]):
            neighbors[k, 0, i] = bits_of_key(own[ends[i]], n_bits)
            neighbors[k, 1, i] = bits_of_key(own[ends[i] + _ONE], n_bits)


@inlined
def find_bin(value, thresholds, first, last):
    """Return the bin of a value whose feature has the thresholds from ``first`` up to ``last``."""
    low, high = first, last
    while low < high:
        middle = (low + high) >> 1
        if thresholds[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low - first + 1 if value == value else 0


@kernel
def map_sparse_bins(
    thread,
    n_threads,
    sync,
    start,
    index,
    values,
    codes,
    first_threshold,
    thresholds,
    usual,
    bins,
    n_unusual,
    extremes,
):
    """Write the bins of stored values: 1 + the number of thresholds below; 0 for a missing value.

    Those of column f are from ``first_threshold[f]`` on. Writes how many stored values have not the
    usual bin of their column, and the lowest and highest bin of those (2, n_features).
    """
    for f in range(thread, n_unusual.size, n_threads):
        first, last = first_threshold[f], first_threshold[f + 1]
        count, lowest, highest = 0, 255, 0
        for e in range(start[f], start[f + 1]):
            b = find_bin(read_stored(values, codes, e), thresholds, first, last)
            bins[e] = b
            if b != usual[f]:
                count += 1
                lowest, highest = min(lowest, b), max(highest, b)
        n_unusual[f] = count
        extremes[0, f], extremes[1, f] = lowest, highest


@kernel
def keep_unusual(
    thread, n_threads, sync, start, index, bins, usual, first_row, place, kept_rows, kept_bins
):
    """Copy rows and bins other than the usual one, those of column f from ``place[f]`` on."""
    for f in range(thread, usual.size, n_threads):
        p = place[f]
        for e in range(start[f], start[f + 1]):
            if bins[e] != usual[f]:
                kept_rows[p] = first_row + index[e]
                kept_bins[p] = bins[e]
                p += 1
