"""The payload of classification trees: a bin holds a weight per class, and the row count.

A node scores ``sum_k c_k^2 / c``, which orders splits as the weighted Gini impurity does.
"""

from typing import Any, NamedTuple

import numpy as np

from sumwise.kernels.histogram import add_class_rows, clear_tile, pack_record
from sumwise.kernels.jit import routine
from sumwise.kernels.split import best_candidate
from sumwise.kernels.threads import share


class ClassCounts(NamedTuple):
    """What the grower knows of the rows."""

    class_idx: Any  # uint16 (n_rows,)
    weight: Any  # uint16 (n_rows,): how often a row counts
    n_classes: int


@routine
def load_rows(payload, thread, n_threads, sync, rows, records):
    """Make a record of each row; nothing to scale, all is exact as it is."""
    first, last = share(rows.size, thread, n_threads)
    for i in range(first, last):
        row = rows[i]
        records[i] = pack_record(row, payload.class_idx[row], payload.weight[row])
    return True, False


@routine
def count_stats(payload):
    """The classes and the rows."""
    return payload.n_classes + 1


@routine
def can_pack(payload):
    """Weights of classes do not fit one word."""
    return False


@routine
def add_rows(payload, exact, table, tile, records, state, words, histogram):
    """Add rows to the histograms of a tile's features; return the new state."""
    if state[1]:
        clear_tile(table, tile, payload.n_classes + 1, histogram)
    add_class_rows(table, tile, records, payload.n_classes, histogram)
    return 0, False


@routine
def finish_rows(payload, exact, table, tile, packed, words, histogram):
    """Nothing is left to do: the sums were complete at any time."""


@routine
def node_score(payload, totals):
    """Sum of squared class weights over their sum; the last total is the row count."""
    squares = 0.0
    weight = 0.0
    for k in range(totals.size - 1):
        squares += np.float64(totals[k]) * np.float64(totals[k])
        weight += np.float64(totals[k])
    return squares / weight if weight > 0.0 else 0.0


@routine
def split_gain(payload, left, totals, min_rows):
    """Gain of the split that sends ``left`` of ``totals`` left."""
    last = totals.size - 1
    if left[last] < min_rows or totals[last] - left[last] < min_rows:
        return -np.inf
    squares_left, squares_right, weight_left, weight_right = 0.0, 0.0, 0.0, 0.0
    for k in range(last):
        count_left = np.float64(left[k])
        count_right = np.float64(totals[k] - left[k])
        squares_left += count_left * count_left
        squares_right += count_right * count_right
        weight_left += count_left
        weight_right += count_right
    if weight_left <= 0.0 or weight_right <= 0.0:
        return -np.inf
    return (squares_left / weight_left + squares_right / weight_right) - node_score(payload, totals)


@routine
def fill_gains(payload, bins, n_candidates, both_ways, totals, min_rows, prefix, right, left):
    """Write the gain of a split after each bin; missing right, and left if asked."""
    n_stats = payload.n_classes + 1
    n_bins = bins.size // n_stats
    running = prefix[:, 0]
    running[:n_stats] = 0
    for i in range(n_candidates):
        for s in range(n_stats):
            running[s] += bins[s * n_bins + i + 1]
        right[i] = split_gain(payload, running[:n_stats], totals, min_rows)
    if both_ways:
        for s in range(n_stats):
            running[s] = bins[s * n_bins]
        for i in range(n_candidates):
            for s in range(n_stats):
                running[s] += bins[s * n_bins + i + 1]
            left[i] = split_gain(payload, running[:n_stats], totals, min_rows)


@routine
def best_split(payload, bins, n_candidates, both_ways, totals, min_rows, prefix, gains):
    """Return (gain, bin, missing goes left) of the best split of a feature."""
    right, left = gains[0], gains[1]
    fill_gains(payload, bins, n_candidates, both_ways, totals, min_rows, prefix, right, left)
    return best_candidate(n_candidates, both_ways, right, left)


@routine
def best_packed_split(payload, words, n_candidates, both_ways, totals, min_rows, prefix, gains):
    """There is none: these histograms are never packed."""
    return -np.inf, 0, False


@routine
def sum_rows(payload, rows, leaf, sums):
    """Add the rows to the sums of their leaves."""
    for i in range(rows.size):
        row = rows[i]
        sums[leaf[row], payload.class_idx[row]] += payload.weight[row]


@routine
def set_value(payload, sums, value):
    """Write a node's class frequencies; return its weight."""
    weight = 0.0
    for k in range(payload.n_classes):
        weight += sums[k]
    for k in range(payload.n_classes):
        value[k] = sums[k] / weight if weight > 0.0 else 0.0
    return weight
