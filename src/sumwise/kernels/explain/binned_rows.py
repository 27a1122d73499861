"""Blocks of codes from binned rows, for splits of forests: see ``tree/split_tests.py``."""

import numpy as np

from sumwise.kernels.forest.bins import has_bin
from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.threads import claim_next

_IN_SET, _NOT_IN_SET = np.uint8(1), np.uint8(2)


@kernel
def code_binned_rows(
    thread, n_threads, sync, bins, features, set_feature, sets, first, last, codes
):
    """Write the codes of rows [first, last): bins of features, then a column for each set."""
    n_blocks, block = (last - first + BLOCK - 1) // BLOCK, claim_next(sync, n_threads, -1)
    while block < n_blocks:
        begin = first + block * BLOCK
        n_rows = min(BLOCK, last - begin)
        for c in range(features.size):
            for i in range(n_rows):
                codes[block, c, i] = bins[begin + i, features[c]]
        for k in range(set_feature.size):
            for i in range(n_rows):
                own = np.uint64(bins[begin + i, set_feature[k]])
                is_in = has_bin(sets[k], own) != 0
                codes[block, features.size + k, i] = _IN_SET if is_in else _NOT_IN_SET
        block = claim_next(sync, n_threads, block)
