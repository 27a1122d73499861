"""Bins of a sparse matrix by row: the usual one everywhere, and then those of what is stored."""

from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.threads import share
from sumwise.kernels.table.sparse.binning import find_bin


@kernel
def fill_sparse_rows(
    thread,
    n_threads,
    sync,
    start,
    place,
    values,
    first_row,
    first_threshold,
    thresholds,
    usual,
    out,
):
    """Write the bins of rows from ``first_row`` on to ``out`` (n_rows, n_features).

    The matrix comes by row. Thresholds of feature f are those from ``first_threshold[f]`` on, and
    ``usual[f]`` is the bin of places that are not stored.
    """
    n_rows, n_features = out.shape
    begin, end = share(n_rows, thread, n_threads)
    for row in range(begin, end):
        own = out[row]
        for f in range(n_features):
            own[f] = usual[f]
        for e in range(start[first_row + row], start[first_row + row + 1]):
            f = place[e]
            first, last = first_threshold[f], first_threshold[f + 1]
            own[f] = find_bin(values[e], thresholds, first, last)
