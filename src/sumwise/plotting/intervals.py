"""Prediction intervals and the targets that they cover."""

from typing import Any, NamedTuple

import numpy as np

from sumwise.diversity.inputs import check_length, read_numbers, read_sample_weight
from sumwise.errors import DataError
from sumwise.inspection.colors import COLORS
from sumwise.plotting.axes import Axes, check_data, document_plot, get_axes

# Rows that a plot shows; of more, it shows every n-th.
_MOST_ROWS = 200


class IntervalCoverage(NamedTuple):
    """Intervals, targets, and how many of them are covered.

    Attributes
    ----------
    low, high : ndarray of float
        Bounds, ordered by the middle of the interval.
    y : ndarray of float
        Targets of the same rows.
    coverage : float
        Share of the targets inside their intervals.
    below, above : float
        Shares of the targets below and above their intervals.
    width : float
        Mean width of the intervals.

    Examples
    --------
    >>> from sumwise.plotting import interval_coverage
    >>> interval_coverage([[3, 5], [0, 2]], y=[4, 7]).low
    array([0., 3.])
    """

    low: np.ndarray
    high: np.ndarray
    y: np.ndarray
    coverage: float
    below: float
    above: float
    width: float


def interval_coverage(bounds: Any, y: Any, *, sample_weight: Any = None) -> IntervalCoverage:
    """Measure how many targets lie in their intervals.

    Parameters
    ----------
    bounds : array-like of shape (n_rows, 2)
        Lower and upper bounds, from ``predict_interval``; they may be infinite.
    y : array-like of shape (n_rows,)
        Targets.
    sample_weight : array-like of shape (n_rows,), default=None
        Weights of rows.

    Returns
    -------
    IntervalCoverage

    Examples
    --------
    >>> from sumwise.plotting import interval_coverage
    >>> round(interval_coverage([[0, 2], [1, 5], [2, 3]], y=[1, 7, 3]).coverage, 2)
    0.67
    """
    low, high = _read_bounds(bounds)
    targets = read_numbers("y", y, 1)
    check_length("y", targets, low.size)
    weight = read_sample_weight(sample_weight, low.size)
    weight = weight / weight.sum()
    below, above = float(weight[targets < low].sum()), float(weight[targets > high].sum())
    covered = float(weight[(low <= targets) & (targets <= high)].sum())
    is_finite = np.isfinite(low) & np.isfinite(high)
    middle = targets.copy()
    middle[is_finite] = 0.5 * low[is_finite] + 0.5 * high[is_finite]
    order = np.argsort(middle, kind="stable")
    is_used = weight > 0.0
    width = float((weight[is_used] * (high - low)[is_used]).sum())
    low, high, targets = low[order], high[order], targets[order]
    return IntervalCoverage(low, high, targets, covered, below, above, width)


def _read_bounds(bounds: Any) -> tuple[np.ndarray, np.ndarray]:
    pairs = np.asarray(bounds, dtype=np.float64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise DataError(f"bounds has shape {pairs.shape}, expected (n_rows, 2)")
    low, high = pairs.T
    if not (low <= high).all():  # NaN too
        row = int(np.flatnonzero(~(low <= high))[0])
        raise DataError(f"row {row} of bounds is {pairs[row].tolist()}, which do not ascend")
    return low, high


@document_plot
def plot_intervals(intervals: IntervalCoverage, ax: Axes | None = None) -> Axes:
    """Draw intervals as bars, ordered by their middle, and targets as points.

    Targets outside of their intervals are crosses. Of more than 200 rows, every n-th is drawn;
    infinite bounds reach to the ends of the axis.

    Parameters
    ----------
    intervals : IntervalCoverage
        From :func:`interval_coverage`.
    {ax}

    Examples
    --------
    >>> from sumwise.plotting import interval_coverage, plot_intervals
    >>> ax = plot_intervals(interval_coverage([[0, 2], [1, 5], [2, 3]], y=[1, 7, 3]))
    >>> ax.get_title()
    '67% of the targets are covered'
    """
    check_data(IntervalCoverage, intervals, "interval_coverage")
    ax = get_axes(ax)
    step = -(-intervals.y.size // _MOST_ROWS)
    low, high, y = (array[::step] for array in intervals[:3])
    numbers = np.concatenate([low, high, y])
    finite = numbers[np.isfinite(numbers)]
    margin = 0.05 * float(np.ptp(finite)) or 1.0
    ends = finite.min() - margin, finite.max() + margin
    rows = np.arange(y.size)
    ax.vlines(rows, np.maximum(low, ends[0]), np.minimum(high, ends[1]), color="0.75", linewidth=2)
    is_covered = (low <= y) & (y <= high)
    for part, color, marker, label in (
        (is_covered, COLORS[0], ".", "covered"),
        (~is_covered, COLORS[1], "x", "not covered"),
    ):
        ax.plot(rows[part], y[part], marker, color=color, label=label)
    ax.set_ylim(*ends)
    ax.set_xlabel("rows, by the middle of their intervals")
    ax.set_ylabel("target")
    ax.set_title(f"{intervals.coverage:.0%} of the targets are covered")
    ax.legend()
    return ax
