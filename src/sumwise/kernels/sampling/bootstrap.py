"""Row weights of one member of an ensemble: bootstrap and Poisson draws.

A member's draws depend only on its key, so Python and a thread that grows the member's tree get the
same draws. ``cumulative`` has the running sums of the row weights, and is empty if all rows count
the same.
"""

import numpy as np

from sumwise.kernels.runtime.elementary import exp
from sumwise.kernels.runtime.jit import kernel, routine
from sumwise.kernels.runtime.random import extend_key, uniform

BOOTSTRAP, POISSON = np.int64(0), np.int64(1)

# exp(-mean) must not underflow. A sum of Poisson numbers is a Poisson number, so a larger mean is
# drawn in pieces.
_LARGEST_MEAN = 16.0


@routine
def find_row(cumulative, target):
    """Return the first row whose running sum exceeds ``target``."""
    low, high = np.uint64(0), np.uint64(cumulative.size - 1)
    while low < high:
        middle = (low + high) >> np.uint64(1)
        if cumulative[middle] > target:
            high = middle
        else:
            low = middle + np.uint64(1)
    return low


@routine
def draw_bootstrap(key, n_draws, cumulative, counts):
    """Count how often each row is drawn with replacement, in proportion to its weight."""
    for row in range(counts.size):
        counts[row] = 0
    if cumulative.size > 0:
        total = cumulative[cumulative.size - 1]
        for draw in range(n_draws):
            counts[find_row(cumulative, uniform(key, draw) * total)] += 1
    else:
        n_rows = np.float64(counts.size)
        for draw in range(n_draws):
            counts[np.uint64(uniform(key, draw) * n_rows)] += 1


@routine
def draw_poisson_number(key, mean):
    """Return a Poisson number, by inversion, in pieces of a limited mean."""
    total = 0
    piece = 0
    while mean > 0.0:
        part = min(mean, _LARGEST_MEAN)
        mean -= part
        target = uniform(key, piece)
        piece += 1
        probability = exp(-part)
        reached = probability
        count = 0
        # With a mean of 16, counts beyond 120 have a probability below 1e-60: rounding only.
        while target >= reached and count < 120:
            count += 1
            probability *= part / count
            reached += probability
        total += count
    return total


@routine
def draw_poisson(key, n_draws, cumulative, counts):
    """Draw the count of each row independently; the expected total is ``n_draws``.

    If no row is drawn, one is drawn instead: nothing can be learned from none.
    """
    n_rows = counts.size
    total = 0
    before = 0.0
    each = n_draws / (cumulative[n_rows - 1] if cumulative.size > 0 else np.float64(n_rows))
    for row in range(n_rows):
        mean = each
        if cumulative.size > 0:
            mean = (cumulative[row] - before) * each
            before = cumulative[row]
        count = draw_poisson_number(extend_key(key, row), mean)
        counts[row] = count
        total += count
    if total == 0:
        draw_bootstrap(key, 1, cumulative, counts)


@routine
def draw_counts(kind, key, n_draws, cumulative, counts):
    """Fill ``counts`` with a member's draws."""
    if kind == BOOTSTRAP:
        draw_bootstrap(key, n_draws, cumulative, counts)
    else:
        draw_poisson(key, n_draws, cumulative, counts)


@kernel
def fill_counts(kind, key, n_draws, cumulative, counts):
    """:func:`draw_counts` for Python."""
    draw_counts(kind, key, n_draws, cumulative, counts)
