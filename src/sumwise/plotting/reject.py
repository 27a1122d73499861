"""Accuracy as a function of the share of rows that are not rejected."""

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
from sumwise.inspection.colors import COLORS
from sumwise.plotting.axes import LINES, Axes, document_plot, get_axes, name_data


class RejectCurve(NamedTuple):
    """Accuracy and coverage if predictions below a confidence are rejected.

    Attributes
    ----------
    threshold : ndarray of float
        Smallest accepted confidence, descending.
    coverage : ndarray of float
        Share of accepted rows, ascending to 1.
    accuracy : ndarray of float
        Share of accepted rows that are predicted correctly.

    Examples
    --------
    >>> from sumwise.plotting import reject_curve
    >>> reject_curve([[0.9, 0.1], [0.4, 0.6]], y=[0, 0]).coverage
    array([0.5, 1. ])
    """

    threshold: np.ndarray
    coverage: np.ndarray
    accuracy: np.ndarray


def reject_curve(
    probabilities: Any, y: Any, *, classes: Any = None, sample_weight: Any = None
) -> RejectCurve:
    """Measure accuracy and coverage for every threshold of confidence.

    Parameters
    ----------
    probabilities : array-like of shape (n_rows, n_classes)
        Probabilities, or shares of votes. The class with the largest value is the prediction (ties
        go to the first), and that value is its confidence.
    y : array-like of shape (n_rows,)
        True labels.
    classes : array-like of shape (n_classes,), default=None
        Labels of the columns, such as ``model.classes_``; None for 0, 1, ...
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of rows.

    Returns
    -------
    RejectCurve
        One point per distinct confidence: rows with equal confidence are accepted together.

    Examples
    --------
    >>> from sumwise.plotting import reject_curve
    >>> reject_curve([[0.9, 0.1], [0.4, 0.6]], y=["no", "no"], classes=["no", "yes"]).accuracy
    array([1. , 0.5])
    """
    shares = read_numbers("probabilities", probabilities, 2)
    truth = read_labels("y", y)
    check_length("y", truth, shares.shape[0])
    labels = read_classes(classes, shares.shape[1], truth)
    weight = read_sample_weight(sample_weight, shares.shape[0])
    confidence = shares.max(axis=1)
    is_right = labels[shares.argmax(axis=1)] == truth
    order = np.argsort(-confidence, kind="stable")
    order = order[weight[order] > 0]
    sorted_confidence = confidence[order]
    is_last = np.append(sorted_confidence[1:] < sorted_confidence[:-1], True)
    accepted = np.cumsum(weight[order])[is_last]
    right = np.cumsum(weight[order] * is_right[order])[is_last]
    return RejectCurve(sorted_confidence[is_last], accepted / accepted[-1], right / accepted)


@document_plot
def plot_reject_curve(
    curves: RejectCurve | Mapping[str, RejectCurve], ax: Axes | None = None
) -> Axes:
    """Draw accuracy against coverage.

    Parameters
    ----------
    curves : RejectCurve or dict of str to RejectCurve
        From :func:`reject_curve`; a dict compares models.
    {ax}

    Examples
    --------
    >>> from sumwise.plotting import plot_reject_curve, reject_curve
    >>> ax = plot_reject_curve(reject_curve([[0.9, 0.1], [0.4, 0.6]], y=[0, 0]))
    >>> ax.get_xlabel()
    'share of rows that are predicted'
    """
    named = name_data(RejectCurve, curves, "reject_curve")
    ax = get_axes(ax)
    for i, (name, curve) in enumerate(named.items()):
        few = {"marker": "."} if curve.coverage.size <= 30 else {}
        style: dict[str, Any] = {"color": COLORS[i % len(COLORS)], **few}
        line = LINES[i % len(LINES)]
        ax.plot(curve.coverage, curve.accuracy, linestyle=line, label=name, **style)
    ax.set_xlabel("share of rows that are predicted")
    ax.set_ylabel("accuracy of the predictions")
    ax.set_xlim(0.0, 1.02)
    if any(named):
        ax.legend()
    return ax
