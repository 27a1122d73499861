"""Labels and probabilities of classes as arrays."""

import numpy as np
import pytest

from sumwise.combine.classes import (
    log_probabilities,
    normalize_probabilities,
    one_hot,
    place_classes,
)


def test_labels_of_members_and_rows_become_probabilities():
    marks = one_hot(np.array([[0, 2], [1, 1]]), 3)
    assert marks.tolist() == [[[1, 0, 0], [0, 0, 1]], [[0, 1, 0], [0, 1, 0]]]


def test_classes_that_a_model_does_not_know_have_probability_zero():
    values = place_classes(np.array([[0.4, 0.6]]), np.array([2, 0]), 4)
    np.testing.assert_array_equal(values, [[0.6, 0.0, 0.4, 0.0]])


def test_probabilities_sum_to_one_and_are_equal_where_all_are_zero():
    found = normalize_probabilities(np.array([[[2.0, 2.0]], [[0.0, 0.0]], [[0.1, 0.3]]]))
    np.testing.assert_allclose(found[:, 0], [[0.5, 0.5], [0.5, 0.5], [0.25, 0.75]])


@pytest.mark.filterwarnings("error")
def test_logarithms_of_probabilities():
    logs = log_probabilities(np.array([[0.0, 1.0], [0.5, 0.5]]))
    np.testing.assert_array_equal(logs, [[-np.inf, 0.0], [np.log(0.5), np.log(0.5)]])
