"""The bootstrap of boosting: n of n rows, drawn with replacement."""

import numpy as np

from sumwise.kernels.runtime import random
from sumwise.kernels.sampling.bootstrap import BOOTSTRAP, fill_counts
from sumwise.sampling.rows import DrawnRows, RowSampler, RowSource


class BootstrapRows(RowSampler):
    """Draw n of n rows with replacement; a row that is drawn k times has the factor k.

    ``min_samples_leaf`` counts distinct rows.
    """

    leaves_out_alike = True
    has_factors = True

    def draw(self, source: RowSource) -> DrawnRows:
        counts = np.empty(source.rows.size, dtype=np.uint32)
        key = random.make_key(source.seed, random.ROWS, source.number)
        fill_counts(BOOTSTRAP, key, source.rows.size, np.empty(0), counts)
        is_drawn = counts > 0
        return DrawnRows(source.rows[is_drawn], counts[is_drawn].astype(np.float64))
