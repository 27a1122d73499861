"""Which features can be split at all, from the counts of their bins.

If no split of a feature leaves ``min_rows`` rows on both sides, wherever missing values go, no node
can be split on it, because a node has fewer rows still. Counting stops as soon as a feature has
enough rows on both sides; most need a few hundred.

Categorical features are never screened out, because sets combine categories; neither are tables
shared by several fits. Trees do not depend on screening, but column sampling does: it draws from
usable features.
"""

import numpy as np

from sumwise.kernels.runtime.jit import kernel, routine

# Rows counted first; then their number is doubled.
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

    ``counts`` is scratch of shape (n_threads, 256).
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
    thread, n_threads, sync, start, rows, bins, default, n_bins, trains, min_rows, counts, usable
):
    """The same for sparse features: entries, and a default bin of all other rows.

    ``trains`` says whether a row of the table counts.
    """
    n_train = np.int64(0)
    for row in range(trains.size):
        n_train += trains[row]
    own = counts[thread]
    for f in range(thread, usable.size, n_threads):
        own[:] = 0
        n_default = n_train
        for e in range(start[f], start[f + 1]):
            if trains[rows[e]]:
                own[bins[e]] += 1
                n_default -= 1
        own[default[f]] += n_default
        usable[f] = _can_split(own, n_bins[f], min_rows)
