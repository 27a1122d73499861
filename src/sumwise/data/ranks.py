"""RankedColumns: the rank of every value among the distinct values of its feature."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sumwise.data.binning import BinMapper
from sumwise.data.categories.set_splits import Native
from sumwise.data.dtypes import find_bits_type, find_float_type
from sumwise.data.matrix import Matrix, read_rows
from sumwise.data.sparse import SparseMatrix
from sumwise.data.thresholds import gather_keys, group_features, threshold_between
from sumwise.errors import DataError
from sumwise.kernels.runtime.sort import N_DIGIT_VALUES
from sumwise.kernels.runtime.threads import Team
from sumwise.kernels.table.ranks import map_to_ranks, rank_keys

# The most memory for the ranks of a sparse matrix, including those of its zeros.
_MOST_SPARSE_BYTES = 1 << 32


@dataclass(frozen=True)
class RankedColumns:
    """Ranks of values, and the thresholds between neighboring distinct values.

    The rank of a value is 1 + the number of thresholds below it: the smallest value of the training
    rows has rank 1, the largest ``n_values``. Missing values have rank 0.

    Attributes
    ----------
    ranks : ndarray of uint32, shape (n_ranked, n_rows)
        One row for each of ``features``.
    features : ndarray of int64
        The features that have ranks, ascending.
    mapper : BinMapper
        All thresholds of every feature, any number of them. The rank of a category is its bin.
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
        """Rank all rows of X, followed by the rows of X_val, by the values in ``rows`` of X.

        Every feature gets ranks. With ``more_than``, only numeric features with more distinct
        values get them; ``features`` then lists those that can have so many, and all other
        features get no thresholds.
        """
        if n_categories is None:
            n_categories = np.zeros(X.shape[1], dtype=np.int64)
        matrices = [X] if X_val is None else [X, X_val]
        n_rows = sum(matrix.shape[0] for matrix in matrices)
        if features is None:
            features = np.flatnonzero(n_categories == 0)
        _check_memory(X, n_rows, features.size)
        ranks = np.empty((X.shape[1], n_rows), dtype=np.uint32)  # untouched pages cost nothing
        thresholds = [np.empty(0)] * X.shape[1]
        kept: list[int] = []
        for group in group_features(features.size, rows.size, team):
            own_features = features[group]
            part = np.empty((own_features.size, n_rows), dtype=np.uint32)
            found = _rank_group(X, own_features, rows, part, team)
            _map_others(matrices, own_features, rows, found, part, team)
            for f, own, own_ranks in zip(own_features, found, part, strict=True):
                thresholds[f] = own
                if more_than is None:
                    ranks[f] = own_ranks
                elif own.size + 1 > more_than:
                    ranks[len(kept)] = own_ranks
                    kept.append(int(f))
        native = native or Native()
        categories = BinMapper.fit_categories(X, rows, n_categories, team, native)
        mapper = BinMapper(thresholds, categories, native)
        if more_than is not None:
            return cls(ranks[: len(kept)], np.array(kept, dtype=np.int64), mapper)
        ranked = cls(ranks, np.arange(X.shape[1]), mapper)
        ranked._write_categories(matrices, ranks, team)
        return ranked

    @classmethod
    def from_bins(
        cls, mapper: BinMapper, matrices: Sequence[Matrix], team: Team
    ) -> "RankedColumns":
        """Take bins, any number of them, as the ranks of the rows of some matrices."""
        features = np.arange(matrices[0].shape[1])
        ranked = cls(np.empty((0, 0), dtype=np.uint32), features, mapper)
        return replace(ranked, ranks=ranked.find_ranks(matrices, team))

    def find_ranks(self, matrices: Sequence[Matrix], team: Team) -> np.ndarray:
        """Rank the rows of other matrices by the same thresholds and categories."""
        n_rows = sum(matrix.shape[0] for matrix in matrices)
        ranks = np.empty((self.features.size, n_rows), dtype=np.uint32)
        thresholds = [self.mapper.thresholds[f] for f in self.features]
        none = np.empty(0, dtype=np.uint32)
        _map_others(matrices, self.features, none, thresholds, ranks, team)
        self._write_categories(matrices, ranks, team)
        return ranks

    def _write_categories(self, matrices: Sequence[Matrix], ranks: np.ndarray, team: Team) -> None:
        """Write the bins of categorical features, if all features have ranks."""
        begin = 0
        for matrix in matrices if self.features.size == len(self.mapper.thresholds) else ():
            self.mapper.write_categories(matrix, ranks, begin, team)
            begin += matrix.shape[0]

    @property
    def n_values(self) -> np.ndarray:
        """The number of distinct values of each of ``features`` (int64): its largest rank."""
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
            f"X is sparse, with {n_rows} rows and {n_features} features of many values. These "
            "splits need the rank of every value, stored or not: "
            f"{n_bytes / 2**30:.1f} GiB, and at most {_MOST_SPARSE_BYTES / 2**30:.0f} GiB are "
            "allowed. Use splits='histogram'"
        )


def _rank_group(
    X: Matrix, features: np.ndarray, rows: np.ndarray, ranks: np.ndarray, team: Team
) -> list[np.ndarray]:
    """Write the ranks of ``rows``; return the thresholds of each feature."""
    bits, n_busy = find_bits_type(X.dtype), min(team.n_threads, features.size)
    keys = np.empty((features.size, rows.size), dtype=bits)
    gather_keys(X, features, rows, keys, team)
    n_values = np.zeros(features.size, dtype=np.int64)
    scratch = (
        np.empty((n_busy, rows.size), dtype=bits),
        np.empty((n_busy, 2, rows.size), dtype=np.uint32),
        np.empty((n_busy, N_DIGIT_VALUES), dtype=np.uint32),
    )
    if rows.size:
        team.run(rank_keys, keys, rows, *scratch, ranks, n_values)
    values = keys.view(find_float_type(X.dtype))
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
    """Write the ranks of all rows, except those of the first matrix that are ``ranked``."""
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
        for first, part, _, own in read_rows(matrix, rows) if rows.size else ():
            team.run(map_to_ranks, part, first, own, begin, features, flat, start, ranks)
        begin += matrix.shape[0]
