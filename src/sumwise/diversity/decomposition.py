"""Decompositions of an ensemble's error into the members' errors and their diversity."""

from typing import Any, NamedTuple

import numpy as np

from sumwise.diversity.inputs import (
    average_rows,
    check_comparable,
    check_length,
    read_labels,
    read_learner_weights,
    read_numbers,
    read_sample_weight,
)
from sumwise.errors import DataError, ParameterError

_ROUNDING = 1e-6


class Ambiguity(NamedTuple):
    """``ensemble_error = mean_error - ambiguity``.

    Attributes
    ----------
    ensemble_error : float
        Loss of the combined prediction.
    mean_error : float
        Weighted mean of the members' losses.
    ambiguity : float
        The gain from combining: how much members differ from the combined prediction.

    Examples
    --------
    >>> from sumwise.diversity import ambiguity_decomposition
    >>> ambiguity_decomposition([[1.0, 3.0]], y=[2.5])
    Ambiguity(ensemble_error=0.25, mean_error=1.25, ambiguity=1.0)
    """

    ensemble_error: float
    mean_error: float
    ambiguity: float


def ambiguity_decomposition(
    predictions: Any, y: Any, *, weights: Any = None, sample_weight: Any = None
) -> Ambiguity:
    """Error-ambiguity decomposition of the squared error (Krogh and Vedelsby, 1995).

    The ensemble predicts ``H = sum(w_i h_i)``; its error is ``E = E_bar - A_bar`` with
    ``E_bar = sum(w_i (y - h_i)^2)`` and ``A_bar = sum(w_i (h_i - H)^2)``, averaged over rows.

    Parameters
    ----------
    predictions : array-like of shape (n_rows, n_learners)
        Numbers that each learner predicts.
    y : array-like of shape (n_rows,)
        Targets.
    weights : array-like of shape (n_learners,), default=None
        Weights of learners, with sum 1, possibly negative; None for equal ones.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of rows.

    Returns
    -------
    Ambiguity
        All terms are computed independently; the equation holds to rounding.

    Examples
    --------
    >>> from sumwise.diversity import ambiguity_decomposition
    >>> ambiguity_decomposition([[1.0, 3.0]], y=[2.5], weights=[0.25, 0.75])
    Ambiguity(ensemble_error=0.0, mean_error=0.75, ambiguity=0.75)
    """
    numbers = read_numbers("predictions", predictions, 2)
    n_rows, n_learners = numbers.shape
    target = read_numbers("y", y, 1)
    check_length("y", target, n_rows)
    weight = read_learner_weights(weights, n_learners, may_be_negative=True)
    row_weight = read_sample_weight(sample_weight, n_rows)
    combined = numbers @ weight
    return Ambiguity(
        average_rows((combined - target) ** 2, row_weight),
        average_rows((numbers - target[:, None]) ** 2 @ weight, row_weight),
        average_rows((numbers - combined[:, None]) ** 2 @ weight, row_weight),
    )


class VoteDiversity(NamedTuple):
    """``ensemble_error = mean_error - good + bad``.

    Attributes
    ----------
    ensemble_error : float
        Error of the vote.
    mean_error : float
        Weighted mean of the members' errors.
    good : float
        Good diversity: wrong votes on rows where the ensemble is right.
    bad : float
        Bad diversity: right votes on rows where the ensemble is wrong.

    Examples
    --------
    >>> from sumwise.diversity import vote_decomposition
    >>> vote_decomposition([[0, 0, 1, 0], [1, 1, 1, 0]], y=[0, 0])
    VoteDiversity(ensemble_error=0.5, mean_error=0.5, good=0.125, bad=0.125)
    """

    ensemble_error: float
    mean_error: float
    good: float
    bad: float


