"""Drift: columns whose values differ between the training rows and the rows of the report."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sumwise.report.columns import TableColumn

# Of all columns together, how often drift is reported where there is none.
_LEVEL = 0.01
# Smaller distances are certain with many rows, and seldom matter.
_SMALLEST = 0.1


class Drift(NamedTuple):
    """How much a column differs between two tables.

    Attributes
    ----------
    name : str
    distance : float
        Largest difference of the distribution functions of numbers; of categories, half the sum of
        the differences of their shares. Between 0 and 1.
    is_certain : bool
        Whether it is larger than chance explains, and at least 0.1.
    n_new : int
        Categories that the training rows do not have.
    missing : (float, float)
        Shares of missing values in the training rows and in the other rows.
    """

    name: str
    distance: float
    is_certain: bool
    n_new: int
    missing: tuple[float, float]


def find_drift(train: Sequence[TableColumn], test: Sequence[TableColumn]) -> list[Drift]:
    """Return the drift of each column, the largest first."""
    found = [_compare(a, b, len(train)) for a, b in zip(train, test, strict=True)]
    return sorted(found, key=lambda drift: -drift.distance)


def _compare(train: TableColumn, test: TableColumn, n_columns: int) -> Drift:
    n_train, n_test = train.numbers.size, test.numbers.size
    missing = train.n_missing / max(n_train, 1), test.n_missing / max(n_test, 1)
    n_new = 0
    if train.is_ordered and test.is_ordered:
        # Missing values are less than all others.
        a = np.where(np.isnan(train.numbers), -np.inf, train.numbers)
        b = np.where(np.isnan(test.numbers), -np.inf, test.numbers)
        distance, n_free = _compare_numbers(a, b), 1
    else:
        a, b = _to_texts(train), _to_texts(test)
        n_new = len(set(b.tolist()) - set(a.tolist()))
        distance, n_free = _compare_shares(a, b)
    # Smirnov's bound, and for categories McDiarmid's around the expected distance.
    share = _LEVEL / (2.0 * max(n_columns, 1))
    scale = np.sqrt((n_train + n_test) / max(n_train * n_test, 1))
    chance = np.sqrt(-0.5 * np.log(share)) * scale
    if n_free > 1:
        chance += 0.5 * np.sqrt(n_free) * scale
    return Drift(train.name, distance, distance > max(chance, _SMALLEST), n_new, missing)


def _to_texts(column: TableColumn) -> np.ndarray:
    return column.numbers.astype(str) if column.labels is None else column.labels


def _compare_numbers(a: np.ndarray, b: np.ndarray) -> float:
    """Return the statistic of Kolmogorov and Smirnov."""
    places = np.unique(np.concatenate([a, b]))
    below_a = np.searchsorted(np.sort(a), places, side="right") / max(a.size, 1)
    below_b = np.searchsorted(np.sort(b), places, side="right") / max(b.size, 1)
    return float(np.abs(below_a - below_b).max(initial=0.0))


def _compare_shares(a: np.ndarray, b: np.ndarray) -> tuple[float, int]:
    """Return the total variation distance, and the number of categories."""
    found, places = np.unique(np.concatenate([a, b]), return_inverse=True)
    of_a = np.bincount(places[: a.size], minlength=found.size) / max(a.size, 1)
    of_b = np.bincount(places[a.size :], minlength=found.size) / max(b.size, 1)
    return 0.5 * float(np.abs(of_a - of_b).sum()), int(found.size)
