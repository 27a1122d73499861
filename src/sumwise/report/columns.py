"""Columns of a table as codes and numbers, and what each says about the target alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sumwise.data.frames.reading import open_frame
from sumwise.data.frames.selection import take_rows
from sumwise.data.frames.values import show_values
from sumwise.data.sparse import is_sparse
from sumwise.errors import DataError
from sumwise.inspection.explanation import read_numbers, show_value
from sumwise.inspection.interacting import has_order

_N_BINS = 20
_N_BARS = 12
# A value of a group with few rows is drawn toward the mean, as if it had this many more rows.
_SMOOTHING = 1.0


@dataclass(frozen=True, eq=False)
class TableColumn:
    """A column of X.

    Attributes
    ----------
    name : str
    is_ordered : bool
        Whether it holds numbers or dates; otherwise categories.
    numbers : ndarray of float
        Its values; codes of categories; NaN for missing ones.
    labels : ndarray of str or None
        Texts of categories, "missing" included.
    values : ndarray
        What was read.
    """

    name: str
    is_ordered: bool
    numbers: np.ndarray
    labels: np.ndarray | None
    values: np.ndarray

    @property
    def n_missing(self) -> int:
        """Number of missing values."""
        return int(np.isnan(self.numbers).sum())

    @property
    def n_distinct(self) -> int:
        """Number of distinct values that are not missing."""
        return int(np.unique(self.numbers[~np.isnan(self.numbers)]).size)

    @property
    def kind(self) -> str:
        """What it holds, in a word."""
        if not self.is_ordered:
            return "category"
        known = self.values[~np.isnan(self.numbers)]
        first = known[0] if known.size else None
        if isinstance(first, np.datetime64):
            return "date"
        if isinstance(first, np.timedelta64):
            return "duration"
        if isinstance(first, (bool, np.bool_)):
            return "boolean"
        is_whole = bool(np.isfinite(self.numbers).any()) and bool(
            (self.numbers[np.isfinite(self.numbers)] % 1 == 0).all()
        )
        return "whole number" if is_whole else "number"

    def count_bars(self) -> np.ndarray:
        """Return a small histogram, or counts of the most frequent categories."""
        known = self.numbers[np.isfinite(self.numbers)]
        if not known.size:
            return np.zeros(0)
        if not self.is_ordered:
            counts = np.unique(known, return_counts=True)[1]
            return np.sort(counts)[::-1][:_N_BARS].astype(np.float64)
        return np.histogram(known, bins=_N_BARS)[0].astype(np.float64)

    def describe_range(self) -> str:
        """Return the range of numbers, or the most frequent categories."""
        if self.is_ordered:
            known = np.flatnonzero(np.isfinite(self.numbers))
            if not known.size:
                return ""
            low = known[self.numbers[known].argmin()]
            high = known[self.numbers[known].argmax()]
            return f"{show_value(self.values[low])} to {show_value(self.values[high])}"
        assert self.labels is not None
        found, counts = np.unique(self.labels[~np.isnan(self.numbers)], return_counts=True)
        order = np.argsort(-counts, kind="stable")[:3]
        more = ", …" if found.size > 3 else ""
        return ", ".join(str(found[k])[:24] for k in order) + more


def read_columns(X: Any, names: Sequence[str], rows: np.ndarray) -> list[TableColumn]:
    """Return the columns of some rows of X."""
    taken = take_rows(X, rows)
    frame = None if isinstance(taken, np.ndarray) or is_sparse(taken) else open_frame(taken)
    # Columns of a frame are found by name, in any order.
    by_name = frame is not None and set(names) <= set(frame.columns)
    values = show_values(taken, names if by_name else None)
    if values.ndim != 2 or values.shape[1] != len(names):
        raise DataError(
            f"expected rows of the {len(names)} features {', '.join(names[:5])}"
            f"{', ...' if len(names) > 5 else ''}; got an array of shape {values.shape}"
        )
    return [_read_column(name, values[:, k]) for k, name in enumerate(names)]


def _read_column(name: str, values: np.ndarray) -> TableColumn:
    is_ordered = has_order(values)
    numbers = np.asarray(read_numbers(values), dtype=np.float64)
    labels = None if is_ordered else np.array([show_value(value) for value in values], dtype=str)
    return TableColumn(name, is_ordered, numbers, labels, values)


def hash_rows(columns: Sequence[TableColumn]) -> np.ndarray:
    """Return a number per row, equal for rows with equal values."""
    n_rows = columns[0].numbers.size if columns else 0
    total = np.full(n_rows, 0x9E3779B97F4A7C15, dtype=np.uint64)
    for column in columns:
        bits = (
            (column.numbers + 0.0).view(np.uint64).copy()  # -0.0 becomes 0.0
            if column.labels is None
            else np.array([_hash_text(label) for label in column.labels], dtype=np.uint64)
        )
        bits[np.isnan(column.numbers)] = 1
        total = (total ^ (bits ^ (bits >> np.uint64(29)))) * np.uint64(0xBF58476D1CE4E5B9)
        total ^= total >> np.uint64(32)
    return total


def _hash_text(text: str) -> int:
    """Return 64 bits of a text, the same in every process."""
    from hashlib import blake2b

    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def measure_skill(column: TableColumn, target: np.ndarray) -> float:
    """Return how much of the target's variance a column predicts alone, in unseen rows.

    Half of the rows give the mean of the target per bin or category, with which the other half is
    predicted, and the reverse. Targets are numbers, or shares of classes, of shape (n_rows, k).
    """
    groups = _group(column)
    total = float(((target - target.mean(axis=0)) ** 2).sum())
    if total <= 0.0:
        return 0.0
    is_first = np.random.default_rng(0).random(len(target)) < 0.5
    lost = 0.0
    for learned in (is_first, ~is_first):
        if not learned.any():
            return 0.0
        mean = target[learned].mean(axis=0)
        n_groups = int(groups.max()) + 1
        counts = np.bincount(groups[learned], minlength=n_groups)[:, None]
        sums = np.column_stack(
            [np.bincount(groups[learned], own, n_groups) for own in target[learned].T]
        )
        by_group = (sums + _SMOOTHING * mean) / (counts + _SMOOTHING)
        lost += float(((target[~learned] - by_group[groups[~learned]]) ** 2).sum())
    return max(1.0 - lost / total, _measure_line(column, target), 0.0)


def _measure_line(column: TableColumn, target: np.ndarray) -> float:
    """Return the squared correlation of numbers, which bins cannot follow to the end."""
    known = np.isfinite(column.numbers)
    if not column.is_ordered or target.shape[1] > 1 or known.sum() < 10 or not known.all():
        return 0.0
    x, y = column.numbers - column.numbers.mean(), target[:, 0] - target[:, 0].mean()
    scale = float((x @ x) * (y @ y))
    return float((x @ y) ** 2 / scale) if scale > 0.0 else 0.0


def _group(column: TableColumn) -> np.ndarray:
    numbers = column.numbers
    is_known = ~np.isnan(numbers)
    groups = np.zeros(numbers.size, dtype=np.intp)
    known = numbers[is_known]
    if column.is_ordered and np.unique(known).size > _N_BINS:
        cuts = np.quantile(known, np.linspace(0, 1, _N_BINS + 1)[1:-1], method="nearest")
        groups[is_known] = np.searchsorted(np.unique(cuts), known, side="right") + 1
    else:
        groups[is_known] = np.unique(known, return_inverse=True)[1] + 1
    return groups


def to_target(y: np.ndarray, is_classification: bool) -> np.ndarray:
    """Return the target as columns of numbers: itself, or an indicator per class."""
    if not is_classification:
        return np.asarray(y, dtype=np.float64)[:, np.newaxis]
    classes, codes = np.unique(y, return_inverse=True)
    return np.eye(classes.size)[codes]
