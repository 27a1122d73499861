"""Accuracy and coverage."""

import numpy as np
import pytest

from sumwise.errors import DataError
from sumwise.plotting import plot_reject_curve, reject_curve

SHARES = np.array([[0.9, 0.1], [0.2, 0.8], [0.8, 0.2], [0.6, 0.4], [0.5, 0.5]])
Y = np.array([0, 1, 1, 0, 1])


def test_the_curve_by_hand():
    curve = reject_curve(SHARES, Y)
    np.testing.assert_allclose(curve.threshold, [0.9, 0.8, 0.6, 0.5])
    np.testing.assert_allclose(curve.coverage, [0.2, 0.6, 0.8, 1.0])
    np.testing.assert_allclose(curve.accuracy, [1, 2 / 3, 3 / 4, 3 / 5])


def test_weights_count_rows():
    counts = np.array([2, 0, 1, 3, 0])
    weighted = reject_curve(SHARES, Y, sample_weight=counts)
    repeated = reject_curve(np.repeat(SHARES, counts, axis=0), np.repeat(Y, counts))
    for found, expected in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(found, expected)


def test_labels_have_names():
    curve = reject_curve(SHARES, np.array(["no", "yes"])[Y], classes=["no", "yes"])
    np.testing.assert_array_equal(curve.accuracy, reject_curve(SHARES, Y).accuracy)


def test_curves_are_drawn():
    curve = reject_curve(SHARES, Y)
    ax = plot_reject_curve({"a": curve, "b": curve})
    np.testing.assert_array_equal(ax.lines[1].get_xdata(), curve.coverage)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    assert plot_reject_curve(curve).get_legend() is None


def test_inputs_are_checked():
    with pytest.raises(DataError, match="y has 2 rows"):
        reject_curve(SHARES, [0, 1])
    with pytest.raises(DataError, match="3 labels for 2 columns"):
        reject_curve(SHARES, Y, classes=[0, 1, 2])


def test_other_labels_need_classes():
    with pytest.raises(DataError, match="y has the label 'no', and columns stand for 0 to 1"):
        reject_curve(SHARES, np.array(["no", "yes"])[Y])
    with pytest.raises(DataError, match="no label in common"):
        reject_curve(SHARES, Y, classes=["no", "yes"])
