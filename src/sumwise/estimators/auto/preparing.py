"""NumericInputs: numbers and categories as scaled columns, for models that are no trees."""

from typing import Any, Self

import numpy as np
from scipy import sparse  # type: ignore[import-untyped]
from sklearn.base import BaseEstimator, TransformerMixin

# Columns of categories beyond this number are stored sparsely.
_MOST_DENSE = 128
# A scaled value v becomes v / sqrt(1 + (v / 3)^2): nothing is further away than this.
_FARTHEST = 3.0


class NumericInputs(TransformerMixin, BaseEstimator):
    """Scale numbers, replace missing ones, and give each frequent category a column.

    A missing number becomes the median, and is marked in a column of its own; a missing or rare
    category has no column. A sparse matrix is only divided by the largest values of its columns.

    Parameters
    ----------
    n_categories : ndarray of int64
        Number of categories of each feature, 0 for numbers.
    is_squashed : bool
        Whether numbers far away are pulled in: distances and networks suffer from outliers.
    most_levels : int
        Most categories of a feature that get a column.
    may_be_sparse : bool
        Whether the result may be a CSR matrix.
    """

    def __init__(
        self,
        n_categories: np.ndarray,
        is_squashed: bool = False,
        most_levels: int = 1000,
        may_be_sparse: bool = True,
    ) -> None:
        self.n_categories = n_categories
        self.is_squashed = is_squashed
        self.most_levels = most_levels
        self.may_be_sparse = may_be_sparse

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn medians, scales and frequent categories."""
        self.is_sparse_ = bool(sparse.issparse(X))
        if self.is_sparse_:
            largest = abs(_fill_sparse(X)).max(axis=0).toarray().ravel()
            self.scale_ = np.where(largest > 0.0, largest, 1.0)
            return self
        numbers = np.asarray(X, dtype=np.float64)[:, self.n_categories == 0]
        known = np.where(np.isfinite(numbers), numbers, np.nan)
        has_any = ~np.isnan(known).all(axis=0)
        known[:, ~has_any] = 0.0
        self.low_, self.high_ = np.nanmin(known, axis=0), np.nanmax(known, axis=0)
        self.median_ = np.nanmedian(known, axis=0)
        self.is_marked_ = np.isnan(numbers).any(axis=0) & has_any
        filled = self._fill(numbers)
        unit = self._find_unit()
        self.center_ = np.mean(filled / unit, axis=0) * unit
        deviation = np.std(filled / unit, axis=0) * unit
        self.scale_ = np.where(deviation > 0.0, deviation, 1.0)
        self.levels_ = [
            self._find_levels(np.asarray(X)[:, feature])
            for feature in np.flatnonzero(self.n_categories)
        ]
        return self

    def _find_unit(self) -> np.ndarray:
        """Return a power of two near the largest value of each column: no sum may overflow."""
        largest = np.maximum(np.abs(self.low_), np.abs(self.high_))
        return np.ldexp(1.0, np.frexp(np.where(largest > 0.0, largest, 1.0))[1] - 1)

    def _fill(self, numbers: np.ndarray) -> np.ndarray:
        filled = np.where(np.isnan(numbers), self.median_, numbers)
        return np.clip(filled, self.low_, self.high_) if np.isinf(filled).any() else filled

    def _find_levels(self, codes: np.ndarray) -> np.ndarray:
        levels, counts = np.unique(codes[~np.isnan(codes)], return_counts=True)
        order = np.argsort(-counts, kind="stable")[: self.most_levels]
        return np.sort(levels[order][counts[order] > 1])

    def transform(self, X: Any) -> Any:
        """Return the columns, as an array or as a CSR matrix."""
        if self.is_sparse_:
            return _fill_sparse(sparse.csr_matrix(X)).multiply(1.0 / self.scale_).tocsr()
        X = X.toarray() if sparse.issparse(X) else np.asarray(X)
        numbers = X[:, self.n_categories == 0].astype(np.float64)
        with np.errstate(over="ignore"):
            scaled = (self._fill(numbers) - self.center_) / self.scale_
        # Values beyond those of training may be any distance away.
        scaled = np.clip(scaled, -1e6, 1e6)
        if self.is_squashed:
            scaled /= np.sqrt(1.0 + (scaled / _FARTHEST) ** 2)
        marks = np.isnan(numbers[:, self.is_marked_]).astype(np.float64)
        dense = np.hstack([scaled, marks])
        n_levels = sum(levels.size for levels in self.levels_)
        if n_levels == 0:
            return dense if dense.shape[1] else np.zeros((len(X), 1))
        columns = self._list_columns(X)
        if n_levels > _MOST_DENSE and self.may_be_sparse:
            return sparse.hstack([dense, *columns], format="csr")
        return np.hstack([dense, *(each.toarray() for each in columns)])

    def _list_columns(self, X: np.ndarray) -> list[Any]:
        """Return a CSR matrix of 0 and 1 for each feature with frequent categories."""
        columns = []
        for feature, levels in zip(np.flatnonzero(self.n_categories), self.levels_, strict=True):
            if levels.size == 0:
                continue
            codes = X[:, feature]
            place = np.minimum(np.searchsorted(levels, codes), levels.size - 1)
            rows = np.flatnonzero(levels[place] == codes)
            shape = (len(X), levels.size)
            columns.append(sparse.csr_matrix((np.ones(rows.size), (rows, place[rows])), shape))
        return columns


def _fill_sparse(X: Any) -> Any:
    """Return a sparse matrix of float64 without missing values; infinities are very large."""
    X = X.tocsr().astype(np.float64)
    X.data = np.nan_to_num(X.data, nan=0.0, posinf=1e300, neginf=-1e300)
    return X
