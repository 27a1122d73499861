"""Find the bins of sparse columns and map stored values to them.

``stored`` are the ``StoredColumns`` of a matrix: the entries of column f are ``start[f]`` up to
``start[f + 1]``, in ``rows`` that ascend; :func:`read_stored` gives their values. All other rows
have a zero, or a missing value.

Thresholds come from the stored values and the number (or weight) of absent values, added in the
order of the dense matrix. So the model has the same bytes as with binning.py.
"""

import numpy as np

from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.sort import key_of_float, sort_keys
from sumwise.kernels.table.binning import add_distinct, cut_keys, find_bin, merge_equal
from sumwise.kernels.table.sparse.columns import read_stored


@kernel
def find_sparse_distinct(
    thread,
    n_threads,
    sync,
    stored,
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

    Only the ``n_rows`` rows count that ``in_rows`` marks. ``zeros`` says whether absent values are
    zero. Writes to ``distinct`` (n_columns, limit + 1) and ``n_distinct``. ``tables`` (n_threads,
    HASH_SIZE) is scratch.
    """
    table, start = tables[thread], stored.start
    for k in range(thread, n_distinct.size, n_threads):
        f = first + k
        for i in range(table.size):
            table[i] = np.nan
        count, n_present = 0, 0
        for e in range(start[f], start[f + 1]):
            if in_rows[stored.rows[e]]:
                n_present += 1
                value = read_stored(stored, e)
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
    stored,
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
    """Sort the stored values of some columns in the rows of a sample, and cut them by weight.

    ``place`` is the place of a row in the sample, -1 for others. Writes the same as
    ``binning.cut_columns``; the other arrays are scratch, with a row for each thread.
    """
    n_bits, start = 8 * keys.itemsize, stored.start
    weighted = sample_weight.size > 0
    for k in range(thread, features.size, n_threads):
        f = features[k]
        own, other = keys[thread, 0], keys[thread, 1]
        mass, other_mass = weights[thread, 0], weights[thread, 1]
        mark = marks[thread]
        n = 0
        for e in range(start[f], start[f + 1]):
            p = place[stored.rows[e]]
            value = read_stored(stored, e)
            if p >= 0 and not (zeros and value == 0):
                own[n] = key_of_float(value, n_bits)
                if weighted:
                    mass[n] = sample_weight[p]
                    mark[p] = 1
                n += 1
        zero_weight = np.float64(n_sample - n)
        if weighted:
            zero_weight = 0.0
            for p in range(n_sample):  # in the order of the rows, as for a dense matrix
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
            zero = key_of_float(stored.values.dtype.type(0), n_bits)
            _insert_zero(own, mass, n_distinct, zero, zero_weight)
            n_distinct += 1
        total = 0.0
        for i in range(n_distinct):
            total += mass[i]
        ends = counters[thread]  # free again
        n_ends[k] = cut_keys(own, mass[:n_distinct], total, max_bins, ends, neighbors[k])


@kernel
def map_sparse_bins(
    thread,
    n_threads,
    sync,
    stored,
    first_threshold,
    thresholds,
    default,
    bins,
    n_entries,
    extremes,
):
    """Write the bins of stored values: 1 + the number of thresholds below; 0 for a missing value.

    The thresholds of column f begin at ``first_threshold[f]``. Writes how many stored values are
    outside the default bin of their column, and the lowest and highest bin of those (2,
    n_features).
    """
    start = stored.start
    for f in range(thread, n_entries.size, n_threads):
        first, last = first_threshold[f], first_threshold[f + 1]
        count, lowest, highest = 0, 255, 0
        for e in range(start[f], start[f + 1]):
            b = find_bin(read_stored(stored, e), thresholds, first, last)
            bins[e] = b
            if b != default[f]:
                count += 1
                lowest, highest = min(lowest, b), max(highest, b)
        n_entries[f] = count
        extremes[0, f], extremes[1, f] = lowest, highest


@kernel
def keep_entries(
    thread, n_threads, sync, start, index, bins, default, first_row, place, kept_rows, kept_bins
):
    """Copy rows and bins other than the default one, those of column f from ``place[f]`` on."""
    for f in range(thread, default.size, n_threads):
        p = place[f]
        for e in range(start[f], start[f + 1]):
            if bins[e] != default[f]:
                kept_rows[p] = first_row + index[e]
                kept_bins[p] = bins[e]
                p += 1
