"""Lines and histograms: places, tips, and how long lines are thinned."""

import numpy as np
import pytest

from sumwise.report.charts.lines import draw_histogram, draw_lines, draw_spark, thin
from tests.report.charts.pictures import find


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
