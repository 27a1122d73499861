"""Where missing values go if a node has none: one rule for all trees."""

from sumwise.kernels.runtime.jit import routine


@routine
def follows_larger(n_left, n_rows):
    """Whether they go left: with the larger child, left if both have as many rows."""
    return 2 * n_left >= n_rows
