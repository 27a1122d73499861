"""Sums of the target by category, and the statistics of rows from the rows before them.

A *group* is a categorical feature, or a combination of some; the *place* of a row is the number of
its category in the group, -1 if it has none. One thread works on a group, in a fixed order of rows,
so the sums have the same bits for any number of threads.
"""

import numpy as np

from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.random import uniform
from sumwise.kernels.runtime.sort import key_of_float, sort_keys

# Statistics at a time: their keys stay in the cache from end to end.
_BLOCK = 1024


@kernel
def sum_by_place(thread, n_threads, sync, places, start, rows, values, weight, sums, counts):
    """Add up values and weights of ``rows`` by place.

    Group g owns ``sums[:, start[g]:start[g + 1]]`` and ``counts[start[g]:start[g + 1]]``.
    ``values`` has shape (n_values, n_rows); an empty ``weight`` stands for weights of one.
    """
    for g in range(thread, places.shape[0], n_threads):
        own = places[g]
        for i in range(rows.size):
            row = rows[i]
            place = own[row]
            if place >= 0:
                entry = start[g] + place
                own_weight = weight[row] if weight.size > 0 else 1.0
                counts[entry] += own_weight
                for v in range(values.shape[0]):
                    sums[v, entry] += own_weight * values[v, row]


@kernel
def write_ordered(
    thread,
    n_threads,
    sync,
    places,
    start,
    order,
    values,
    weight,
    prior,
    prior_weight,
    sums,
    counts,
    out,
):
    """Write the statistics of the rows in ``order``, each from the rows before it only.

    ``prior`` has the priors of the first value, then those of the second, and so on. ``out`` has
    shape (n_groups, prior.size, n_rows). ``sums`` and ``counts`` are scratch, laid out as above.
    """
    n_values, n_statistics = values.shape[0], prior.size
    n_priors = n_statistics // n_values
    for g in range(thread, places.shape[0], n_threads):
        own = places[g]
        for entry in range(start[g], start[g + 1]):
            counts[entry] = 0.0
            for v in range(n_values):
                sums[v, entry] = 0.0
        for i in range(order.size):
            row = order[i]
            place = own[row]
            if place < 0:
                for s in range(n_statistics):
                    out[g, s, row] = prior[s]
                continue
            entry = start[g] + place
            own_weight = weight[row] if weight.size > 0 else 1.0
            for s in range(n_statistics):
                total = sums[s // n_priors, entry] + prior_weight * prior[s]
                out[g, s, row] = total / (counts[entry] + prior_weight)
            for v in range(n_values):
                sums[v, entry] += own_weight * values[v, row]
            counts[entry] += own_weight


@routine
def _find_ends(keys, n_bins, ends):
    """Write the ends of all bins but the last, without repeats; return how many there are.

    The keys are sorted. An end is the last key of 1, 2, ... of ``n_bins`` equal shares of them.
    """
    n_ends = 0
    for b in range(1, n_bins):
        end = keys[b * (keys.size - 1) // n_bins]
        if n_ends == 0 or end != ends[n_ends - 1]:
            ends[n_ends] = end
            n_ends += 1
    return n_ends


@routine
def _write_bins(statistics, ends, keys, counts, bins):
    """Write how many ends are below each statistic; the loop for each end vectorizes."""
    for i in range(bins.size):
        keys[i] = key_of_float(statistics[i], 64)
        counts[i] = 0
    for e in range(ends.size):
        end = ends[e]
        for i in range(bins.size):
            counts[i] += np.uint64(keys[i] > end)
    for i in range(bins.size):
        bins[i] = counts[i]


@kernel
def cut_statistics(thread, n_threads, sync, statistics, n_bins, keys, starts, ends, bins):
    """Write bins of about equal numbers of rows, for each row of ``statistics``.

    ``bins`` has the same shape. ``keys`` (n_threads, 2, n_rows), ``starts`` and ``ends``, a row per
    thread, are scratch; see ``sort_keys``. At least one row, no missing statistics.
    """
    n_rows = statistics.shape[1]
    for s in range(thread, statistics.shape[0], n_threads):
        own, other = keys[thread, 0], keys[thread, 1]
        for i in range(n_rows):
            own[i] = key_of_float(statistics[s, i], 64)
        if sort_keys(own, other, own, other, False, starts[thread]):
            own, other = other, own
        n_ends = _find_ends(own, n_bins, ends[thread])
        for first in range(0, n_rows, _BLOCK):
            last = min(first + _BLOCK, n_rows)
            block = own[first:last], other[first:last], bins[s, first:last]
            _write_bins(statistics[s, first:last], ends[thread, :n_ends], *block)


@kernel
def shuffle_rows(key, rows, order):
    """Write the rows to ``order`` in a random order, which depends on the key only.

    The inside-out shuffle of Fisher and Yates: every permutation is equally likely.
    """
    for i in range(rows.size):
        j = np.int64(uniform(key, i) * (i + 1))
        order[i] = order[j]
        order[j] = rows[i]
