"""Scatter plots and swarms: a mark per row."""

import numpy as np

from sumwise.report.charts.points import draw_scatter, draw_swarm
from tests.report.charts.pictures import find, parse


def test_scatter_has_a_point_per_row_and_a_center_per_group():
    a = np.array([0.0, 1.0]), np.array([0.0, 1.0]), ["first", "second"]
    b = np.array([2.0]), np.array([3.0]), None
    svg = draw_scatter({"a": a, "b": b}, "x", "y", "alternative", centers=True)
    assert [dot.get("data-tip") for dot in find(svg, "circle", "s0")][:2] == ["first", "second"]
    assert len(find(svg, "circle", "center")) == 2
    assert "<li>" in svg
    many = np.arange(500.0)
    assert (
        len(
            find(draw_scatter({"": (many, many, None)}, "x", "y", "alternative"), "circle", "faint")
        )
        == 500
    )


def test_swarms_are_colored_by_value_and_spread_where_dense():
    values = [np.array([1.0, 1.0, 1.0, -2.0]), np.zeros(4)]
    shades = [np.array([0.0, 0.5, 1.0, np.nan]), None]
    tips = [["a"] * 4, ["b"] * 4]
    svg = draw_swarm(["x", "y"], values, shades, tips, "contribution", "alternative")
    dots = list(parse(svg).iter("circle"))
    assert [dot.get("class") for dot in dots] == ["v0", "v4", "v8", "none"] + ["none"] * 4
    assert len({dot.get("cy") for dot in dots[:3]}) == 3
    assert len({dot.get("cx") for dot in dots[:3]}) == 1
    assert "low value" in svg
