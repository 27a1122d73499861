"""New axes if none are given; a clear error without matplotlib."""

import sys

import numpy as np
import pytest
from matplotlib import pyplot

from sumwise.errors import ParameterError
from sumwise.inspection.colors import COLORS
from sumwise.plotting import (
    LabeledValues,
    RejectCurve,
    plot_diversity_matrix,
    plot_reject_curve,
    plot_weights,
)
from sumwise.plotting.axes import MARKERS

DATA = LabeledValues(("a", "b"), np.array([1.0, 2.0]))


def test_given_axes_are_used():
    _, (left, right) = pyplot.subplots(1, 2)
    assert plot_weights(DATA, right) is right
    assert not left.patches
    assert plot_weights(DATA) not in (left, right)


def test_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"pip install 'sumwise\[plot\]'"):
        plot_weights(DATA)


def test_data_of_another_plot_is_refused():
    with pytest.raises(ParameterError, match=r"expected PairwiseMatrix, .*diversity_matrix makes"):
        plot_diversity_matrix(DATA)
    with pytest.raises(ParameterError, match="expected RejectCurve"):
        plot_reject_curve({"a": DATA})
    with pytest.raises(ParameterError, match="the dict is empty"):
        plot_reject_curve({})


def test_many_lines_go_round_the_colors():
    curve = RejectCurve(np.array([1.0]), np.array([1.0]), np.array([0.5]))
    ax = plot_reject_curve({str(i): curve for i in range(10)})
    assert len(ax.lines) == 10
    assert len(set(COLORS)) == len(set(MARKERS)) == 8