def vote_decomposition(
    predictions: Any, y: Any, *, vote: Any = None, weights: Any = None, sample_weight: Any = None
) -> VoteDiversity:
    """Good and bad diversity of a vote (Brown and Kuncheva, 2010), for the 0-1 loss.

    Where the ensemble is right, each vote against it is good diversity. Where it is wrong, each
    vote for the true label is bad diversity. With two labels these are the votes against the
    ensemble, as in the paper; in this form the equation holds for any number of labels.

    Parameters
    ----------
    predictions : array-like of shape (n_rows, n_learners)
        Labels that each learner predicts.
    y : array-like of shape (n_rows,)
        True labels.
    vote : array-like of shape (n_rows,), default=None
        Labels that the ensemble predicts; the equation holds for any. None for the label with the
        largest sum of weights; ties go to the first.
    weights, sample_weight : array-like, default=None
        As in :func:`ambiguity_decomposition`, but no weight may be negative.

    Returns
    -------
    VoteDiversity

    Notes
    -----
    If the learners are models fitted on resampled data, this is the bias-variance decomposition of
    the 0-1 loss (Domingos, 2000): the error of the vote is the bias; good and bad diversity are the
    variance where the vote is right and where it is wrong.

    Examples
    --------
    >>> from sumwise.diversity import vote_decomposition
    >>> parts = vote_decomposition([["a", "a", "b", "c"], ["c", "c", "a", "b"]], y=["a", "a"])
    >>> parts.good, parts.bad
    (0.25, 0.125)
    """
    labels = read_labels("predictions", predictions, 2)
    n_rows, n_learners = labels.shape
    if n_learners == 0:
        raise DataError("predictions has no columns: a vote needs at least one learner")
    truth = read_labels("y", y)
    check_length("y", truth, n_rows)
    check_comparable("predictions", labels, "y", truth)
    weight = read_learner_weights(weights, n_learners, may_be_negative=False)
    row_weight = read_sample_weight(sample_weight, n_rows)
    if vote is None:
        chosen = _vote(labels, weight)
    else:
        chosen = read_labels("vote", vote)
        check_length("vote", chosen, n_rows)
        check_comparable("vote", chosen, "y", truth)
    is_right = chosen == truth
    wrong_votes = (labels != truth[:, None]) @ weight
    right_votes = (labels == truth[:, None]) @ weight
    return VoteDiversity(
        average_rows(~is_right, row_weight),
        average_rows(wrong_votes, row_weight),
        average_rows(np.where(is_right, wrong_votes, 0.0), row_weight),
        average_rows(np.where(is_right, 0.0, right_votes), row_weight),
    )


def log_loss_decomposition(
    probabilities: Any,
    y: Any,
    *,
    weights: Any = None,
    pool: str = "geometric",
    clip: float = 1e-15,
    sample_weight: Any = None,
) -> Ambiguity:
    """Error-ambiguity decomposition of the log loss (Heskes, 1998).

    The ensemble predicts the normalized geometric mean P of the members' probabilities P_i: it
    averages logits. Its ambiguity, the mean of ``sum(w_i KL(P || P_i))``, does not depend on ``y``.

    Parameters
    ----------
    probabilities : array-like of shape (n_rows, n_learners, n_classes)
        Probabilities that each learner predicts, with sum 1.
    y : array-like of int of shape (n_rows,)
        Index of the true class.
    weights, sample_weight : array-like, default=None
        As in :func:`ambiguity_decomposition`, but no weight may be negative.
    pool : {"geometric", "arithmetic"}, default="geometric"
        How probabilities are combined. The ambiguity of the arithmetic mean (soft voting) is the
        mean of ``sum(w_i ln(P(y) / P_i(y)))``, which depends on ``y``; it equals the KL form only
        on average over P.
    clip : float, default=1e-15
        Smaller probabilities are raised to this value, and all divided by their sum: logarithms
        would make losses infinite.

    Returns
    -------
    Ambiguity

    Examples
    --------
    >>> import numpy as np
    >>> from sumwise.diversity import log_loss_decomposition
    >>> parts = log_loss_decomposition([[[0.9, 0.1], [0.5, 0.5]]], y=[0])
    >>> np.round(parts, 4)
    array([0.2877, 0.3993, 0.1116])
    """
    shares = read_numbers("probabilities", probabilities, 3)
    n_rows, n_learners, n_classes = shares.shape
    if (shares < 0).any() or np.abs(shares.sum(axis=2) - 1.0).max() > _ROUNDING:
        raise DataError("probabilities must not be negative, and sum to 1 over the last axis")
    if not 0.0 < clip < 1.0 / n_classes:
        raise ParameterError(f"clip={clip!r}: must be more than 0 and less than 1/{n_classes}")
    if pool not in ("geometric", "arithmetic"):
        raise ParameterError(f"pool={pool!r}: must be 'geometric' or 'arithmetic'")
    true_class = _read_classes(y, n_rows, n_classes)
    weight = read_learner_weights(weights, n_learners, may_be_negative=False)
    row_weight = read_sample_weight(sample_weight, n_rows)
    shares = np.maximum(shares, clip)
    log_shares = np.log(shares / shares.sum(axis=2, keepdims=True))
    rows = np.arange(n_rows)
    of_truth = log_shares[rows, :, true_class]
    if pool == "geometric":
        scores = np.einsum("rlk,l->rk", log_shares, weight)
        combined = scores - np.logaddexp.reduce(scores, axis=1)[:, None]
        gaps = combined[:, None, :] - log_shares
        ambiguity = (np.exp(combined)[:, None, :] * gaps).sum(axis=2) @ weight
    else:
        combined = np.log(np.einsum("rlk,l->rk", np.exp(log_shares), weight))
        ambiguity = (combined[rows, true_class][:, None] - of_truth) @ weight
    return Ambiguity(
        average_rows(-combined[rows, true_class], row_weight),
        average_rows(-of_truth @ weight, row_weight),
        average_rows(ambiguity, row_weight),
    )


