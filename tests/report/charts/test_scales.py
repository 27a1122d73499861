"""Scales: places, round ticks, ranges and numbers as text."""

import numpy as np
import pytest

from sumwise.report.charts.scales import (
    Scale,
    choose_decimals,
    find_focus,
    find_range,
    format_number,
)


def test_places_are_linear_and_stay_inside():
    scale = Scale(0.0, 10.0, 100.0, 0.0)
    assert scale(5.0) == 50.0
    assert scale(np.array([-5.0, 0.0, 20.0])).tolist() == [100.0, 100.0, 0.0]
    assert Scale(3.0, 3.0, 0.0, 10.0)(3.0) == 0.0


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0.0, 1.0, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (0.0, 1.1, ["0.00", "0.25", "0.50", "0.75", "1.00"]),
        (-3.0, 4.0, ["-2", "0", "2", "4"]),
        (0.0, 12_000.0, ["0", "2,500", "5,000", "7,500", "10,000"]),
        (0.0, 5e7, ["0", "1e+07", "2e+07", "3e+07", "4e+07", "5e+07"]),
        (2.0, 2.0, ["2"]),
    ],
)
def test_ticks_are_round(low, high, texts):
    assert [text for _, text in Scale(low, high, 0.0, 1.0).ticks()] == texts


def test_ticks_are_inside_for_any_range():
    rng = np.random.default_rng(0)
    for _ in range(200):
        low = rng.normal() * 10.0 ** rng.integers(-6, 7)
        high = low + rng.random() * 10.0 ** rng.integers(-6, 7) + 1e-9 * abs(low)
        ticks = Scale(low, high, 0.0, 1.0).ticks()
        room = 1e-6 * (high - low)
        assert all(low - room <= value <= high + room for value, _ in ticks)
        assert len({text for _, text in ticks}) <= len(ticks) <= 11


def test_ranges_leave_room_but_not_beyond_what_is_included():
    assert find_range([0.0, 10.0], room=0.1) == (-1.0, 11.0)
    assert find_range([1.0, 10.0], include=(0.0,), room=0.1) == (0.0, 11.0)
    assert find_range([np.nan, np.inf]) == (0.0, 1.0)
    assert find_range([5.0]) == (4.5, 5.5)
    assert find_range([0.0]) == (-0.5, 0.5)


def test_numbers_as_people_read_them():
    assert format_number(0.123456) == "0.1235"
    assert format_number(1_234_567.8) == "1,234,568"
    assert format_number(-3000.0, 3, "+") == "-3,000"
    assert format_number(np.nan) == ""


@pytest.mark.parametrize(
    ("value", "n_decimals"), [(57.13, 2), (0.0927, 4), (0.00123, 6), (1234.0, 0), (0.0, 3)]
)
def test_decimals(value, n_decimals):
    assert choose_decimals(value) == n_decimals


def test_the_focus_leaves_far_values_out():
    _, high = find_focus(np.array([1.0, 1.1, 1.2, 1.3, 1000.0]), 1.0)
    assert 1.3 < high < 1000.0
    assert find_focus(np.array([1.0, 1.0]), 1.0) == (-np.inf, np.inf)
