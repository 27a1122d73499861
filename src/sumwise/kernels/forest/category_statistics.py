"""Statistics of categories for one tree, from the rows that the tree sees, and their bins.

The rows of a tree are divided into two halves at random. A row of one half is encoded by the mean
targets of the categories in the other half, so its own target is not among them. Rows that the tree
does not see are encoded by both halves, as rows of prediction are by all rows. A mean is shrunk
towards the prior as if it came from all rows: the weight of the prior is that of the halves' share.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.random import extend_key, uniform

# A row that the tree does not see; also what it is encoded by: both halves.
UNSEEN = np.uint8(2)
# Nodes extend the key of a tree by their numbers, which are smaller.
_HALVES = np.int64(1) << 40


class CategoryRows(NamedTuple):
    """Categories and targets of all rows.

    Group g owns the entries ``[start[g], start[g + 1])`` of sums.
    """

    places: Any  # int32 (n_groups, n_rows): the category in the group, -1 for an unknown one
    start: Any  # int64 (n_groups + 1,)
    values: Any  # float64 (n_values, n_rows): numbers, or indicators of classes
    weight: Any  # float64 (n_rows,)
    prior: Any  # float64 (n_values,)
    prior_weight: float
    total_weight: float


class StatisticColumns(NamedTuple):
    """Columns of the binned table that have statistics, one per group and value."""

    column: Any  # int64 (n_groups, n_values)
    first: Any  # int64 (n_groups, n_values + 1): where the thresholds of a column begin
    thresholds: Any  # float64


class StatisticsWork(NamedTuple):
    """Buffers of one thread."""

    half: Any  # uint8 (n_rows,): 0, 1 or UNSEEN
    counts: Any  # float64 (2, n_entries): weights, by half
    sums: Any  # float64 (n_values, 3, n_entries): by half; then the statistics, and those of both
    bins: Any  # uint8 (3, n_entries): of one column


@routine
def _shrink(total, count, prior, prior_weight):
    """The mean of a category, shrunk towards the prior; the prior if there are no rows."""
    return (total + prior_weight * prior) / (count + prior_weight) if count > 0.0 else prior


@kernel
def find_statistics(key, is_seen, rows, work):
    """Write the statistics of all categories for rows of each half, and for unseen rows.

    ``is_seen`` (uint8) says which rows the tree is grown on. What rows of half h are encoded by is
    at ``work.sums[:, h]``.
    """
    half, counts, sums = work.half, work.counts, work.sums
    n_values = sums.shape[0]
    counts[:] = 0.0
    sums[:] = 0.0
    key = extend_key(key, _HALVES)
    weight_0, weight_1 = 0.0, 0.0
    for row in range(half.size):
        half[row] = np.uint8(uniform(key, row) < 0.5) if is_seen[row] else UNSEEN
        if half[row] == 0:
            weight_0 += rows.weight[row]
        elif half[row] == 1:
            weight_1 += rows.weight[row]
    for g in range(rows.places.shape[0]):
        own = rows.places[g]
        for row in range(half.size):
            if half[row] != UNSEEN and own[row] >= 0:
                entry, h, w = rows.start[g] + own[row], half[row], rows.weight[row]
                counts[h, entry] += w
                for v in range(n_values):
                    sums[v, h, entry] += w * rows.values[v, row]
    a_0 = rows.prior_weight * weight_0 / rows.total_weight
    a_1 = rows.prior_weight * weight_1 / rows.total_weight
    for v in range(n_values):
        prior = rows.prior[v]
        for entry in range(counts.shape[1]):
            s_0, s_1 = sums[v, 0, entry], sums[v, 1, entry]
            c_0, c_1 = counts[0, entry], counts[1, entry]
            sums[v, 0, entry] = _shrink(s_1, c_1, prior, a_1)
            sums[v, 1, entry] = _shrink(s_0, c_0, prior, a_0)
            sums[v, 2, entry] = _shrink(s_0 + s_1, c_0 + c_1, prior, a_0 + a_1)


@routine
def _find_bin(thresholds, first, last, value):
    """Return the bin of a value: that of the first threshold that is not below it."""
    low, high = first, last
    while low < high:
        middle = (low + high) >> 1
        if thresholds[middle] < value:
            low = middle + 1
        else:
            high = middle
    return np.uint8(1 + low - first)


@kernel
def write_statistic_bins(rows, columns, work, bins, n_columns):
    """Write the bins of the statistics to a table by row, (n_rows * n_columns,) bytes."""
    thresholds, half = columns.thresholds, work.half
    for g in range(rows.places.shape[0]):
        own, start = rows.places[g], rows.start[g]
        for v in range(rows.values.shape[0]):
            first, last = columns.first[g, v], columns.first[g, v + 1]
            for h in range(3):
                for entry in range(start, rows.start[g + 1]):
                    value = work.sums[v, h, entry]
                    work.bins[h, entry] = _find_bin(thresholds, first, last, value)
            of_unknown = _find_bin(thresholds, first, last, rows.prior[v])
            place = columns.column[g, v]
            for row in range(half.size):
                is_known = own[row] >= 0
                entry = start + own[row] if is_known else start
                bins[place] = work.bins[half[row], entry] if is_known else of_unknown
                place += n_columns