class BiasVarianceCovariance(NamedTuple):
    """``error = squared_bias + variance / L + (1 - 1/L) covariance`` for L learners.

    Attributes
    ----------
    error : float
        Mean squared error of the mean of the learners.
    squared_bias : float
        Squared difference between the targets and the learners' mean over resamples, including
        the noise of the targets.
    variance : float
        Variance of a learner over resamples.
    covariance : float
        Covariance of two learners over resamples; 0 for a single learner.
    n_learners : int
        Number of learners L.

    Examples
    --------
    >>> from sumwise.diversity import bias_variance_covariance
    >>> bias_variance_covariance([[1.0, 2.0], [3.0, 2.0]], y=[2.5, 2.5]).squared_bias
    0.25
    """

    error: float
    squared_bias: float
    variance: float
    covariance: float
    n_learners: int


def bias_variance_covariance(
    predictions: Any, y: Any, *, sample_weight: Any = None
) -> BiasVarianceCovariance:
    """Decompose the squared error of a mean into bias, variance, covariance (Ueda and Nakano).

    Parameters
    ----------
    predictions : array-like of shape (n_resamples, n_rows) or (n_resamples, n_rows, n_learners)
        Predictions of models that were fitted on resampled data, as
        :func:`sumwise.resample_predictions` returns them. With two dimensions there is one learner
        and no covariance: this is the decomposition into bias and variance.
    y : array-like of shape (n_rows,)
        Targets, without noise if that is known.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of rows.

    Returns
    -------
    BiasVarianceCovariance
        All terms are computed independently. The equation holds to rounding, because variances are
        means over resamples (divided by n_resamples).

    Examples
    --------
    >>> from sumwise.diversity import bias_variance_covariance
    >>> parts = bias_variance_covariance([[1.0, 2.0], [3.0, 2.0]], y=[2.5, 2.5])
    >>> parts.error, parts.squared_bias, parts.variance
    (0.75, 0.25, 0.5)
    """
    numbers = np.asarray(predictions)
    numbers = read_numbers("predictions", numbers[..., None] if numbers.ndim == 2 else numbers, 3)
    n_resamples, n_rows, n_learners = numbers.shape
    if n_resamples < 2:
        raise DataError("predictions of one resample have no variance; make two or more")
    target = read_numbers("y", y, 1)
    if target.size != n_rows:
        raise DataError(f"y has {target.size} rows; the predictions have {n_rows}")
    row_weight = read_sample_weight(sample_weight, n_rows)
    center = numbers.mean(axis=0)
    spread = numbers - center
    of_one = (spread**2).mean(axis=0).mean(axis=1)
    of_two = np.zeros(n_rows)
    if n_learners > 1:
        # All pairs except those of a learner with itself.
        all_pairs = (spread.sum(axis=2) ** 2).mean(axis=0)
        of_two = (all_pairs - n_learners * of_one) / (n_learners * (n_learners - 1))
    return BiasVarianceCovariance(
        average_rows(((numbers.mean(axis=2) - target) ** 2).mean(axis=0), row_weight),
        average_rows((center.mean(axis=1) - target) ** 2, row_weight),
        average_rows(of_one, row_weight),
        average_rows(of_two, row_weight),
        n_learners,
    )


def _vote(labels: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the label with the largest weight in each row; ties go to the first."""
    answers = np.unique(labels)
    tally = np.stack([(labels == answer) @ weight for answer in answers], axis=1)
    # Sums of the same weights in different orders differ by rounding.
    is_best = tally >= tally.max(axis=1, keepdims=True) - 1e-12
    return answers[is_best.argmax(axis=1)]


def _read_classes(y: Any, n_rows: int, n_classes: int) -> np.ndarray:
    classes = read_labels("y", y)
    check_length("y", classes, n_rows)
    if classes.dtype.kind not in "biu" or classes.min() < 0 or classes.max() >= n_classes:
        raise DataError(
            f"y must be indices of classes, from 0 to {n_classes - 1}; "
            "np.searchsorted(model.classes_, y) converts labels"
        )
    return classes.astype(np.intp)
