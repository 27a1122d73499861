"""Charts: every number has its mark, at the right place."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from sumwise.report.charts.bars import draw_bars, draw_intervals, draw_steps
from sumwise.report.charts.lines import draw_histogram, draw_lines, draw_spark, thin
from sumwise.report.charts.matrices import draw_matrix
from sumwise.report.charts.points import draw_scatter, draw_swarm


def parse(markup):
    """Return the picture; a legend may be above it."""
    return ET.fromstring(markup[markup.index("<svg") :])


def find(markup, tag, kind):
    found = parse(markup).iter(tag)
    return [own for own in found if kind in own.get("class", "").split()]


def test_bars_are_as_long_as_their_values():
    svg = draw_bars(["a", "<b>", "c"], np.array([4.0, 2.0, -1.0]), "x", "alt <text>")
    assert parse(svg).get("aria-label") == "alt <text>"
    bars = find(svg, "rect", "bar")
    widths = [float(bar.get("width")) for bar in bars]
    assert widths[0] == pytest.approx(2 * widths[1], abs=0.02)
    assert widths[0] == pytest.approx(4 * widths[2], abs=0.05)
    # A negative bar ends where the others begin.
    end = float(bars[2].get("x")) + widths[2]
    assert end == pytest.approx(float(bars[0].get("x")), abs=0.02)
    assert bars[1].get("data-tip") == "<b>: 2"


def test_whiskers():
    svg = draw_bars(["a"], np.array([2.0]), "x", "alternative", np.array([1.0]))
    (whisker,) = find(svg, "line", "whisker")
    (bar,) = find(svg, "rect", "bar")
    start, end = float(whisker.get("x1")), float(whisker.get("x2"))
    assert (start + end) / 2 == pytest.approx(
        float(bar.get("x")) + float(bar.get("width")), abs=0.02
    )
    assert bar.get("data-tip") == "a: 2 ± 1"


def test_long_labels_are_cut_and_have_a_tip():
    name = "a very long name of a feature that fills the page"
    svg = draw_bars([name], np.array([1.0]), "x", "alternative")
    (label,) = find(svg, "text", "label")
    assert label.text.endswith("…")
    assert label.get("data-tip") == name


def test_intervals_with_and_without_ends():
    middle, nan = np.array([1.0, 2.0, np.nan]), np.nan
    svg = draw_intervals(
        ["a", "b", "c"], middle, np.array([0.5, nan, nan]), np.array([1.5, nan, nan]),
        ["s0", "s1", "s2"], "score", "alternative", 1.0,
    )  # fmt: skip
    assert len(find(svg, "circle", "dot")) == 2
    (interval,) = find(svg, "line", "interval")
    (first, _) = find(svg, "circle", "dot")
    ends = float(interval.get("x1")), float(interval.get("x2"))
    assert sum(ends) / 2 == pytest.approx(float(first.get("cx")), abs=0.02)
    assert "no score" in svg


def test_steps_go_from_total_to_total():
    svg = draw_steps(
        ["members", "gain", "loss", "ensemble"],
        np.array([0.0, 4.0, 1.0, 0.0]),
        np.array([4.0, 1.0, 2.0, 2.0]),
        "error",
        "alternative",
    )
    kinds = [bar.get("class") for bar in find(svg, "rect", "bar")]
    assert kinds == ["bar s0", "bar gain", "bar loss", "bar s0"]
    assert [text.text for text in find(svg, "text", "tick")][-4:] == ["4", "-3", "+1", "2"]


def test_lines_pass_through_their_points():
    x, y = np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 0.5])
    svg = draw_lines({"one": (x, y), "two": (x, y / 2)}, "x", "y", "alternative", dots=True)
    lines = find(svg, "polyline", "line")
    assert len(lines) == 2
    places = np.array([p.split(",") for p in lines[0].get("points").split()], dtype=float)
    assert np.diff(places[:, 0]) == pytest.approx([np.diff(places[:, 0])[0]] * 2, abs=0.11)
    assert places[1, 1] < places[2, 1] < places[0, 1]  # up is small
    assert '<ul class="legend"><li>' in svg
    tips = [band.get("data-tip") for band in find(svg, "rect", "hit")]
    assert tips[1] == "x: 1 one: 1 two: 0.5"  # XML reads line breaks as spaces


def test_long_lines_keep_their_ends():
    kept = thin(10_000)
    assert kept[0] == 0
    assert kept[-1] == 9_999
    assert kept.size <= 240
    assert thin(3).tolist() == [0, 1, 2]
    x = np.arange(10_000.0)
    svg = draw_lines({"": (x, x)}, "x", "y", "alternative")
    assert len(find(svg, "rect", "hit")) == 60
    assert len(svg) < 20_000


def test_histogram_bars_have_the_height_of_their_counts():
    svg = draw_histogram(np.array([0.0, 1.0, 2.0, 3.0]), np.array([1, 4, 0]), "x", "alternative")
    heights = [float(bar.get("height")) for bar in find(svg, "rect", "bar")]
    assert heights[1] == pytest.approx(4 * heights[0], abs=0.05)
    assert heights[2] == 0.0
    assert len(find(draw_spark(np.array([1.0, 0.0, 2.0]), "alternative"), "rect", "bar")) == 2


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
