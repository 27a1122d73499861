"""Kappa-error diagrams and matrices."""

import numpy as np

from sumwise.diversity import kappa_error_points, pairwise_matrix
from sumwise.plotting import plot_diversity_matrix, plot_kappa_error

PREDICTIONS = np.random.default_rng(0).integers(3, size=(30, 5))
Y = PREDICTIONS[:, 0]


def test_a_point_for_each_pair_and_one_for_their_center():
    points = kappa_error_points(PREDICTIONS, Y)
    ax = plot_kappa_error({"first": points, "second": points})
    drawn = [collection.get_offsets() for collection in ax.collections]
    assert [len(places) for places in drawn] == [10, 1, 10, 1]
    np.testing.assert_allclose(drawn[0], np.column_stack([points.kappa, points.error]))
    np.testing.assert_allclose(drawn[1][0], [points.kappa.mean(), points.error.mean()])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["first", "second"]


def test_one_ensemble_needs_no_legend():
    assert plot_kappa_error(kappa_error_points(PREDICTIONS, Y)).get_legend() is None


def test_small_matrices_have_numbers():
    matrix = pairwise_matrix(PREDICTIONS, measure="disagreement", labels="abcde")
    ax = plot_diversity_matrix(matrix)
    assert ax.get_title() == "disagreement"
    assert [text.get_text() for text in ax.texts][1] == f"{matrix.values[0, 1]:.2f}"
    assert [label.get_text() for label in ax.get_xticklabels()] == list("abcde")


def test_large_matrices_have_colors_and_some_names():
    predictions = np.random.default_rng(0).integers(2, size=(10, 90))
    ax = plot_diversity_matrix(pairwise_matrix(predictions, measure="q_statistic"))
    assert not ax.texts
    assert [label.get_text() for label in ax.get_yticklabels()] == [str(i) for i in range(0, 90, 3)]
    assert ax.get_title() == "q statistic"
