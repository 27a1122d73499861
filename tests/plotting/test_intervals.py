"""Intervals and the targets that they cover."""

import numpy as np
import pytest

from sumwise.errors import DataError, ParameterError
from sumwise.plotting import interval_coverage, plot_intervals

BOUNDS = np.array([[4.0, 6.0], [0.0, 1.0], [2.0, 3.0], [-np.inf, np.inf]])
Y = np.array([5.0, 2.0, 1.0, 9.0])


def test_the_numbers_by_hand():
    found = interval_coverage(BOUNDS, Y)
    assert (found.coverage, found.below, found.above) == (0.5, 0.25, 0.25)
    assert found.low.tolist() == [0.0, 2.0, 4.0, -np.inf]
    assert found.y.tolist() == [2.0, 1.0, 5.0, 9.0]
    assert found.width == np.inf
    assert interval_coverage(BOUNDS[:3], Y[:3]).width == pytest.approx(4 / 3)


def test_bounds_belong_to_intervals():
    assert interval_coverage([[1, 2], [3, 3]], [2, 3]).coverage == 1.0


def test_weights_count_rows():
    found = interval_coverage(BOUNDS, Y, sample_weight=[3, 1, 0, 0])
    assert (found.coverage, found.above) == (0.75, 0.25)


def test_intervals_are_drawn():
    ax = plot_intervals(interval_coverage(BOUNDS, Y))
    covered, missed = ax.lines
    assert covered.get_ydata().tolist() == [5.0, 9.0]
    assert missed.get_ydata().tolist() == [2.0, 1.0]
    assert ax.get_title() == "50% of the targets are covered"
    many = np.column_stack([np.arange(1000.0), np.arange(1000.0) + 1])
    ax = plot_intervals(interval_coverage(many, many[:, 0]))
    assert ax.lines[0].get_xdata().size == 200


def test_inputs_are_checked():
    with pytest.raises(DataError, match=r"bounds has shape \(4,\)"):
        interval_coverage(Y, Y)
    with pytest.raises(DataError, match="row 1 of bounds"):
        interval_coverage([[0, 1], [2, 1]], [0, 0])
    with pytest.raises(DataError, match="y has 3 rows"):
        interval_coverage(BOUNDS, Y[:3])
    with pytest.raises(ParameterError, match="expected IntervalCoverage"):
        plot_intervals(BOUNDS)
