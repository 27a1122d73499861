"""Votes of classifiers: counted, decided, rejected.

Classes are indices 0, 1, ...; labels are an array of class indices of shape (n_members, n_rows).
The share of a class is its fraction of all votes in a row; the shares of a row sum to 1.
"""

from typing import NamedTuple

import numpy as np

REJECTED = -1

# Shares that differ by less than this are equal up to rounding.
_TIE = 1e-12


class RejectReport(NamedTuple):
    """Coverage and accuracy of a vote with a reject option.

    Attributes
    ----------
    coverage : float
        Share of the rows that were not rejected.
    accuracy : float
        Share of these that got the right class; NaN if all rows were rejected.
    n_rejected : int
        Number of rejected rows.
    """

    coverage: float
    accuracy: float
    n_rejected: int


def share_labels(
    labels: np.ndarray, n_classes: int, weights: np.ndarray | None = None
) -> np.ndarray:
    """Return the share of each class in the members' labels, shape (n_rows, n_classes)."""
    n_members, n_rows = labels.shape
    shares = np.zeros((n_rows, n_classes))
    rows = np.arange(n_rows)
    for member in range(n_members):
        shares[rows, labels[member]] += 1.0 if weights is None else weights[member]
    return shares / (n_members if weights is None else weights.sum())


def share_probabilities(probabilities: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the weighted mean of the members' probabilities, shape (n_rows, n_classes)."""
    return np.average(probabilities, axis=0, weights=weights)


def measure_accuracy(
    labels: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None
) -> np.ndarray:
    """Return the share of rows that each member labels correctly."""
    return np.average(labels == y, axis=1, weights=sample_weight)


def vote_by_majority(shares: np.ndarray) -> np.ndarray:
    """Return the class with more than half of all votes, ``REJECTED`` if there is none."""
    best = shares.argmax(axis=1)
    has_majority = shares.max(axis=1) > 0.5 + _TIE
    return np.where(has_majority, best, REJECTED)


def find_ties(shares: np.ndarray) -> np.ndarray:
    """Return whether each class has the most votes of its row, (n_rows, n_classes)."""
    return shares >= shares.max(axis=1, keepdims=True) - _TIE


def break_ties_by_hash(is_tied: np.ndarray, keys: np.ndarray, seed: int) -> np.ndarray:
    """Return one of the tied classes of each row, all with the same probability.

    ``is_tied``, (n_rows, n_classes), has at least one class per row. ``keys`` are 64-bit hashes of
    the rows: rows with equal keys and equal ties get equal classes.
    """
    draws = scramble(keys ^ scramble(np.array(seed, dtype=np.uint64)))
    n_tied = is_tied.sum(axis=1)
    # The upper 53 bits as a number in [0, 1).
    chosen = ((draws >> np.uint64(11)) * 2.0**-53 * n_tied).astype(np.intp)
    rank = is_tied.cumsum(axis=1) - 1
    return (is_tied & (rank == chosen[:, np.newaxis])).argmax(axis=1)


def break_ties_by_confidence(is_tied: np.ndarray, confidence: np.ndarray) -> np.ndarray:
    """Return the tied class of each row with the highest confidence; ties go to the first."""
    return np.where(is_tied, confidence, -np.inf).argmax(axis=1)


def scramble(values: np.ndarray) -> np.ndarray:
    """Return 64 bits that look random for each uint64 (the finalizer of splitmix64)."""
    with np.errstate(over="ignore"):
        mixed = values + np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def report_rejects(
    decided: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None = None
) -> RejectReport:
    """Compare decided classes, some of them ``REJECTED``, with the true ones."""
    weight = np.ones(y.size) if sample_weight is None else sample_weight
    accepted = decided != REJECTED
    total = weight[accepted].sum()
    right = weight[accepted & (decided == y)].sum()
    return RejectReport(
        coverage=float(total / weight.sum()),
        accuracy=float(right / total) if total > 0.0 else float("nan"),
        n_rejected=int(np.sum(~accepted)),
    )
