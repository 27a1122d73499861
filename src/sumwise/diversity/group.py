"""Measures of the diversity of a whole ensemble."""

from typing import Any

import numpy as np

from sumwise.diversity.inputs import average_rows, read_ensemble
from sumwise.docstrings import fill_docstring
from sumwise.errors import ParameterError

_document = fill_docstring(
    parameters="""
Parameters
----------
predictions, y, sample_weight : array-like
    As in :func:`kohavi_wolpert_variance`.

Returns
-------
float"""
)


def kohavi_wolpert_variance(predictions: Any, y: Any = None, *, sample_weight: Any = None) -> float:
    """Kohavi-Wolpert variance: how much the labels of a row vary from learner to learner.

    It is the mean over rows of ``1/2 (1 - sum(P(k)^2))``, where P(k) is the share of learners that
    predict k. With ``y`` there are two answers, right and wrong: ``l (L - l) / L^2`` with l of L
    learners right. Both are (L-1) / (2L) times the mean of the pairwise disagreements.

    Parameters
    ----------
    predictions : array-like of shape (n_rows, n_learners)
        Labels that each learner predicts.
    y : array-like of shape (n_rows,), default=None
        True labels; with them, right and wrong are compared instead of labels.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of rows.

    Returns
    -------
    float
        0 if all learners always agree; at most 1/4 with two answers, 1/2 with any number.

    Examples
    --------
    >>> from sumwise.diversity import kohavi_wolpert_variance
    >>> kohavi_wolpert_variance([[0, 0, 1, 1], [1, 1, 1, 1]], y=[0, 1])
    0.125
    """
    share, weight = _read_shares(predictions, y, sample_weight)
    return average_rows(0.5 * (1.0 - (share**2).sum(axis=1)), weight)


@_document
def interrater_kappa(predictions: Any, y: Any = None, *, sample_weight: Any = None) -> float:
    """Interrater agreement of all learners beyond chance (Fleiss' kappa).

    With ``y`` it is ``1 - sum(l (L - l)) / (m L (L-1) p (1-p))``, with l of L learners right in a
    row and p the mean share of right answers. Without ``y``, labels replace right and wrong.

    {parameters}
        1 if all learners always agree (also if all predictions are equal, which is 0/0), 0 if they
        agree as often as by chance, negative if they agree less.

    Examples
    --------
    >>> from sumwise.diversity import interrater_kappa
    >>> interrater_kappa([[0, 0, 0], [1, 1, 1], [0, 1, 1], [1, 1, 0]])
    0.3142857142857143
    """
    share, weight = _read_shares(predictions, y, sample_weight)
    n_learners = np.asarray(predictions).shape[1]
    # Shares of pairs of learners that differ, observed and by chance.
    differing = average_rows((share * (1.0 - share)).sum(axis=1), weight)
    differing *= n_learners / (n_learners - 1)
    if (share.max(axis=1)[weight > 0] == 1.0).all():
        return 1.0
    overall = weight @ share / weight.sum()
    return 1.0 - differing / float((overall * (1.0 - overall)).sum())


@_document
def entropy(predictions: Any, y: Any = None, *, sample_weight: Any = None) -> float:
    """Entropy of an ensemble.

    With ``y`` it is the entropy of Kuncheva and Whitaker: the mean over rows of
    ``min(l, L - l) / (L - ceil(L/2))``, with l of L learners right. Without ``y`` it is that of
    Cunningham and Carney: the mean over rows of ``-sum(P(k) ln P(k))``, where P(k) is the share of
    learners that predict k.

    {parameters}
        0 if all learners always agree. With ``y`` at most 1, if half of the learners are right in
        each row; without ``y`` at most the logarithm of the number of labels.

    Examples
    --------
    >>> from sumwise.diversity import entropy
    >>> entropy([[0, 0, 1], [1, 1, 1]], y=[0, 1])
    0.5
    """
    share, weight = _read_shares(predictions, y, sample_weight)
    if y is None:
        with np.errstate(divide="ignore", invalid="ignore"):  # a share of 0 contributes 0
            terms = np.where(share > 0, -share * np.log(share), 0.0)
        return average_rows(terms.sum(axis=1), weight)
    n_learners = np.asarray(predictions).shape[1]
    return average_rows(share.min(axis=1), weight) * n_learners / (n_learners // 2)


@_document
def difficulty(predictions: Any, y: Any, *, sample_weight: Any = None) -> float:
    """Difficulty: the variance over rows of the share of learners that are right. It needs ``y``.

    {parameters}
        Small for diverse ensembles, whose learners fail on different rows; large for identical
        learners, which are all right or all wrong.

    Examples
    --------
    >>> from sumwise.diversity import difficulty
    >>> difficulty([[0, 0], [1, 1], [0, 1], [1, 0]], y=[0, 0, 0, 0])
    0.125
    """
    if y is None:
        raise ParameterError("difficulty needs y: right answers are counted against true labels")
    share, weight = _read_shares(predictions, y, sample_weight)
    right = share[:, 0]
    return average_rows((right - average_rows(right, weight)) ** 2, weight)


def _read_shares(predictions: Any, y: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
    """The share of learners that give each answer, of shape (n_rows, n_answers), and weights."""
    codes, weight = read_ensemble(predictions, y, sample_weight)
    n_rows, n_learners = codes.shape
    n_answers = int(codes.max()) + 1 if y is None else 2
    cell = codes + n_answers * np.arange(n_rows)[:, None]
    counts = np.bincount(cell.ravel(), minlength=n_rows * n_answers)
    return counts.reshape(n_rows, n_answers) / n_learners, weight
