"""RankedColumns: the place of every value among all distinct values of its feature."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sumwise.data.binning import BinMapper
from sumwise.data.categories.set_splits import Native
from sumwise.data.matrix import Matrix, find_float_type, read_chunks
from sumwise.data.sparse import SparseMatrix
from sumwise.data.thresholds import threshold_between
from sumwise.errors import DataError
from sumwise.kernels.runtime.sort import N_DIGIT_VALUES
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.binning import gather_keys
from sumwise.kernels.table.ranks import map_to_ranks, rank_keys

# Values of several columns that are sorted together: a bound for memory.
_KEYS = 1 << 21
# Ranks are kept of every value, stored or not.
_MOST_SPARSE_BYTES = 1 << 32


@dataclass(frozen=True)
class RankedColumns:
    """Ranks of values, and the thresholds between neighboring distinct values.

    The rank of a value is 1 + the number of thresholds below it: 1 for the smallest value of the
    training rows, ``n_values`` for the largest. 0 is for missing values.

    Attributes
    ----------
    ranks : ndarray of uint32, shape (n_ranked, n_rows)
        A row for each of ``features``.
    features : ndarray of int64
        Those that have ranks, in rising order.
    mapper : BinMapper
        All thresholds of every feature, any number of them. Ranks of a categorical feature are its
        bins.
    """

    ranks: np.ndarray
    features: np.ndarray
    mapper: BinMapper

    @classmethod
    def fit(
        cls,
        X: Matrix,
        rows: np.ndarray,
        team: Team,
        X_val: Matrix | None = None,
        n_categories: np.ndarray | None = None,
        native: Native | None = None,
        more_than: int | None = None,
        features: np.ndarray | None = None,
    ) -> "RankedColumns":
        """Rank all rows of X, and after them those of X_val, by the values in ``rows`` of X.

        Every feature has ranks; with ``more_than`` only numeric ones with more distinct values
        than that. Then it may be known that only some ``features`` can have so many; the others
        have no thresholds.
        """
        if n_categories is None:
            n_categories = np.zeros(X.shape[1], dtype=np.int64)
        others = (X,) if X_val is None else (X, X_val)
        n_rows = sum(other.shape[0] for other in others)
        if features is None:
            features = np.flatnonzero(n_categories == 0)
        _check_memory(X, n_rows, features.size)
        ranks = np.empty((X.shape[1], n_rows), dtype=np.uint32)  # untouched pages cost nothing
        thresholds = [np.empty(0)] * X.shape[1]
        kept: list[int] = []
        for group in _group_features(features, rows.size, team):
            part = np.empty((group.size, n_rows), dtype=np.uint32)
            found = _rank_group(X, group, rows, part, team)
            _map_others(others, group, rows, found, part, team)
            for f, own, own_ranks in zip(group, found, part, strict=True):
                thresholds[f] = own
                if more_than is None:
                    ranks[f] = own_ranks
                elif own.size + 1 > more_than:
                    ranks[len(kept)] = own_ranks
                    kept.append(int(f))
        categories = BinMapper.fit_categories(X, rows, n_categories, team, native)
        mapper = BinMapper(thresholds, categories, Native() if native is None else native)
        if more_than is not None:
            return cls(ranks[: len(kept)], np.array(kept, dtype=np.int64), mapper)
        ranked = cls(ranks, np.arange(X.shape[1]), mapper)
        ranked._write_categories(others, ranks, team)
        return ranked

    @classmethod
    def from_bins(
        cls, mapper: BinMapper, matrices: Sequence[Matrix], team: Team
    ) -> "RankedColumns":
        """Rank the rows of matrices, one after the other, by bins, any number of them."""
        features = np.arange(matrices[0].shape[1])
        ranked = cls(np.empty((0, 0), dtype=np.uint32), features, mapper)
        return replace(ranked, ranks=ranked.find_ranks(matrices, team))

    def find_ranks(self, matrices: Sequence[Matrix], team: Team) -> np.ndarray:
        """Rank other rows, one matrix after the other, by the same thresholds and categories."""
        n_rows = sum(matrix.shape[0] for matrix in matrices)
        ranks = np.empty((self.features.size, n_rows), dtype=np.uint32)
        thresholds = [self.mapper.thresholds[f] for f in self.features]
        none = np.empty(0, dtype=np.uint32)
        _map_others(matrices, self.features, none, thresholds, ranks, team)
        self._write_categories(matrices, ranks, team)
        return ranks

    def _write_categories(self, matrices: Sequence[Matrix], ranks: np.ndarray, team: Team) -> None:
        """Write the bins of categorical features, if these have ranks."""
        begin = 0
        for matrix in matrices if self.features.size == len(self.mapper.thresholds) else ():
            self.mapper.write_categories(matrix, ranks, begin, team)
            begin += matrix.shape[0]

    @property
    def n_values(self) -> np.ndarray:
        """Distinct values of each of ``features`` (int64): the largest rank."""
        thresholds, categories = self.mapper.thresholds, self.mapper.categories
        return np.array(
            [
                categories[f].n_value_bins if f in categories else thresholds[f].size + 1
                for f in self.features.tolist()
            ],
            dtype=np.int64,
        )


def _check_memory(X: Matrix, n_rows: int, n_features: int) -> None:
    n_bytes = 4 * n_rows * n_features
    if isinstance(X, SparseMatrix) and n_bytes > _MOST_SPARSE_BYTES:
        raise DataError(
            f"a sparse X of {n_rows} rows, and {n_features} features with many values: splits that "
            "are not those of histograms need the ranks of all of them, stored or not: "
            f"{n_bytes / 2**30:.1f} GiB, and {_MOST_SPARSE_BYTES / 2**30:.0f} GiB are the most; "
            "use splits='histogram'"
        )


def _group_features(features: np.ndarray, n_rows: int, team: Team) -> list[np.ndarray]:
    """Part features into groups that are sorted together, as many for each thread."""
    width = max(team.n_threads, _KEYS // max(1, n_rows))
    n_groups = -(-features.size // width)
    return np.array_split(features, n_groups) if n_groups else []


def _rank_group(
    X: Matrix, features: np.ndarray, rows: np.ndarray, ranks: np.ndarray, team: Team
) -> list[np.ndarray]:
    """Write the ranks of ``rows``; return the thresholds of each of the features."""
    kind = find_float_type(X.dtype)
    bits = np.uint32 if kind == np.float32 else np.uint64
    n_busy = min(team.n_threads, features.size)
    keys = np.empty((features.size, rows.size), dtype=bits)
    for first, part in read_chunks(X):
        begin, end = np.searchsorted(rows, [first, first + part.n_rows])
        team.run(gather_keys, *part, first, rows[begin:end], int(begin), features, keys)
    n_values = np.zeros(features.size, dtype=np.int64)
    scratch = (
        np.empty((n_busy, rows.size), dtype=bits),
        np.empty((n_busy, 2, rows.size), dtype=np.uint32),
        np.empty((n_busy, N_DIGIT_VALUES), dtype=np.uint32),
    )
    if rows.size:
        team.run(rank_keys, keys, rows, *scratch, ranks, n_values)
    values = keys.view(kind)
    return [
        threshold_between(own[: max(n - 1, 0)], own[min(n, 1) : n])
        for own, n in zip(values, n_values, strict=True)
    ]


def _map_others(
    matrices: Sequence[Matrix],
    features: np.ndarray,
    ranked: np.ndarray,
    thresholds: list[np.ndarray],
    ranks: np.ndarray,
    team: Team,
) -> None:
    """Write the ranks of all rows but those of the first matrix that have been ranked."""
    if len(matrices) == 1 and ranked.size == matrices[0].shape[0]:
        return
    start = np.cumsum([0, *(own.size for own in thresholds)])
    flat = np.concatenate([np.empty(0), *thresholds])
    begin = 0
    for number, matrix in enumerate(matrices):
        is_open = np.ones(matrix.shape[0], dtype=np.bool_)
        if number == 0:
            is_open[ranked] = False
        rows = np.flatnonzero(is_open).astype(np.uint32)
        for first, part in read_chunks(matrix) if rows.size else ():
            low, high = np.searchsorted(rows, [first, first + part.n_rows])
            where = (first, rows[low:high], begin)
            team.run(map_to_ranks, *part, *where, features, flat, start, ranks)
        begin += matrix.shape[0]
