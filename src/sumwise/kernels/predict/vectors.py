"""Add up vectors of leaves of coded rows, a block of 256 rows at a time, as scoring.py does."""

import numpy as np

from sumwise.kernels.predict.blocks import BLOCK
from sumwise.kernels.predict.scoring import _BYTE, _find_leaves
from sumwise.kernels.runtime.jit import kernel


@kernel
def add_coded_vectors(codes, trees, vector, scratch, wide, out):
    """Add the vectors of the leaves that rows reach to ``out`` (n_rows, n_outputs).

    ``vector`` (n_nodes, n_outputs) is in the order of ``trees.value``. ``scratch`` and ``wide`` are
    as in ``add_coded_predictions``.
    """
    narrow, n_outputs = scratch[0], out.shape[1]
    for block in range(0, out.shape[0], BLOCK):
        own = codes[block // BLOCK]
        n_rows = np.uint64(min(BLOCK, out.shape[0] - block))
        sums = out[block:]
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
