"""Add up vectors of leaves of coded rows, a block of 256 rows at a time, as scoring.py does."""

import numpy as np

from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.predict.scoring import _BYTE, _find_leaves
from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.threads import claim_next


@kernel
def add_coded_vectors(thread, n_threads, sync, codes, trees, vector, all_scratch, all_wide, out):
    """Add the vectors of the leaves that rows reach to ``out`` (n_rows, n_outputs).

    ``vector`` (n_nodes, n_outputs) is in the order of ``trees.value``. ``all_scratch`` and
    ``all_wide`` are as in ``add_coded_predictions``.
    """
    scratch, wide, n_outputs = all_scratch[thread], all_wide[thread], out.shape[1]
    narrow = scratch[0]
    n_blocks, block = (out.shape[0] + BLOCK - 1) // BLOCK, claim_next(sync, n_threads, -1)
    while block < n_blocks:
        own, first = codes[block], block * BLOCK
        n_rows = np.uint64(min(BLOCK, out.shape[0] - first))
        sums = out[first:]
        for tree in range(trees.output.size):
            _find_leaves(own, tree, trees, scratch, wide)
            vectors = vector[trees.start[tree] :]
            if trees.n_leaves[tree] <= _BYTE:
                for i in range(n_rows):
                    for k in range(n_outputs):
                        sums[i, k] += vectors[narrow[i], k]
            else:
                for i in range(n_rows):
                    for k in range(n_outputs):
                        sums[i, k] += vectors[wide[i], k]
        block = claim_next(sync, n_threads, block)
