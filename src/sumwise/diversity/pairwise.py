"""Measures of how alike two learners are, from the contingency table of their predictions."""

from collections.abc import Callable, Sequence
from itertools import combinations, combinations_with_replacement
from typing import Any, NamedTuple, Protocol

import numpy as np

from sumwise.diversity.inputs import (
    check_comparable,
    check_length,
    encode,
    read_ensemble,
    read_labels,
    read_sample_weight,
)
from sumwise.docstrings import fill_docstring
from sumwise.errors import DataError, ParameterError

# The measures by name, as functions of a contingency table.
MEASURES: dict[str, Callable[[np.ndarray], float]] = {}


def contingency_table(pred_i: Any, pred_j: Any, y: Any = None, *, sample_weight: Any = None) -> Any:
    """Count how often two learners predict each pair of labels.

    Parameters
    ----------
    pred_i, pred_j : array-like of shape (n_rows,)
        Labels that two learners predict.
    y : array-like of shape (n_rows,), default=None
        True labels. With them, the table counts right and wrong instead of labels.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of rows, which are summed instead of counting rows.

    Returns
    -------
    ndarray of shape (n_labels, n_labels)
        Entry [k, l] counts the rows where the first learner predicts label k and the second l, of
        all labels that occur, ascending. With ``y`` the first label is "right" and the second
        "wrong": in ``[[a, b], [c, d]]``, a counts rows where both are right, d where both are
        wrong.

    Examples
    --------
    >>> from sumwise.diversity import contingency_table
    >>> contingency_table([0, 0, 1, 1], [0, 1, 1, 1])
    array([[1., 1.],
           [0., 2.]])
    >>> contingency_table([0, 0, 1, 1], [0, 1, 1, 1], y=[0, 0, 1, 0])
    array([[2., 1.],
           [0., 1.]])
    """
    first, second = read_labels("pred_i", pred_i), read_labels("pred_j", pred_j)
    if first.size != second.size:
        raise DataError(f"pred_i has {first.size} rows, pred_j has {second.size}")
    check_comparable("pred_i", first, "pred_j", second)
    weight = read_sample_weight(sample_weight, first.size)
    if y is None:
        codes = encode(np.column_stack([first, second]))
        return _count(codes[:, 0], codes[:, 1], int(codes.max()) + 1, weight)
    truth = read_labels("y", y)
    check_length("y", truth, first.size)
    check_comparable("pred_i", first, "y", truth)
    return _count(first != truth, second != truth, 2, weight)


class PairMeasure(Protocol):
    """How alike two learners are."""

    def __call__(
        self, pred_i: Any, pred_j: Any, y: Any = None, *, sample_weight: Any = None
    ) -> float:
        """Return the measure of two learners' predictions."""


