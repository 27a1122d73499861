"""The error of a vote as a function of the number of its learners."""

from typing import Any, NamedTuple

import numpy as np

from sumwise.diversity.inputs import encode, read_ensemble
from sumwise.errors import ParameterError
from sumwise.inspection.colors import COLORS
from sumwise.plotting.axes import LINES, Axes, check_data, document_plot, get_axes
from sumwise.theory import hoeffding_bound, majority_vote_error


class EnsembleSizes(NamedTuple):
    """Errors of the votes of the first one, two, three, ... learners.

    Attributes
    ----------
    n_learners : ndarray of int
        Numbers of learners.
    error : ndarray of float
        Errors of their votes.
    independent_error : ndarray of float
        Error of as many independent learners with the same mean error
        (:func:`sumwise.theory.majority_vote_error`).
    bound : ndarray of float or None
        Their Hoeffding bound; None if the mean error is more than 1/2.
    mean_error : float
        Mean error of the learners.

    Examples
    --------
    >>> from sumwise.plotting import ensemble_sizes
    >>> ensemble_sizes([[0, 0, 1], [0, 1, 0], [1, 0, 0]], y=[0, 0, 0]).error.round(4)
    array([0.3333, 0.6667, 0.    ])
    """

    n_learners: np.ndarray
    error: np.ndarray
    independent_error: np.ndarray
    bound: np.ndarray | None
    mean_error: float


def ensemble_sizes(predictions: Any, y: Any, *, sample_weight: Any = None) -> EnsembleSizes:
    """Measure votes of the first one, two, three, ... learners.

    Parameters
    ----------
    predictions : array-like of shape (n_rows, n_learners)
        Labels that each learner predicts; :func:`sumwise.member_predictions` returns them for an
        ensemble.
    y : array-like of shape (n_rows,)
        True labels. A vote is correct if the true label gets more votes than any other; a tie is an
        error, as in :func:`sumwise.theory.majority_vote_error`.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of rows.

    Returns
    -------
    EnsembleSizes

    Examples
    --------
    >>> from sumwise.plotting import ensemble_sizes
    >>> ensemble_sizes([[0, 0, 1], [0, 1, 0], [1, 0, 0]], y=[0, 0, 0]).n_learners
    array([1, 2, 3])
    """
    if y is None:
        raise ParameterError("ensemble_sizes needs y: errors are measured against true labels")
    is_wrong, weight = read_ensemble(predictions, y, sample_weight)
    codes = encode(np.asarray(predictions))
    n_rows, n_learners = codes.shape
    rows = np.arange(n_rows)
    # Votes for the true label, and votes for each wrong label.
    right = np.zeros(n_rows, dtype=np.int64)
    others = np.zeros((n_rows, int(codes.max()) + 1), dtype=np.int64)
    errors = np.empty(n_learners)
    for t in range(n_learners):
        right += 1 - is_wrong[:, t]
        others[rows, codes[:, t]] += is_wrong[:, t]
        errors[t] = weight @ (right <= others.max(axis=1)) / weight.sum()
    counts = np.arange(1, n_learners + 1)
    mean_error = float(weight @ is_wrong.mean(axis=1) / weight.sum())
    bound = hoeffding_bound(counts, mean_error) if mean_error <= 0.5 else None
    return EnsembleSizes(counts, errors, majority_vote_error(counts, mean_error), bound, mean_error)


@document_plot
def plot_ensemble_sizes(data: EnsembleSizes, ax: Axes | None = None) -> Axes:
    """Draw the error of a vote against the number of learners, and the Hoeffding bound.

    Parameters
    ----------
    data : EnsembleSizes
        From :func:`ensemble_sizes`.
    {ax}

    Examples
    --------
    >>> from sumwise.plotting import ensemble_sizes, plot_ensemble_sizes
    >>> ax = plot_ensemble_sizes(ensemble_sizes([[0, 0, 1], [0, 1, 0]], y=[0, 0]))
    >>> ax.get_ylabel()
    'error'
    """
    check_data(EnsembleSizes, data, "ensemble_sizes")
    ax = get_axes(ax)
    curves = [("this ensemble", data.error), ("independent learners", data.independent_error)]
    if data.bound is not None:
        curves.append(("Hoeffding bound", data.bound))
    for i, (name, values) in enumerate(curves):
        ax.plot(data.n_learners, values, color=COLORS[i], linestyle=LINES[i], label=name)
    ax.axhline(data.mean_error, color="0.5", linewidth=0.8, linestyle=LINES[3])
    ax.annotate(
        "mean error of one learner",
        (1.0, data.mean_error),
        xycoords=("axes fraction", "data"),
        xytext=(-4, 3),
        textcoords="offset points",
        ha="right",
        color="0.35",
        fontsize=9,
    )
    ax.set_xlabel("number of learners")
    ax.set_ylabel("error")
    ax.set_ylim(bottom=0.0)
    ax.legend()
    return ax
