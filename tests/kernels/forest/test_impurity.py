"""Scores of splits against the impurities they stand for, and limits of splits."""

from typing import NamedTuple

import numpy as np
import pytest

from sumwise.kernels.forest.impurity import (
    has_enough,
    keeps_order,
    scaled_gain,
    score_columns,
    score_number,
    score_others,
    separates_classes,
)
from sumwise.kernels.forest.layout import LOGARITHMIC, POISSON, QUADRATIC, TWO_CLASS_LOG
from sumwise.kernels.runtime.jit import kernel


class Limits(NamedTuple):
    min_weight_leaf: float
    min_rows_leaf: int


@kernel
def gain_of_number(criterion, w, s, total_weight, total):
    left = score_number(criterion, w, s)
    right = score_number(criterion, total_weight - w, total - s)
    return left + right - score_number(criterion, total_weight, total)


@kernel
def gain_of_columns(criterion, left, totals):
    score = score_columns(criterion, left) + score_others(criterion, totals, left)
    return score - score_columns(criterion, totals)


@kernel
def run_scaled(w, s, total_weight, total):
    return scaled_gain(w, s, total_weight, total)


@kernel
def run_separates(w, s, total_weight, total):
    return separates_classes(w, s, total_weight, total)


@kernel
def run_enough(options, left_weight, right_weight, n_left, n_right):
    return has_enough(options, left_weight, right_weight, n_left, n_right)


@kernel
def run_order(direction, lower, upper, left_value, right_value):
    return keeps_order(direction, lower, upper, left_value, right_value)


def squares(y, w):
    return (w * (y - np.average(y, weights=w)) ** 2).sum()


def entropy(y, w):
    shares = np.array([w[y == k].sum() for k in np.unique(y)]) / w.sum()
    return -w.sum() * (shares * np.log(shares)).sum()


def deviance(y, w):
    mean = np.average(y, weights=w)
    terms = np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0) / mean), 0.0) - (y - mean)
    return (w * terms).sum()


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.integers(0, 2, 60).astype(float), rng.random(60) + 0.1, rng.random(60) < 0.4


@pytest.mark.parametrize(
    ("criterion", "impurity"),
    [(QUADRATIC, squares), (TWO_CLASS_LOG, entropy), (POISSON, deviance)],
)
def test_gains_of_one_column(rows, criterion, impurity):
    y, w, left = rows
    sums = w[left].sum(), (w * y)[left].sum(), w.sum(), (w * y).sum()
    expected = impurity(y, w) - impurity(y[left], w[left]) - impurity(y[~left], w[~left])
    assert gain_of_number(criterion, *sums) == pytest.approx(expected, rel=1e-10)
    if criterion == QUADRATIC:
        assert run_scaled(*sums) / sums[2] == pytest.approx(expected, rel=1e-10)


def test_gains_of_several_columns(rows):
    _, w, left = rows
    y = np.random.default_rng(1).integers(0, 4, 60)
    columns = np.eye(5)[y]  # no row is in the last class

    def add_up(own):
        return np.append(w[own].sum(), (w[own, None] * columns[own]).sum(axis=0))

    def gini(own):
        sums = add_up(own)
        return sums[0] * (1.0 - ((sums[1:] / sums[0]) ** 2).sum())

    every = np.full(60, True)
    for criterion, impurity in ((QUADRATIC, gini), (LOGARITHMIC, lambda o: entropy(y[o], w[o]))):
        gain = gain_of_columns(criterion, add_up(left), add_up(every))
        expected = impurity(every) - impurity(left) - impurity(~left)
        assert gain == pytest.approx(expected, rel=1e-10)


def test_splits_that_separate_two_classes():
    assert run_separates(2.0, 2.0, 5.0, 2.0)  # the second class is on the left
    assert run_separates(2.0, 0.0, 5.0, 3.0)
    assert not run_separates(2.0, 0.0, 5.0, 2.0)
    assert not run_separates(2.0, 1.0, 5.0, 1.0)


def test_limits_of_leaves():
    assert run_enough(Limits(1.0, 1), 1.0, 2.0, -7, -7)  # rows were not counted
    assert not run_enough(Limits(1.5, 1), 1.0, 2.0, 9, 9)
    assert run_enough(Limits(1.0, 3), 1.0, 2.0, 3, 4)
    assert not run_enough(Limits(1.0, 3), 1.0, 2.0, 2, 9)
    assert not run_enough(Limits(1.0, 3), 1.0, 2.0, 9, 2)


def test_order_of_children():
    bounds = (-1.0, 1.0)
    assert run_order(1, *bounds, 0.0, 0.5)
    assert not run_order(-1, *bounds, 0.0, 0.5)
    assert run_order(0, *bounds, 0.5, 0.0)
    assert not run_order(1, *bounds, 0.0, 1.5)
    assert not run_order(0, *bounds, 0.0, -1.5)
