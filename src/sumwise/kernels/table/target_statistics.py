"""Sums of the target by category, and the statistics of rows from the rows before them.

A *group* is a categorical feature, or a combination of some; the *place* of a row is the number of
its category in the group, -1 if it has none. One thread works on a group, in a fixed order of rows,
so the sums have the same bits for any number of threads.
"""

import numpy as np

from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.random import uniform


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

    ``out`` has shape (n_groups, n_values, n_rows). ``sums`` and ``counts`` are scratch, laid out as
    above.
    """
    n_values = values.shape[0]
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
                for v in range(n_values):
                    out[g, v, row] = prior[v]
                continue
            entry = start[g] + place
            own_weight = weight[row] if weight.size > 0 else 1.0
            for v in range(n_values):
                total = sums[v, entry] + prior_weight * prior[v]
                out[g, v, row] = total / (counts[entry] + prior_weight)
                sums[v, entry] += own_weight * values[v, row]
            counts[entry] += own_weight


@kernel
def shuffle_rows(key, rows, order):
    """Write the rows to ``order`` in a random order, which depends on the key only.

    The inside-out shuffle of Fisher and Yates: every permutation is equally likely.
    """
    for i in range(rows.size):
        j = np.int64(uniform(key, i) * (i + 1))
        order[i] = order[j]
        order[j] = rows[i]
