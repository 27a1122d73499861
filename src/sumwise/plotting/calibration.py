"""Reliability diagrams: how often events happen that a model expects with some probability."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from sumwise.diversity.inputs import (
    check_length,
    read_classes,
    read_labels,
    read_numbers,
    read_sample_weight,
)
from sumwise.errors import ParameterError
from sumwise.inspection.colors import COLORS
from sumwise.plotting.axes import LINES, MARKERS, Axes, document_plot, get_axes, name_data
from sumwise.plotting.points import shorten

_STRATEGIES = ("quantile", "uniform")


class CalibrationCurve(NamedTuple):
    """Probabilities and frequencies of bins of rows.

    Attributes
    ----------
    probability : ndarray of float
        Mean predicted probability of each bin, ascending.
    frequency : ndarray of float
        Share of its rows in which the event happened.
    share : ndarray of float
        Share of all rows.
    error : float
        Expected calibration error: the mean distance between both, weighted by the shares.

    Examples
    --------
    >>> from sumwise.plotting import calibration_curve
    >>> curve = calibration_curve([[0.9, 0.1], [0.9, 0.1], [0.2, 0.8], [0.2, 0.8]], y=[0, 1, 1, 1])
    >>> curve.probability
    array([0.1, 0.8])
    >>> curve.frequency
    array([0.5, 1. ])
    """

    probability: np.ndarray
    frequency: np.ndarray
    share: np.ndarray
    error: float


def calibration_curve(
    probabilities: Any,
    y: Any,
    *,
    classes: Any = None,
    n_bins: int = 10,
    strategy: str = "quantile",
    sample_weight: Any = None,
) -> CalibrationCurve:
    """Compare predicted probabilities with frequencies.

    Parameters
    ----------
    probabilities : array-like of shape (n_rows, n_classes)
        Of two classes, the event is the second one. Of more, it is that the most probable class
        (the first of equals) is the true one.
    y : array-like of shape (n_rows,)
        True labels.
    classes : array-like of shape (n_classes,), default=None
        Labels of the columns, such as ``model.classes_``; None for 0, 1, ...
    n_bins : int, default=10
        Largest number of bins; bins without rows are left out.
    strategy : {"quantile", "uniform"}, default="quantile"
        Bins with about the same number of rows, or of the same width.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of rows.

    Returns
    -------
    CalibrationCurve

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sumwise import RandomForestClassifier
    >>> from sumwise.plotting import calibration_curve
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X[::2], y[::2])
    >>> calibration_curve(forest.predict_proba(X[1::2]), y[1::2]).error < 0.1
    True
    """
    shares = read_numbers("probabilities", probabilities, 2)
    truth = read_labels("y", y)
    check_length("y", truth, shares.shape[0])
    labels = read_classes(classes, shares.shape[1], truth)
    if strategy not in _STRATEGIES:
        raise ParameterError(f"strategy={strategy!r}: must be 'quantile' or 'uniform'")
    if n_bins < 1:
        raise ParameterError(f"n_bins={n_bins!r}: must be at least 1")
    weight = read_sample_weight(sample_weight, shares.shape[0])
    if labels.size == 2:
        expected, happens = shares[:, 1], truth == labels[1]
    else:
        expected, happens = shares.max(axis=1), truth == labels[shares.argmax(axis=1)]
    bins = _find_bins(expected, weight, n_bins, strategy)
    total = np.bincount(bins, weight, n_bins)
    kept = total > 0.0
    probability = np.bincount(bins, weight * expected, n_bins)[kept] / total[kept]
    frequency = np.bincount(bins, weight * happens, n_bins)[kept] / total[kept]
    share = total[kept] / total.sum()
    error = float((share * np.abs(probability - frequency)).sum())
    return CalibrationCurve(probability, frequency, share, error)


def _find_bins(expected: np.ndarray, weight: np.ndarray, n_bins: int, strategy: str) -> np.ndarray:
    """Return the bin of each row; rows of equal probability are in the same bin."""
    place = expected
    if strategy == "quantile":
        _, row_idx = np.unique(expected, return_inverse=True)
        own = np.bincount(row_idx, weight)
        middle = np.cumsum(own) - 0.5 * own
        place = (middle / own.sum())[row_idx]
    return np.clip((place * n_bins).astype(np.intp), 0, n_bins - 1)


@document_plot
def plot_calibration(
    curves: CalibrationCurve | Mapping[str, CalibrationCurve], ax: Axes | None = None
) -> Axes:
    """Draw a reliability diagram: frequencies against predicted probabilities.

    Calibrated probabilities lie on the diagonal. Larger markers stand for more rows.

    Parameters
    ----------
    curves : CalibrationCurve or dict of str to CalibrationCurve
        From :func:`calibration_curve`; a dict compares models.
    {ax}

    Examples
    --------
    >>> from sumwise.plotting import calibration_curve, plot_calibration
    >>> ax = plot_calibration(calibration_curve([[0.9, 0.1], [0.2, 0.8]], y=[0, 1]))
    >>> ax.get_ylabel()
    'frequency'
    """
    named = name_data(CalibrationCurve, curves, "calibration_curve")
    ax = get_axes(ax)
    ax.plot([0.0, 1.0], [0.0, 1.0], color="0.6", linewidth=1.0, zorder=0)
    for i, (name, curve) in enumerate(named.items()):
        color, line = COLORS[i % len(COLORS)], LINES[i % len(LINES)]
        label = f"{shorten(name, 24)} (error {curve.error:.3f})" if name else None
        ax.plot(curve.probability, curve.frequency, linestyle=line, color=color, label=label)
        sizes = 12.0 + 60.0 * np.sqrt(curve.share / curve.share.max())
        marker = MARKERS[i % len(MARKERS)]
        ax.scatter(curve.probability, curve.frequency, s=sizes, color=color, marker=marker)
    ax.set_xlabel("predicted probability")
    ax.set_ylabel("frequency")
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.02)
    ax.set_aspect("equal")
    if any(named):
        ax.legend()
    return ax
