"""Trees of any shape."""

import numpy as np


def grow_at_random(n_leaves, rng):
    """Return the left children and the leaves of a tree."""
    left, leaves = [-1], [0]
    while len(leaves) < n_leaves:
        node = leaves.pop(rng.integers(len(leaves)))
        left[node] = len(left)
        leaves += [len(left), len(left) + 1]
        left += [-1, -1]
    return np.array(left, dtype=np.int32), np.array(sorted(leaves))