def _measure_pairs(of_table: Callable[[np.ndarray], float]) -> PairMeasure:
    """Make a formula of a contingency table a public function of two learners' predictions."""

    def measure(pred_i: Any, pred_j: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        _check_truth(of_table.__name__, y)
        return of_table(contingency_table(pred_i, pred_j, y, sample_weight=sample_weight))

    MEASURES[of_table.__name__] = of_table
    measure.__name__ = measure.__qualname__ = of_table.__name__
    measure.__doc__ = of_table.__doc__
    fill = fill_docstring(
        parameters="""
Parameters
----------
pred_i, pred_j, y, sample_weight : array-like
    As in :func:`contingency_table`.

Returns
-------
float"""
    )
    return fill(measure)


def _check_truth(measure: str, y: Any) -> None:
    if measure == "double_fault" and y is None:
        raise ParameterError("double_fault needs y: errors are counted against true labels")


# Measures are formulas of a table. Shares of rows that differ are summed, not subtracted from one,
# so that a sum that should be zero is exactly zero, also with weights.


@_measure_pairs
def disagreement(table: np.ndarray) -> float:
    """Share of rows on which two learners differ: (b + c) / m.

    With ``y``, learners differ if exactly one of them is right: two different wrong labels are
    both wrong.

    {parameters}
        From 0 for identical learners to 1.

    Examples
    --------
    >>> from sumwise.diversity import disagreement
    >>> disagreement([0, 0, 1, 1], [0, 1, 1, 1])
    0.25
    """
    return _sum_differing(table) / float(table.sum())


@_measure_pairs
def correlation(table: np.ndarray) -> float:
    """Correlation of two learners: (ad - bc) / sqrt((a+b) (a+c) (c+d) (b+d)).

    With more than two labels it is the correlation coefficient of Gorodkin (2004): the covariance
    of indicators, summed over labels. For two labels both are the same.

    {parameters}
        1 for identical learners and 0 for independent ones. If a learner is constant (0/0): 1 for
        identical learners, -1 for complementary ones, which never agree on one of two labels,
        otherwise 0.

    Examples
    --------
    >>> from sumwise.diversity import correlation
    >>> round(correlation([0, 0, 1, 1], [0, 1, 1, 1]), 4)
    0.5774
    """
    if _sum_differing(table) == 0.0:
        return 1.0
    table = _scale(table)
    first, second = table.sum(axis=1), table.sum(axis=0)
    spread = _chance_differing(first, first) * _chance_differing(second, second)
    if spread == 0.0:
        return _resolve_zero_by_zero(table)
    ratio = (_chance_differing(first, second) - _sum_differing(table)) / np.sqrt(spread)
    return float(np.clip(ratio, -1.0, 1.0))


@_measure_pairs
def q_statistic(table: np.ndarray) -> float:
    """Yule's Q of two learners: (ad - bc) / (ad + bc).

    It has the sign of the :func:`correlation` and is at least as large. With more than two labels
    it is the mean over labels of the Q of "this label" against "another".

    {parameters}
        From -1 to 1. For 0/0: 1 for identical learners, -1 for complementary ones, otherwise 0.

    Examples
    --------
    >>> from sumwise.diversity import q_statistic
    >>> q_statistic([0, 0, 0, 1, 1, 1], [0, 0, 1, 0, 1, 1])
    0.6
    """
    if _sum_differing(table) == 0.0:
        return 1.0
    table = _scale(table)
    if len(table) == 2:
        return _q_of_two(table)
    return float(np.mean([_q_of_two(_fold(table, k)) for k in range(len(table))]))


@_measure_pairs
def kappa(table: np.ndarray) -> float:
    """Agreement of two learners beyond chance (Cohen's kappa): (p1 - p2) / (1 - p2).

    p1 is the share of rows on which they agree, p2 the share on which independent learners with
    the same frequencies of labels would agree.

    {parameters}
        1 for identical learners (also if both are constant, which is 0/0), 0 for independent ones,
        negative for learners that agree less than by chance.

    Examples
    --------
    >>> from sumwise.diversity import kappa
    >>> kappa([0, 0, 1, 1], [0, 1, 1, 1])
    0.5
    """
    differing = _sum_differing(table)
    if differing == 0.0:
        return 1.0
    # Never 0/0 here: learners that differ somewhere would also differ by chance.
    total = float(table.sum())
    by_chance = _chance_differing(table.sum(axis=1) / total, table.sum(axis=0) / total)
    return 1.0 - differing / total / by_chance


@_measure_pairs
def double_fault(table: np.ndarray) -> float:
    """Share of rows on which both learners are wrong: d / m. It needs ``y``.

    {parameters}

    Examples
    --------
    >>> from sumwise.diversity import double_fault
    >>> double_fault([0, 0, 1, 1], [0, 1, 1, 1], y=[0, 0, 1, 0])
    0.25
    """
    return float(table[1, 1] / table.sum())


class PairwiseMatrix(NamedTuple):
    """A measure of every pair of learners.

    Attributes
    ----------
    labels : tuple of str
        Names of the learners.
    values : ndarray of shape (n_learners, n_learners)
        The measure of each pair; symmetric.
    measure : str
        Name of the measure.

    Examples
    --------
    >>> from sumwise.diversity import pairwise_matrix
    >>> matrix = pairwise_matrix([[0, 0], [1, 0], [1, 1]], labels=["tree", "forest"])
    >>> matrix.labels, matrix.measure
    (('tree', 'forest'), 'kappa')
    """

    labels: tuple[str, ...]
    values: np.ndarray
    measure: str


def pairwise_matrix(
    predictions: Any,
    y: Any = None,
    measure: str = "kappa",
    *,
    labels: Sequence[str] | None = None,
    sample_weight: Any = None,
) -> PairwiseMatrix:
    """Measure every pair of learners of an ensemble.

    Parameters
    ----------
    predictions : array-like of shape (n_rows, n_learners)
        Labels that each learner predicts.
    y : array-like of shape (n_rows,), default=None
        True labels; with them, right and wrong are compared instead of labels.
    measure : {"kappa", "disagreement", "correlation", "q_statistic", "double_fault"}
        Name of the measure.
    labels : sequence of str, default=None
        Names of the learners; None for "0", "1", ...
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of rows.

    Returns
    -------
    PairwiseMatrix

    Examples
    --------
    >>> from sumwise.diversity import pairwise_matrix
    >>> predictions = [[0, 0, 1], [0, 1, 1], [1, 1, 0], [1, 1, 0]]
    >>> pairwise_matrix(predictions, measure="disagreement").values
    array([[0.  , 0.25, 1.  ],
           [0.25, 0.  , 0.75],
           [1.  , 0.75, 0.  ]])
    """
    if measure not in MEASURES:
        raise ParameterError(f"measure={measure!r}: must be one of {', '.join(MEASURES)}")
    _check_truth(measure, y)
    codes, weight = read_ensemble(predictions, y, sample_weight)
    n_learners = codes.shape[1]
    names = name_learners(labels, n_learners)
    n_codes = int(codes.max()) + 1 if y is None else 2
    values = np.empty((n_learners, n_learners))
    columns = np.ascontiguousarray(codes.T)
    for i, j in combinations_with_replacement(range(n_learners), 2):
        table = _count(columns[i], columns[j], n_codes, weight)
        values[i, j] = values[j, i] = MEASURES[measure](table)
    return PairwiseMatrix(names, values, measure)


class KappaErrorPoints(NamedTuple):
    """Agreement and error of every pair of learners of an ensemble.

    Attributes
    ----------
    kappa : ndarray of shape (n_pairs,)
        Kappa of their labels.
    error : ndarray of shape (n_pairs,)
        Mean of their two errors.
    pairs : ndarray of int of shape (n_pairs, 2)
        Column indices of the two learners.

    Examples
    --------
    >>> from sumwise.diversity import kappa_error_points
    >>> points = kappa_error_points([[0, 0, 1], [0, 1, 1], [1, 1, 0]], y=[0, 1, 1])
    >>> points.pairs.tolist()
    [[0, 1], [0, 2], [1, 2]]
    """

    kappa: np.ndarray
    error: np.ndarray
    pairs: np.ndarray


def kappa_error_points(predictions: Any, y: Any, *, sample_weight: Any = None) -> KappaErrorPoints:
    """The points of a kappa-error diagram (Margineantu and Dietterich, 1997).

    Pairs of accurate learners are at the bottom, diverse pairs on the left. A good ensemble has
    points at the lower left.

    Parameters
    ----------
    predictions : array-like of shape (n_rows, n_learners)
        Labels that each learner predicts.
    y : array-like of shape (n_rows,)
        True labels, for the errors; kappa compares the predicted labels.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of rows.

    Returns
    -------
    KappaErrorPoints

    Examples
    --------
    >>> from sumwise.diversity import kappa_error_points
    >>> points = kappa_error_points([[0, 0, 1], [0, 1, 1], [1, 1, 0]], y=[0, 1, 1])
    >>> points.error.round(4)
    array([0.1667, 0.5   , 0.3333])
    """
    if y is None:
        raise ParameterError("kappa_error_points needs y: errors are counted against true labels")
    is_wrong, weight = read_ensemble(predictions, y, sample_weight)
    codes, _ = read_ensemble(predictions, None, None)
    error = weight @ is_wrong / weight.sum()
    pairs = np.array(list(combinations(range(codes.shape[1]), 2)))
    n_codes = int(codes.max()) + 1
    columns = np.ascontiguousarray(codes.T)
    kappas = [MEASURES["kappa"](_count(columns[i], columns[j], n_codes, weight)) for i, j in pairs]
    return KappaErrorPoints(np.array(kappas), error[pairs].mean(axis=1), pairs)


def name_learners(labels: Sequence[str] | None, n_learners: int) -> tuple[str, ...]:
    """Return names as given, or numbers."""
    if labels is None:
        return tuple(map(str, range(n_learners)))
    if len(labels) != n_learners:
        raise ParameterError(f"labels has {len(labels)} names for {n_learners} learners")
    return tuple(map(str, labels))


def _count(first: np.ndarray, second: np.ndarray, n_codes: int, weight: np.ndarray) -> np.ndarray:
    cell = first * np.intp(n_codes) + second
    return np.bincount(cell, weight, minlength=n_codes * n_codes).reshape(n_codes, n_codes)


def _sum_differing(table: np.ndarray) -> float:
    return float(table.sum(where=~np.eye(len(table), dtype=bool)))


def _chance_differing(first: np.ndarray, second: np.ndarray) -> float:
    """Sum over pairs of different labels of their products: m^2 (1 - p2)."""
    return _sum_differing(np.outer(first, second))


def _resolve_zero_by_zero(table: np.ndarray) -> float:
    """Return what a ratio 0/0 stands for, unless learners are identical."""
    return -1.0 if len(table) == 2 and not np.diag(table).any() else 0.0


def _scale(table: np.ndarray) -> np.ndarray:
    """Shares of rows, without labels that neither of the two learners uses."""
    is_used = (table.sum(axis=0) + table.sum(axis=1)) > 0
    return table[np.ix_(is_used, is_used)] / table.sum()


def _fold(table: np.ndarray, label: int) -> np.ndarray:
    """The table of one label against all others."""
    is_other = np.arange(len(table)) != label
    return np.array(
        [
            [table[label, label], table[label, is_other].sum()],
            [table[is_other, label].sum(), table[np.ix_(is_other, is_other)].sum()],
        ]
    )


def _q_of_two(table: np.ndarray) -> float:
    (a, b), (c, d) = table
    if b == 0.0 == c:
        return 1.0
    alike, unlike = a * d, b * c
    if alike + unlike == 0.0:
        return _resolve_zero_by_zero(table)
    return float((alike - unlike) / (alike + unlike))
