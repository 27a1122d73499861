"""Sparse matrices as tables of one byte per value, by row or by column.

Forests, AdaBoost's trees, and boosted trees with vector leaves need such tables. A table of more
than half of the machine's memory is refused. Forests and AdaBoost predict some rows at a time, so
they need no table of all rows then.
"""

import os
from collections.abc import Iterator

import numpy as np

from sumwise.data.sparse.binning import join_thresholds, map_sparse
from sumwise.data.sparse.matrix import SparseMatrix
from sumwise.errors import DataError
from sumwise.kernels.predict.coding import round_down
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.sparse.rows import fill_sparse_rows

# Bytes of the rows that are mapped together where no table of all rows is needed.
_PART_BYTES = 1 << 26
# Assumed if the system does not report its memory.
_UNKNOWN_MEMORY = 1 << 34


def map_sparse_rows(thresholds: list[np.ndarray], X: SparseMatrix, team: Team) -> np.ndarray:
    """Return the bins of X by row, uint8 of shape (n_rows, n_features)."""
    refuse_large_table(*X.shape)
    ((_, rows),) = map_sparse_parts(thresholds, X, team, X.shape[0])
    return rows


def map_sparse_parts(
    thresholds: list[np.ndarray], X: SparseMatrix, team: Team, n_together: int | None = None
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield (first row, bins of some rows), ``n_together`` at a time; None limits their memory."""
    n_rows, n_features = X.shape
    n_together = n_together or max(1, _PART_BYTES // n_features)
    first_threshold, ends, default_bin = join_thresholds(thresholds, X.absent)
    known = (first_threshold, round_down(ends, X.dtype), default_bin.astype(np.uint8))
    for first in range(0, n_rows, n_together):
        part = np.empty((min(n_together, n_rows - first), n_features), dtype=np.uint8)
        team.run(fill_sparse_rows, X.by_row, first, *known, part)
        yield first, part


def map_sparse_columns(
    thresholds: list[np.ndarray], X: SparseMatrix, team: Team
) -> tuple[np.ndarray, np.ndarray]:
    """Return the bins of the usable features by column, and the feature of each column."""
    bins = map_sparse(thresholds, [X], team)
    features = np.flatnonzero(bins.usable)
    refuse_large_table(bins.n_rows, features.size)
    columns = np.empty((features.size, bins.n_rows), dtype=np.uint8)
    bins.fill_columns(features, np.arange(features.size), columns, team)
    return columns, features


def refuse_large_table(n_rows: int, n_features: int) -> None:
    """Raise DataError if one byte per value would take more than half of the memory."""
    n_bytes, memory = n_rows * n_features, find_memory()
    if 2 * n_bytes > memory:
        raise DataError(
            f"X is sparse, with {n_rows} rows and {n_features} features, and these trees need a "
            f"byte for each value: {n_bytes / 2**30:.1f} GiB, more than half of the "
            f"{memory / 2**30:.1f} GiB of this machine. Select features (for words, min_df or "
            "max_features of the vectorizer), take fewer rows, or use gradient boosting, which "
            "keeps sparse data sparse"
        )


def find_memory() -> int:
    """Return the memory of this machine in bytes, or a guess."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return _UNKNOWN_MEMORY
