"""Bins of a sparse matrix by row: the default bin everywhere, then those of the stored values."""

from sumwise.kernels.runtime.jit import kernel
from sumwise.kernels.runtime.threads import share
from sumwise.kernels.table.binning import find_bin


@kernel
def fill_sparse_rows(
    thread, n_threads, sync, stored, first_row, first_threshold, thresholds, default, out
):
    """Write the bins of rows from ``first_row`` on to ``out`` (n_rows, n_features).

    ``stored`` has the matrix by row. The thresholds of feature f begin at ``first_threshold[f]``,
    and ``default[f]`` is the bin of absent values.
    """
    n_rows, n_features = out.shape
    begin, end = share(n_rows, thread, n_threads)
    for row in range(begin, end):
        own = out[row]
        for f in range(n_features):
            own[f] = default[f]
        for e in range(stored.start[first_row + row], stored.start[first_row + row + 1]):
            f = stored.place[e]
            first, last = first_threshold[f], first_threshold[f + 1]
            own[f] = find_bin(stored.values[e], thresholds, first, last)
