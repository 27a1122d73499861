"""Order rows by their ranks, and walk rows of a table of values through a tree."""

import numpy as np

from sumwise.kernels.predict.category_walk import is_in_set
from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.threads import share
from sumwise.kernels.table.category_bins import read_code

_ROW = np.uint64(32)
_MANY = np.int64(1 << 31)


@kernel
def order_by_rank(thread, n_threads, sync, ranks, is_ranked, rows, starts, order):
    """Write ``rank << 32 | row`` of the rows in rising order, for each feature that has ranks.

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
def add_value_predictions(thread, n_threads, sync, values, rows, splits, value, sets, scores):
    """Add a tree's values to the scores of ``rows``, which the tree was not grown on.

    ``values`` (n_features, n_rows) has codes where a feature is categorical. ``splits`` are the
    feature, threshold, direction of missing values and left child of each node.
    """
    feature, threshold, missing_left, left = splits
    begin, end = share(rows.size, thread, n_threads)
    for i in range(begin, end):
        row, node = rows[i], np.int64(0)
        while left[node] >= 0:
            number = values[feature[node], row]
            if np.isnan(number):
                goes_left = missing_left[node] != 0
            elif sets.of_node[node] < 0:
                goes_left = number <= threshold[node]
            else:
                goes_left = is_in_set(sets, sets.of_node[node], read_code(number, _MANY))
            node = np.int64(left[node]) + (0 if goes_left else 1)
        scores[row] += value[node, 0]
