"""The bootstrap of boosting: n of n rows, drawn with replacement."""

import numpy as np

from sumwise.kernels.runtime import random
from sumwise.kernels.sampling.bootstrap import BOOTSTRAP, fill_counts
from sumwise.kernels.sampling.peer_bootstrap import count_own_draws
from sumwise.sampling.peer_draws import count_candidates, find_runs
from sumwise.sampling.rows import DrawnRows, RowSampler, RowSource


class BootstrapRows(RowSampler):
    """Draw n of n rows with replacement; a row that is drawn k times has the factor k.

    ``min_samples_leaf`` counts distinct rows.
    """

    leaves_out_alike = True
    has_factors = True
    works_among_peers = True

    def draw(self, source: RowSource) -> DrawnRows:
        key = random.make_key(source.seed, random.ROWS, source.number)
        if source.shards is None:
            counts = np.empty(source.rows.size, dtype=np.uint32)
            fill_counts(BOOTSTRAP, key, source.rows.size, np.empty(0), counts)
        else:
            n_rows = count_candidates(source, source.shards)
            counts = count_own_draws(key, n_rows, find_runs(source, source.shards), source.team)
        is_drawn = counts > 0
        return DrawnRows(source.rows[is_drawn], counts[is_drawn].astype(np.float64))
