"""Reliability diagrams."""

import numpy as np
import pytest
from sklearn.calibration import calibration_curve as rival

from sumwise.errors import DataError, ParameterError
from sumwise.plotting import calibration_curve, plot_calibration

RNG = np.random.default_rng(0)
P = RNG.random(400)
Y = (RNG.random(400) < P**2).astype(int)
TWO = np.column_stack([1 - P, P])


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_the_curve_is_that_of_scikit_learn(strategy):
    curve = calibration_curve(TWO, Y, n_bins=8, strategy=strategy)
    frequency, probability = rival(Y, P, n_bins=8, strategy=strategy)
    np.testing.assert_allclose(curve.frequency, frequency)
    np.testing.assert_allclose(curve.probability, probability)
    assert curve.share.sum() == pytest.approx(1.0)
    assert curve.error == pytest.approx((curve.share * np.abs(frequency - probability)).sum())


def test_several_classes_have_a_curve_of_the_most_probable_one():
    shares = np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8], [0.2, 0.3, 0.5], [0.1, 0.8, 0.1]])
    curve = calibration_curve(shares, ["a", "c", "a", "b"], classes=["a", "b", "c"], n_bins=2)
    np.testing.assert_allclose(curve.probability, [0.5, 0.8])
    np.testing.assert_allclose(curve.frequency, [0.5, 1.0])
    assert curve.error == pytest.approx(0.1)


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_weights_count_rows(strategy):
    counts = RNG.integers(0, 3, 400)
    weighted = calibration_curve(TWO, Y, sample_weight=counts, strategy=strategy)
    repeated = [np.repeat(array, counts, axis=0) for array in (TWO, Y)]
    expected = calibration_curve(*repeated, strategy=strategy)
    for found, known in zip(weighted, expected, strict=True):
        np.testing.assert_allclose(found, known)


def test_rows_of_equal_probability_share_a_bin():
    curve = calibration_curve(np.full((50, 2), 0.5), np.arange(50) % 2)
    assert curve.probability.tolist() == curve.frequency.tolist() == [0.5]


def test_curves_are_drawn():
    curve = calibration_curve(TWO, Y)
    ax = plot_calibration({"a": curve, "b": curve})
    np.testing.assert_array_equal(ax.lines[2].get_ydata(), curve.frequency)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == [f"a (error {curve.error:.3f})", f"b (error {curve.error:.3f})"]
    assert plot_calibration(curve).get_legend() is None


@pytest.mark.parametrize("y", [np.where(Y, "yes", "no"), Y + 1])
def test_other_labels_need_classes(y):
    with pytest.raises(DataError, match="pass classes=model"):
        calibration_curve(TWO, y)
    curve = calibration_curve(TWO, y, classes=np.unique(y))
    np.testing.assert_array_equal(curve.frequency, calibration_curve(TWO, Y).frequency)
    with pytest.raises(DataError, match="no label in common"):
        calibration_curve(TWO, y, classes=["a", "b"])


def test_inputs_are_checked():
    with pytest.raises(DataError, match="y has 2 rows"):
        calibration_curve(TWO, [0, 1])
    with pytest.raises(DataError, match="3 labels for 2 columns"):
        calibration_curve(TWO, Y, classes=[0, 1, 2])
    with pytest.raises(ParameterError, match="strategy='equal'"):
        calibration_curve(TWO, Y, strategy="equal")
    with pytest.raises(ParameterError, match="n_bins=0"):
        calibration_curve(TWO, Y, n_bins=0)
