"""Which features can be split at all, from the counts of their bins.

A feature that no bin parts into two sides of ``min_rows`` rows, wherever missing values go, can be
split in no node: a node has fewer rows still.
"""

import numpy as np

from sumwise.kernels.runtime.jit import kernel, routine

# Rows looked at first; then as many more as there were. Most features need no more.
_FIRST_ROWS = 512


@routine
def _can_split(counts, n_bins, min_rows):
    """Whether a split leaves enough rows on both sides; ``counts`` are by bin, 0 for missing."""
    total = np.int64(0)
    for b in range(n_bins):
        total += counts[b]
    left, missing = np.int64(0), counts[0]
    for b in range(1, n_bins):
        left += counts[b]
        if left >= min_rows and total - left >= min_rows:
            return True
        if left + missing >= min_rows and total - missing - left >= min_rows:
            return True
    return False


@kernel
def screen_columns(thread, n_threads, sync, columns, n_bins, rows, min_rows, counts, usable):
    """Write which of the columns can be split, with ``min_rows[f]`` rows on both sides.

    More rows never make a feature worse, so counting ends as soon as there are enough. ``counts``
    is scratch of shape (n_threads, 256).
    """
    own = counts[thread]
    for f in range(thread, usable.size, n_threads):
        own[:] = 0
        usable[f] = 0
        column, first, last = columns[f], 0, min(_FIRST_ROWS, rows.size)
        while first < last:
            for i in range(first, last):
                own[column[rows[i]]] += 1
            if _can_split(own, min(n_bins[f], own.size), min_rows[f]):
                usable[f] = 1
                break
            first, last = last, min(2 * last, rows.size)


@kernel
def screen_entries(
    thread, n_threads, sync, start, rows, bins, usual, n_bins, trains, min_rows, counts, usable
):
    """The same for sparse features: entries, and a usual bin of all other rows.

    ``trains`` says of every row of the table whether it counts.
    """
    n_train = np.int64(0)
    for row in range(trains.size):
        n_train += trains[row]
    own = counts[thread]
    for f in range(thread, usable.size, n_threads):
        own[:] = 0
        n_usual = n_train
        for e in range(start[f], start[f + 1]):
            if trains[rows[e]]:
                own[bins[e]] += 1
                n_usual -= 1
        own[usual[f]] += n_usual
        usable[f] = _can_split(own, n_bins[f], min_rows)
