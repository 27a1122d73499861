"""Tables with ranks, for exact splits: every distinct value of a numeric feature is a candidate.

For every numeric feature such a table has the training rows in the order of their ranks.

If a feature has more bins than one byte can number, all numeric features are stored this way, and
their ranks are the bins of the mapper (``has_bins``).
"""

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import as_strided

from sumwise.data.binned import BinnedData
from sumwise.data.binning import BinMapper
from sumwise.data.categories.bins import collect_categories
from sumwise.data.categories.set_splits import Native
from sumwise.data.matrix import Matrix, read_chunks
from sumwise.data.ranks import RankedColumns
from sumwise.data.sparse import SparseMatrix
from sumwise.errors import DataError
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.layout import Presorted
from sumwise.kernels.table.ranks import order_by_rank

# Bytes per value: the value, its rank, its entry in the order, and entries in two lists of a tree.
_BYTES_PER_VALUE = 8 + 4 + 8 + 16
_MOST_SPARSE_BYTES = 1 << 31
_RANK, _ROW = np.uint64(32), np.uint64(0xFFFFFFFF)


@dataclass(frozen=True)
class PresortedData(BinnedData):
    """A table whose numeric features have ranks, and their values.

    Attributes
    ----------
    has_bins : bool
        Whether ranks are bins with fixed thresholds.
    distinct : ndarray of float64
        The distinct values of the training rows, ascending, feature after feature; empty if ranks
        are bins.
    start : ndarray of int64
        The start of each feature in ``distinct``.
    """

    has_bins: bool
    distinct: np.ndarray
    start: np.ndarray

    def find_values(self, feature: np.ndarray, rank: np.ndarray) -> np.ndarray:
        """Return the values that belong to ranks of features."""
        return self.distinct[self.start[feature] + rank - 1]


def presort(
    X: Matrix,
    rows: np.ndarray,
    team: Team,
    X_val: Matrix | None = None,
    n_categories: np.ndarray | None = None,
    native: Native | None = None,
    bins: BinMapper | None = None,
) -> tuple[PresortedData, BinMapper]:
    """Make the table of X, followed by the rows of X_val, which are only scored.

    Ranks and order come from ``rows`` of X, which ascend. Trees grow on these rows or a subset.
    Categorical features have the bins of the returned mapper. If ``bins`` are given, they are the
    ranks of numeric features.
    """
    parts = [X] if X_val is None else [X, X_val]
    n_rows, n_features = sum(part.shape[0] for part in parts), X.shape[1]
    _check_memory(X, n_rows)
    if bins is None:
        ranked = RankedColumns.fit(X, rows, team, X_val, n_categories, native)
    else:
        ranked = RankedColumns.from_bins(bins, parts, team)
    mapper, ranks = ranked.mapper, ranked.ranks
    is_ranked = np.ones(n_features, dtype=np.uint8)
    is_ranked[list(mapper.categories)] = 0
    n_ranks = np.where(is_ranked, ranked.n_values, 0)
    order = np.empty((n_features, rows.size), dtype=np.uint64)
    starts = np.empty((team.n_threads, int(n_ranks.max(initial=0)) + 2), dtype=np.int64)
    team.run(order_by_rank, ranks, is_ranked, rows, starts, order)

    columns = np.zeros((n_features, n_rows), dtype=np.uint8)
    categories = None
    if mapper.categories:
        narrow = [f for f, bins in mapper.categories.items() if not bins.is_wide]
        wide = [f for f, bins in sorted(mapper.categories.items()) if bins.is_wide]
        columns[narrow] = ranks[narrow]
        categories = collect_categories(mapper.categories, ranks[wide], n_features, mapper.native)
    values = _read_values(parts, n_rows)
    order_of = Presorted(is_ranked, ranks, order, values)
    of_columns = (columns, mapper.count_bins(), team, rows, categories)
    data = BinnedData.from_columns(*of_columns, presorted=order_of)
    has_bins = bins is not None
    distinct = _find_distinct(values, order, n_ranks * (not has_bins))
    return PresortedData(data.table, data.usable, has_bins, *distinct), mapper


def _read_values(parts: list[Matrix], n_rows: int) -> np.ndarray:
    """Return the numbers of stacked matrices by column."""
    values = np.empty((parts[0].shape[1], n_rows))
    begin = 0
    for part in parts:
        for first, flat in read_chunks(part):
            size = flat.values.itemsize
            strides = (size * flat.column_stride, size * flat.row_stride)
            own = as_strided(flat.values, (values.shape[0], flat.n_rows), strides)
            values[:, begin + first : begin + first + flat.n_rows] = own
        begin += part.shape[0]
    return values


def _find_distinct(
    values: np.ndarray, order: np.ndarray, n_ranks: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the value of each rank, feature after feature, and the start of each feature."""
    start = np.append(0, n_ranks.cumsum())
    distinct = np.empty(start[-1])
    for f in np.flatnonzero(n_ranks):
        rank, row = (order[f] >> _RANK).astype(np.int64), order[f] & _ROW
        is_value = rank > 0
        distinct[start[f] + rank[is_value] - 1] = values[f, row[is_value]]
    return distinct, start


def _check_memory(X: Matrix, n_rows: int) -> None:
    n_bytes = _BYTES_PER_VALUE * n_rows * X.shape[1]
    if isinstance(X, SparseMatrix) and n_bytes > _MOST_SPARSE_BYTES:
        raise DataError(
            f"X is sparse, with {n_rows} rows and {X.shape[1]} features. Exact splits, and "
            "features with more than 255 bins, need every value in order, stored or not: "
            f"{n_bytes / 2**30:.1f} GiB, and at most {_MOST_SPARSE_BYTES / 2**30:.0f} GiB are "
            "allowed. Use splits='histogram' with max_bins of at most 255, which keeps sparse "
            "data sparse"
        )
