"""How numbers and names of trees are written."""

import numpy as np
import pytest

from sumwise.inspection.colors import COLORS, blend, color_of_class, pick_color
from sumwise.inspection.tree_view import format_number, shorten


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0"),
        (-0.0, "0"),
        (2.5, "2.5"),
        (-2.5, "-2.5"),
        (-0.5, "-0.5"),
        (2010.5, "2010.5"),
        (1234567.5, "1234567.5"),
        (1234567.0, "1234567"),
        (3.4999999999, "3.5"),
        (0.123456, "0.123"),
        (-0.00376, "-0.00376"),
        (12.3456, "12.3"),
        (123.456, "123.5"),
        (12345.678, "12345.7"),
        (1e-7, "1e-07"),
        (1.5e20, "1.5e+20"),
        (np.inf, "inf"),
    ],
)
def test_numbers(number, text):
    assert format_number(number) == text


def test_names_are_cut():
    assert shorten("short", 5) == "short"
    assert shorten("longer", 5) == "lo..."
    assert shorten("longer", None) == "longer"


def test_colors():
    assert blend("#0072B2", 1.0) == "#0072B2"
    assert blend("#0072B2", 0.0) == "#FFFFFF"
    assert [pick_color(k, 8) for k in range(8)] == list(COLORS)
    assert len({pick_color(k, 50) for k in range(50)}) == 50
    assert color_of_class(0, 0.5, 2) == "#FFFFFF"
    assert len({color_of_class(k, 1.0, 12) for k in range(12)}) == 12
