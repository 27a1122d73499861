"""Steps of ``refit.py`` for rows that several processes have; between them, they are added up.

Every process groups its own rows by leaf. What a node has is the sum over all processes: a leaf may
have rows in some of them only.
"""

from sumwise.kernels.leaves.refit import count_rows, move_rows, pass_over_empty_nodes, set_values
from sumwise.kernels.runtime.jit import kernel


@kernel
def group_rows(thread, n_threads, sync, rows, leaf, left, target, row_units, buffers, scores):
    """Group residuals and weights by leaf; there may be no rows. As in ``refit_leaves``."""
    count_rows(thread, n_threads, sync, rows, leaf, left, buffers)
    move_rows(thread, n_threads, sync, rows, leaf, target, row_units, buffers, scores)


@kernel
def settle_nodes(left, totals, anchor):
    """Add up what the leaves have for the nodes above, and replace anchors without rows.

    Parameters
    ----------
    left : int32 array of shape (n_nodes,)
    totals : int64 array of shape (2, n_nodes), in and out
        The number of rows of all processes, and their weight.
    anchor : int32 array of shape (n_nodes,), in and out
    """
    for node in range(left.size - 1, -1, -1):  # children come after parents
        child = left[node]
        if child >= 0:
            for row in range(2):
                totals[row, node] = totals[row, child] + totals[row, child + 1]
    pass_over_empty_nodes(left, totals[0], anchor)


@kernel
def set_node_values(left, anchor, weight, rule, buffers, value):
    """Set the values of all nodes by the centers in ``buffers``."""
    set_values(left, anchor, weight, rule, buffers, value)
