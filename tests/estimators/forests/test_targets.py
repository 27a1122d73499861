"""Targets of forests, and what becomes of grown trees."""

import numpy as np
import pytest

from sumwise.errors import DataError
from sumwise.estimators.forests.targets import find_scale, make_class_target, make_number_target
from sumwise.kernels.forest.layout import LOGARITHMIC, POISSON, QUADRATIC, TWO_CLASS_LOG
from sumwise.kernels.forest.many_outputs import Labels, Vectors
from sumwise.kernels.forest.one_output import Numbers
from sumwise.tree.forest import ForestTree


def make_tree(value, gain=2.0):
    names = ("feature", "split_bin", "missing_left", "left", "n_rows", "weight")
    value = np.array(value, ndmin=2, dtype=float)
    return ForestTree(**dict.fromkeys(names, np.ones(1)), gain=np.array([gain]), value=value)


@pytest.mark.parametrize(
    ("n_classes", "criterion", "kind", "expected", "unit"),
    [
        (2, "gini", Numbers, QUADRATIC, 2.0),
        (2, "entropy", Numbers, TWO_CLASS_LOG, 1 / np.log(2)),
        (3, "gini", Labels, QUADRATIC, 1.0),
        (3, "log_loss", Labels, LOGARITHMIC, 1 / np.log(2)),
    ],
)
def test_targets_of_classes(n_classes, criterion, kind, expected, unit):
    found = make_class_target(np.array([0, 1, 1]), n_classes, criterion)
    assert isinstance(found.target, kind)
    assert (found.criterion, found.unit) == (expected, unit)
    assert found.n_columns == (1 if n_classes == 2 else n_classes)


def test_numbers_are_shifted_without_losing_digits():
    y = 1e9 + np.array([0.25, 0.5, 3.0])
    found = make_number_target(y, None, "squared_error")
    assert np.abs(found.target.value).max() < 4
    assert np.array_equal(found.target.value + found.shift, y)
    assert found.restore(make_tree([[0.5]])).value[0, 0] == 0.5 + found.shift[0]


@pytest.mark.parametrize("factor", [2.0**900, 2.0**-900])
def test_huge_and_tiny_numbers_are_scaled(factor):
    y = np.array([1.0, 2.0, 4.0])
    found = make_number_target(y * factor, None, "squared_error")
    values = found.target.value
    assert 0.1 < np.abs(values).max() < 10
    assert np.array_equal(values * found.scale + found.shift, y * factor)
    # A decrease is one of squares.
    assert found.find_decrease(1.0) == 1.0 / found.scale / found.scale


def test_counts_are_not_shifted():
    found = make_number_target(np.array([0.0, 3.0]), None, "poisson")
    assert found.criterion == POISSON
    assert found.target.value.tolist() == [0.0, 3.0]


def test_gains_of_several_numbers_are_their_mean():
    found = make_number_target(np.array([[1.0, 2.0], [3.0, 4.0]]), None, "squared_error")
    assert isinstance(found.target, Vectors)
    assert found.unit == 0.5
    assert found.restore(make_tree([[0.0, 0.0]])).gain[0] == 1.0
    assert found.restore(make_tree([[0.0, 0.0]], gain=-1e-20)).gain[0] == 0.0


def test_y_is_not_changed():
    y = np.array([1.0, 2.0])
    make_number_target(y, None, "squared_error")
    assert y.tolist() == [1.0, 2.0]


def test_limits_of_numbers():
    with pytest.raises(DataError, match="row 1"):
        make_number_target(np.array([0.0, 1e305]), None, "squared_error")
    assert find_scale(np.zeros(3)) == 1.0
    assert find_scale(np.array([-3.0, 5e5])) == 1.0
    assert find_scale(np.array([1e300])) > 1e299
