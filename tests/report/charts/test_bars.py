"""Bars, intervals and steps: every number has its mark, at the right place."""

import numpy as np
import pytest

from sumwise.report.charts.bars import draw_bars, draw_intervals, draw_steps
from tests.report.charts.pictures import find, parse


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
