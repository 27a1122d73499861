"""The bootstrap among peers: how often one process with all rows would draw those of this one.

Draws are independent of each other, so nothing is exchanged: every process makes all draws, and
counts those of its own rows. A draw takes about a nanosecond, divided among threads.
"""

import numpy as np

from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.random import uniform
from sumwise.kernels.runtime.threads import Team, atomic_add, share
from sumwise.kernels.sampling.peer_runs import Runs, find_run


@kernel
def count_draws_of_runs(thread, n_threads, sync, key, n_rows, runs, counts):
    """Draw ``n_rows`` of as many rows; add up how often each row of some runs is drawn.

    ``counts`` (int64) has an item per row of the runs.
    """
    begin, end = share(n_rows, thread, n_threads)
    for draw in range(begin, end):
        number = np.int64(uniform(key, draw) * np.float64(n_rows))
        run = find_run(runs.first, number) - 1
        if run >= 0:
            first_place = runs.end[run - 1] if run > 0 else np.int64(0)
            place = first_place + number - runs.first[run]
            if place < runs.end[run]:
                atomic_add(counts, place, 1)


def count_own_draws(key: np.uint64, n_rows: int, runs: Runs, team: Team) -> np.ndarray:
    """Return how often each row of this process is drawn, of all peers' ``n_rows``."""
    counts = np.zeros(runs.end[-1] if runs.end.size else 0, dtype=np.int64)
    if counts.size:
        team.run(count_draws_of_runs, key, n_rows, runs, counts)
    return counts
