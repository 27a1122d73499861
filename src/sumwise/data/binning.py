"""Where the bins of each feature end, and the mapping of values to bins."""

from dataclasses import dataclass

import numpy as np

from sumwise.data.binned import BinnedData
from sumwise.data.matrix import read_chunks
from sumwise.kernels import binning as kernels
from sumwise.kernels import random
from sumwise.kernels.threads import Team

MAX_BINS = 255
# Quantiles are taken from this many rows of a larger data set.
SAMPLE_ROWS = 200_000


def threshold_between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return t with low <= t < high for neighboring values, so that low goes left and high right.

    The midpoint, where there is one. Below +inf it is the largest finite number, so that every
    finite value goes left; above -inf it is -inf.
    """
    low, high = low.astype(np.float64), high.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        middle = (low + high) / 2
        middle = np.where(np.isfinite(middle), middle, low / 2 + high / 2)
    # Neighbors in float64 have no number between them: the lower one is the threshold.
    middle = np.where((low <= middle) & (middle < high), middle, low)
    middle = np.where(np.isneginf(low), low, middle)
    return np.where(np.isposinf(high), np.finfo(np.float64).max, middle)


@dataclass(frozen=True)
class BinMapper:
    """The thresholds of every feature; a value belongs to the first bin whose threshold is not
    below it. Bin 0 is for missing values.

    Attributes
    ----------
    thresholds : list of ndarray
        Ascending float64 thresholds, one array a feature.
    """

    thresholds: list[np.ndarray]

    @classmethod
    def fit(
        cls,
        X: np.ndarray,
        max_bins: int = MAX_BINS,
        sample_weight: np.ndarray | None = None,
        rows: np.ndarray | None = None,
        seed: int = 0,
    ) -> "BinMapper":
        """Find the thresholds from ``rows`` of X.

        A feature with at most ``max_bins`` distinct values gets a bin for each. Otherwise the
        bins hold about equal weight, measured on a sample if the data is large.
        """
        rows = np.arange(X.shape[0], dtype=np.uint32) if rows is None else rows
        if sample_weight is not None:
            rows = rows[sample_weight[rows] > 0]
        sample, sampled = rows, None
        if rows.size > SAMPLE_ROWS:
            sample = np.empty(SAMPLE_ROWS, dtype=np.uint32)
            random.choose_rows(random.make_key(seed, random.BINNING, 0), rows, sample)
            sampled = X[sample]
        weight = None if sample_weight is None else sample_weight[sample]
        thresholds = []
        for f in range(X.shape[1]):
            # One column at a time: X[rows] would be a second matrix.
            column = X[:, f] if rows.size == X.shape[0] else X[rows, f]
            distinct = _find_distinct(column, max_bins)
            if distinct is None:
                values = column if sampled is None else sampled[:, f]
                distinct, cuts = _cut_quantiles(_as_float(values), weight, max_bins)
                thresholds.append(threshold_between(distinct[cuts], distinct[cuts + 1]))
            else:
                thresholds.append(threshold_between(distinct[:-1], distinct[1:]))
        return cls(thresholds)

    def transform(self, X: np.ndarray, team: Team) -> BinnedData:
        """Map all of X to bins."""
        n_rows, n_features = X.shape
        padded = np.full((n_features, MAX_BINS), np.inf)
        for f, ends in enumerate(self.thresholds):
            padded[f, : ends.size] = ends
        columns = np.empty((n_features, n_rows), dtype=np.uint8)
        for first, part in read_chunks(X):
            team.run(
                kernels.map_to_bins,
                part.values,
                part.row_stride,
                part.column_stride,
                padded,
                first,
                columns,
            )
        n_value_bins = np.array([t.size + 1 for t in self.thresholds], dtype=np.int64)
        return BinnedData.from_columns(columns, n_value_bins, team)

    def threshold(self, feature: int, split_bin: int) -> float:
        """The largest value that goes left in a split after a bin; inf after the last."""
        ends = self.thresholds[feature]
        return float(ends[split_bin - 1]) if split_bin <= ends.size else np.inf

    def flatten(self) -> tuple[np.ndarray, np.ndarray]:
        """Return all thresholds in one array, and the place before the first of each feature.

        Entry ``place + b`` is the threshold of a split after bin b. Leaves, which have feature -1
        and bin 0, find 0.
        """
        parts = [np.append(ends, np.inf) for ends in self.thresholds]
        ends = np.cumsum([0, *(part.size for part in parts)])
        return np.concatenate([[0.0], *parts]), np.append(ends[:-1], 0)


def _as_float(column: np.ndarray) -> np.ndarray:
    kind = np.float32 if column.dtype in (np.float16, np.float32) else np.float64
    return column.astype(kind) if column.dtype != kind or not column.dtype.isnative else column


def _find_distinct(column: np.ndarray, max_bins: int) -> np.ndarray | None:
    """The sorted distinct values that are not missing, or None if there are too many."""
    head = np.unique(_as_float(column[: 8 * MAX_BINS]), equal_nan=True)
    if head.size > max_bins + 1:  # one of them may be nan
        return None
    column = np.array(_as_float(column))  # a copy of one column, contiguous and our own
    found = np.empty(max_bins, dtype=column.dtype)
    n_found = kernels.find_distinct(column, max_bins, found)
    return None if n_found > max_bins else found[:n_found]


def _cut_quantiles(
    values: np.ndarray, weight: np.ndarray | None, max_bins: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct values of a sample and the indices of those that end a bin."""
    present = ~np.isnan(values)
    values = values[present]
    if values.size == 0:  # the sample has missed the few values there are
        return values, np.empty(0, dtype=np.int64)
    if weight is None:
        values = np.sort(values)
        starts = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
        mass = np.diff(np.append(starts, values.size)).astype(np.float64)
    else:
        order = np.argsort(values, kind="stable")
        values, weight = values[order], weight[present][order]
        starts = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1])))
        mass = np.add.reduceat(weight, starts).astype(np.float64)
    distinct = values[starts]
    if distinct.size <= max_bins:
        return distinct, np.arange(distinct.size - 1)
    is_heavy = np.empty(distinct.size, dtype=np.bool_)
    is_last = np.empty(distinct.size, dtype=np.bool_)
    kernels.cut_by_weight(mass, max_bins, is_heavy, is_last)
    return distinct, np.flatnonzero(is_last)
