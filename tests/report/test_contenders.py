"""Contender and Comparison refuse what does not fit together."""

import numpy as np
import pytest

from sumwise.errors import DataError, ParameterError
from sumwise.report import Comparison, Contender

X, Y = np.zeros((4, 2)), np.array([0, 1, 0, 1])


def compare(contenders, best="a", task="classification", y=Y):
    return Comparison("data", task, "accuracy", True, X, y, None, contenders, best)


def make(name="a", scores=(0.5, 0.6), **more):
    return Contender(name, scores, 1.0, 1.0, None, **more)


def test_the_best_is_found_by_name():
    comparison = compare([make("b"), make("a")])
    assert comparison.best.name == "a"
    assert comparison.settings == {}


def test_what_does_not_fit_is_named():
    with pytest.raises(ParameterError, match="task='ranking'"):
        compare([make()], task="ranking")
    with pytest.raises(DataError, match="the same name: 'a'"):
        compare([make(), make()])
    with pytest.raises(DataError, match="best_name='z' is no contender"):
        compare([make()], best="z")
    with pytest.raises(DataError, match=r"different numbers of folds: \[1, 2\]"):
        compare([make(), make("b", [0.5])])
    with pytest.raises(DataError, match=r"'b': out_of_fold has shape \(3,\), and there are 4"):
        compare([make(), make("b", out_of_fold=[0, 1, 0])])
    with pytest.raises(DataError, match=r"y has shape \(4, 1\)"):
        compare([make()], y=Y[:, None])


@pytest.mark.parametrize("scores", [[], 0.5, [[0.5]]])
def test_scores_are_one_per_fold(scores):
    with pytest.raises(DataError, match="expected one score per fold"):
        make(scores=scores)
