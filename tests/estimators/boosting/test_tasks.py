"""Tasks: labels and weights as the loss takes them."""

import numpy as np
import pytest

from sumwise.errors import DataError
from sumwise.estimators.boosting.tasks import Classification, Regression
from sumwise.losses import Logistic, Multinomial, MultiTarget, Squared

CLASSES = np.array(["a", "b", "c"])


def test_classes_become_their_indices():
    task = Classification(Multinomial(3), CLASSES, None, 1.0)
    target = task.encode(task.read(["c", "a", "c"], "y_val"), "y_val")
    assert target.dtype == np.float64
    assert target.tolist() == [2, 0, 2]
    with pytest.raises(DataError, match="y_val has classes that are not among those to learn"):
        task.encode(np.array(["a", "d"]), "y_val")


def test_two_classes_take_a_byte_per_row():
    target = Classification(Logistic(), CLASSES[:2], None, 1.0).encode(np.array(["b", "a"]), "y")
    assert target.dtype == np.uint8
    assert target.tolist() == [1, 0]


def test_weights_of_classes_multiply_those_of_rows():
    target, weight = np.array([0.0, 1.0, 1.0]), np.array([1.0, 2.0, 4.0])
    plain = Classification(Logistic(), CLASSES[:2], None, 1.0)
    assert plain.weigh(target, None) is None
    assert plain.weigh(target, weight) is weight
    task = Classification(Logistic(), CLASSES[:2], {"b": 3}, 1.0)
    assert task.weigh(target, None).tolist() == [1, 3, 3]
    assert task.weigh(target, weight).tolist() == [1, 6, 12]
    assert Classification(Logistic(), CLASSES[:2], None, 5.0).weigh(target, None)[-1] == 5
    balanced = Classification(Logistic(), CLASSES[:2], "balanced", 1.0).weigh(target, weight)
    assert balanced[target == 0].sum() == pytest.approx(balanced[target == 1].sum())


def test_numbers_have_as_many_columns_as_in_training():
    task = Regression(MultiTarget([Squared()] * 2), 2)
    target = task.encode(task.read([[1, 2], [3, 4], [5, 6]], "y_val"), "y_val")
    assert target.flags.f_contiguous
    assert target.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert task.weigh(target, None) is None
    with pytest.raises(DataError, match="y_val has 1 targets, but y has 2"):
        task.encode(np.array([1.0, 2.0]), "y_val")
