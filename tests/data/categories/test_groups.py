"""Groups of categorical features: keys and places."""

import numpy as np
import pytest

from sumwise.data.categories.groups import Group, can_combine, read_codes

CODES = {
    0: np.array([0, 1, 2, 2, -1, 0]),
    1: np.array([1, 0, 1, 1, 0, 0]),
    2: np.array([0, 3, 3, 3, 1, -1]),
}
N_CATEGORIES = np.array([2, 1, 3])  # the next code means missing


def test_codes_are_read():
    column = np.array([0.0, 2.0, np.nan, -1.0], dtype=np.float32)
    assert read_codes(column, 3).tolist() == [0, 2, 3, -1]


def test_the_place_of_one_feature_is_its_code():
    group = Group.of_feature(0, 2)
    assert group.n_places == 3
    assert group.find_places(CODES).tolist() == [0, 1, 2, 2, -1, 0]


@pytest.mark.parametrize("limit", [0, 1 << 22], ids=["sorted", "marked"])
def test_places_of_combinations_are_ranks_of_those_seen(monkeypatch, limit):
    monkeypatch.setattr("sumwise.data.categories.groups._FEW_KEYS", limit)
    group = Group.of_rows((0, 1), N_CATEGORIES, CODES, np.array([0, 1, 2, 3]))
    assert group.keys.tolist() == [1, 2, 5]
    assert group.find_places(CODES).tolist() == [0, 1, 2, 2, -1, -1]
    three = Group.of_rows((0, 1, 2), N_CATEGORIES, CODES, np.array([0, 3, 4, 5]))
    assert three.n_places == 2
    assert three.find_places(CODES).tolist() == [0, -1, 1, 1, -1, -1]


def test_a_combination_that_nobody_has():
    group = Group.of_rows((0, 2), N_CATEGORIES, CODES, np.array([4, 5]))
    assert group.n_places == 0
    assert group.find_places(CODES).tolist() == [-1] * 6


def test_keys_must_fit_into_a_number():
    n_categories = np.full(8, 9_999)
    assert can_combine((0, 1, 2, 3), n_categories)
    assert not can_combine((0, 1, 2, 3, 4), n_categories)
