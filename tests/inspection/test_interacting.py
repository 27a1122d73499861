"""Finding the feature that interacts most."""

import numpy as np
import pytest

from sumwise.inspection import Explanation
from sumwise.inspection.interacting import find_interacting, has_order

RNG = np.random.default_rng(0)


def make(contribute, interactions=None):
    data = np.empty((400, 4), dtype=object)
    data[:, :3] = RNG.normal(size=(400, 3))
    data[:, 3] = RNG.choice(["a", "b", "c"], 400)
    values = RNG.normal(size=(400, 4))
    values[:, 0] = contribute(data) + 0.1 * RNG.normal(size=400)
    return Explanation(values, np.zeros(400), data, tuple("wxyz"), None, interactions)


def number(data, k):
    return data[:, k].astype(float)


@pytest.mark.parametrize(
    ("contribute", "expected"),
    [
        (lambda d: number(d, 0) * number(d, 2), 2),  # no effect of its own: signs cross
        (lambda d: number(d, 0) ** 2 + 0.3 * number(d, 1), 1),
        (lambda d: number(d, 0) * np.where(d[:, 3] == "b", 1, -1), 3),
    ],
)
def test_what_explains_the_rest(contribute, expected):
    assert find_interacting(make(contribute), 0) == expected


def test_missing_values_are_a_group():
    explanation = make(lambda d: number(d, 0))
    is_missing = RNG.random(400) < 0.3
    explanation.data[is_missing, 1] = np.nan
    explanation.values[is_missing, 0] += 1.0
    assert find_interacting(explanation, 0) == 1


def test_known_interactions_decide():
    pairs = np.zeros((400, 4, 4))
    pairs[:, 0, 0], pairs[:, 0, 1], pairs[:, 0, 2] = 5.0, 0.1, -0.2
    assert find_interacting(make(lambda d: number(d, 1), pairs), 0) == 2


def test_degenerate_explanations():
    one = Explanation(np.zeros((3, 1)), np.zeros(3), np.zeros((3, 1)), ("a",))
    assert find_interacting(one, 0) is None
    few = Explanation(np.eye(2), np.zeros(2), np.zeros((2, 2)), ("a", "b"))
    assert find_interacting(few, 0) == 1


def test_which_values_have_an_order():
    assert has_order(np.arange(3))
    assert has_order(np.array([None, 2.5], dtype=object))
    assert has_order(np.array([np.datetime64("2020-01-01")], dtype=object))
    assert not has_order(np.array([None, "a"], dtype=object))
    assert not has_order(np.array([None, np.nan], dtype=object))
