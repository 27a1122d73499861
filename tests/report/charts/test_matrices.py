"""Matrices: a cell per pair, inside of the picture."""

import re

import numpy as np
import pytest

from sumwise.report.charts.matrices import draw_matrix
from tests.report.charts.pictures import find, parse


@pytest.mark.parametrize(("size", "n_written"), [(3, 9), (20, 0)])
def test_small_matrices_have_numbers(size, n_written):
    names = [f"n{k}" for k in range(size)]
    values = np.linspace(0, 1, size * size).reshape(size, size)
    tips = [[f"{a} {b}" for b in names] for a in names]
    svg = draw_matrix(names, names, values, values, tips, "alternative")
    cells = find(svg, "rect", "cell")
    assert len(cells) == size * size
    assert cells[1].get("data-tip") == "n0 n1"
    assert cells[0].get("class") == "cell h0"
    assert cells[-1].get("class") == "cell h8"
    assert len(find(svg, "text", "value")) == n_written


def test_everything_is_inside_of_the_picture():
    names, tips = ["first", "second"], [["a"] * 2] * 2
    titles = {"row_title": "rows", "column_title": "columns"}
    svg = draw_matrix(names, names, np.eye(2), np.eye(2), tips, "alternative", **titles)
    _, _, width, height = map(float, parse(svg).get("viewBox").split())
    for box in parse(svg).iter("rect"):
        x, y, w, h = (float(box.get(key)) for key in ("x", "y", "width", "height"))
        assert 0 <= x <= x + w <= width
        assert 0 <= y <= y + h <= height
    assert len(re.findall("<text", svg)) == 2 + 2 + 2 + 4
